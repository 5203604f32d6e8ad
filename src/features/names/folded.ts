/**
 * Folds a name: spellings that people read as the same word become the same text. Removes accents and invisible characters, makes all
 * letters small, and writes letters of other scripts that look like Latin letters as Latin letters. Puts CASE_CHANGE between a small letter
 * and a capital that follows it.
 * @param leet `true`: digits and signs that stand for letters become these letters
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
 * Takes a character apart into a letter and the letter's accents. A character with more than MOST_PARTS parts stays as it is. Unicode has
 * single characters that stand for phrases of up to 18 letters, and a name of 24 such characters would take more time than other names.
 */
function decomposed(character: string): string {
  const parts = character.normalize('NFKD');
  return parts.length > MOST_PARTS ? character : parts;
}

/** The most parts into which a character is taken apart. A Korean syllable or a Vietnamese vowel has three parts at most. */
const MOST_PARTS = 4;

/** Accents, and characters that are invisible. Vowel signs of Indic scripts do not count as accents. */
const INVISIBLE = /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\p{Default_Ignorable_Code_Point}]/gu;

/** The character that `folded` puts between the words of `BadWord`. No name has this character. */
export const CASE_CHANGE = '\0';
const LOWER_UPPER = /(\p{Ll})(\p{Lu})/gu;

function pairs(from: string, to: string): [string, string][] {
  const letters = [...to];
  return [...from].map((character, index) => [character, letters[index]!]);
}

/**
 * Maps letters of Cyrillic, Greek and Latin to the plain Latin letters that they look like (Unicode's confusables.txt). `l` is read as `i`,
 * because it often looks like `I`.
 */
const ALIKE: Readonly<Record<string, string>> = Object.fromEntries([
  ...pairs('асекмнорухіјѕԁһіԛԝвт', 'acekmhopyxijsdhiqwbt'),
  ...pairs('αβεγικνορτυχηωμ', 'abeyikvoptuxnwu'),
  ...pairs('ıłøđħŧŋɑɡƒ', 'iiodhtnagf'),
  ['l', 'i'],
  ['ß', 'ss'],
  ['æ', 'ae'],
  ['œ', 'oe'],
]);

/** Maps digits and signs to the letters for which people write them: `0` to `o`, `@` to `a`. */
const LEET: Readonly<Record<string, string>> = Object.fromEntries(pairs('0134579826@$!|+€', 'oieastgbzgasiite'));
