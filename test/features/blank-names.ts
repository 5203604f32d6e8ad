/**
 * Names that render as nothing: Hangul fillers, the Braille blank, joiners, marks and other characters without a glyph.
 *
 * Most of them have `\p{White_Space}` or `\p{Default_Ignorable_Code_Point}` of Unicode's DerivedCoreProperties.txt. The code
 * charts call the others blank.
 */
export const blankNames: string[] = [
  '\u115f',
  '\u1160',
  '\u3164',
  '\uffa0',
  '\u2800',
  '\u2800\u2800 \u2800',
  '\u3164 \u3164',
  '\u00ad',
  '\u034f',
  '\u061c\u00ad',
  '\u17b4',
  '\u180e',
  '\u200b',
  '\u200c\u200d',
  '\u2060',
  '\u2063',
  '\u206a',
  '\ufe0f',
  '\ufeff\u200b',
  '\ufff0',
  '\ufffc',
  '\u{1bca0}',
  '\u{1d159}',
  '\u{1d173}',
  '\u{13441}',
  '\u{e0001}',
  '\u{e0020}\u{e007f}',
  '\u{e0100}',
  '\u0301',
  '\u20dd',
];
