/**
 * Folds a name so that spellings which people read alike become one text: case, accents, letters of other scripts that look like Latin ones,
 * and, where `leet` is set, digits and signs that stand for letters. CASE_CHANGE stands where capitals begin a word, or are only mixed in.
 */
export function folded(name: string, leet: boolean): string {
  let plain = '';
  for (const character of name) plain += decomposed(character);
  let text = '';
  for (const character of plain.replace(INVISIBLE, '').replace(LOWER_UPPER, `$1${CASE_CHANGE}$2`).toLowerCase())
    text += ALIKE[character] ?? (leet ? (LEET[character] ?? character) : character);
  return text;
}

/**
 * A letter without its accents, which follow it. Some signs are whole phrases, of up to 18 letters: they stay, so that 24 of them cost no more
 * than other names.
 */
function decomposed(character: string): string {
  const parts = character.normalize('NFKD');
  return parts.length > MOST_PARTS ? character : parts;
}

/** A syllable of Hangul has three parts, and a Vietnamese vowel too. */
const MOST_PARTS = 4;

/** Accents, and characters that are not seen. Vowel signs of Indic scripts are no accents. */
const INVISIBLE = /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\p{Default_Ignorable_Code_Point}]/gu;

/** Between the words of `BadWord`. No name has this character. */
export const CASE_CHANGE = '\0';
const LOWER_UPPER = /(\p{Ll})(\p{Lu})/gu;

function pairs(from: string, to: string): [string, string][] {
  const letters = [...to];
  return [...from].map((character, index) => [character, letters[index]!]);
}

/** Letters of Cyrillic, Greek and Latin that look like plain Latin letters (Unicode's confusables.txt). `l` often looks like `I`. */
const ALIKE: Readonly<Record<string, string>> = Object.fromEntries([
  ...pairs('асекмнорухіјѕԁһіԛԝвт', 'acekmhopyxijsdhiqwbt'),
  ...pairs('αβεγικνορτυχηωμ', 'abeyikvoptuxnwu'),
  ...pairs('ıłøđħŧŋɑɡƒ', 'iiodhtnagf'),
  ['l', 'i'],
  ['ß', 'ss'],
  ['æ', 'ae'],
  ['œ', 'oe'],
]);

const LEET: Readonly<Record<string, string>> = Object.fromEntries(pairs('0134579826@$!|+€', 'oieastgbzgasiite'));
