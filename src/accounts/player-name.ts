import { z } from 'zod';

/** The most characters of a player's name, in Unicode code points, not in UTF-16 units. */
export const MAX_NAME_LENGTH = 24;

/**
 * The most UTF-16 units of a name before NFC and trim: room for 24 characters of four units each, and for blanks around them. The time that
 * NFC takes grows with the square of the length of a run of combining marks: 95 ms for 8,000 marks, 0.03 ms for 256.
 */
const MAX_RAW_LENGTH = 256;

/**
 * Characters that no name may have: controls, line separators, half surrogate pairs, and bidi controls, which reverse the text around them
 * and so make one name look like another.
 */
export const FORBIDDEN_IN_NAMES = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]/u;

/**
 * A visible character, of which a name needs at least one: a name of only joiners, marks and blanks would seem empty. Some letters and
 * symbols are blank too: those that a font may leave out (DerivedCoreProperties.txt of Unicode: Default_Ignorable_Code_Point, which
 * includes the Hangul fillers), and those that Unicode's charts call blank: Braille pattern blank, musical symbol null notehead, Egyptian
 * hieroglyph full and half blank, object replacement character.
 */
const VISIBLE = /[[\p{L}\p{N}\p{P}\p{S}]--[\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}\u{13441}\u{13442}]]/v;

/** A player's name as other players see it, trimmed and in Unicode's form NFC. */
export const PlayerName = z
  .string()
  .refine((text) => text.length <= MAX_RAW_LENGTH, { error: `Must be 1 to ${MAX_NAME_LENGTH} characters`, abort: true })
  .normalize('NFC')
  .trim()
  .refine((name) => name !== '' && [...name].length <= MAX_NAME_LENGTH, `Must be 1 to ${MAX_NAME_LENGTH} characters`)
  .refine((name) => !FORBIDDEN_IN_NAMES.test(name), 'Must hold no control or bidirectional characters')
  .refine((name) => name === '' || VISIBLE.test(name), 'Must hold a visible character')
  .meta({
    minLength: 1,
    maxLength: MAX_NAME_LENGTH,
    description: `The player's name as others see it: 1 to ${MAX_NAME_LENGTH} characters after NFC and trim, no control or bidirectional characters.`,
  });
