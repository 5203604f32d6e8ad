import { CASE_CHANGE, folded } from './folded.ts';

/** The most words of a list, because a process keeps the whole list in memory. */
const MOST_WORDS = 20_000;

/** The most characters of a word. */
const MOST_WORD = 48;

/**
 * A text as runs of equal letters: one letter for each run, and the length of each run. `fuuck` has the letters `fuck` and the counts 1, 2,
 * 1, 1.
 */
interface Runs {
  readonly letters: string;
  readonly counts: readonly number[];
}

/**
 * Words as runs of equal letters. The key is the letters of the runs. Several words may have the same letters, so the value is a list with
 * the counts of each word.
 */
type WordList = Map<string, (readonly number[])[]>;

/** A list of words that no name may contain. */
export class NameWords {
  /** Words that are refused as a whole name or as a whole word of a name. */
  readonly #whole: WordList = new Map();
  /** Words that are refused inside other words too. */
  readonly #anywhere: WordList = new Map();
  /** The lengths, in runs, that occur among the words of `#anywhere`. */
  readonly #lengths: readonly number[];

  /**
   * @param text the list, with one word in each line. `*word*` is refused inside other words too. A line that begins with `#` is a remark
   * @throws Error with the number of the first bad line
   */
  constructor(text: string) {
    let words = 0;
    for (const [index, raw] of text.split('\n').entries()) {
      const line = raw.trim();
      if (line === '' || line.startsWith('#')) continue;
      if (++words > MOST_WORDS) throw new Error(`line ${index + 1}: a list has at most ${MOST_WORDS} words`);
      if (line.length > MOST_WORD) throw new Error(`line ${index + 1}: a word has at most ${MOST_WORD} characters`);
      const [, inner] = /^\*(.+)\*$/.exec(line) ?? [];
      const joined = joinedOf(folded(inner ?? line, true));
      if (joined.length < 2 || (inner ?? line).includes('*'))
        throw new Error(`line ${index + 1}: must be a word of two letters or more, or one between asterisks`);
      const runs = runsOf(joined);
      const list = inner === undefined ? this.#whole : this.#anywhere;
      const alike = list.get(runs.letters);
      if (alike === undefined) list.set(runs.letters, [runs.counts]);
      else if (!alike.some((counts) => isWithin(counts, runs.counts, 0))) alike.push(runs.counts);
    }
    this.#lengths = [...new Set([...this.#anywhere.keys()].map((letters) => letters.length))];
  }

  /** Whether the name contains a word of the list. @param name 1 to 24 characters */
  refuses(name: string): boolean {
    if (this.#whole.size === 0 && this.#anywhere.size === 0) return false;
    // The name is checked with digits read as letters (`4ss`), and with digits read as spaces (`word99`).
    for (const text of [folded(name, true), folded(name.replace(LEETS, ' '), false)]) {
      const joined = runsOf(joinedOf(text));
      if (has(this.#whole, joined) || this.#holdsAnywhere(joined)) return true;
      for (const token of tokensOf(text)) if (token !== '' && has(this.#whole, runsOf(token))) return true;
    }
    return false;
  }

  #holdsAnywhere({ letters, counts }: Runs): boolean {
    for (const length of this.#lengths)
      for (let at = 0; at + length <= letters.length; at++)
        if (this.#anywhere.get(letters.slice(at, at + length))?.some((word) => isWithin(word, counts, at)) === true) return true;
    return false;
  }
}

function has(list: WordList, { letters, counts }: Runs): boolean {
  return list.get(letters)?.some((word) => isWithin(word, counts, 0)) === true;
}

/**
 * Whether each run of a text is at least as long as the run of a word that has the same letters.
 * @param at the run of the text at which the word begins
 */
function isWithin(word: readonly number[], counts: readonly number[], at: number): boolean {
  return word.every((count, index) => counts[at + index]! >= count);
}

const BETWEEN = /[^\p{L}\p{M}\p{N}]+/u;
const LEETS = /[\d@$!|+€]/g;

/**
 * The words of a folded name. A capital letter inside a text may or may not begin a word, so the words of both readings are returned:
 * `the`, `bad`, `word` and `badword` for `the BadWord`.
 */
function tokensOf(text: string): string[] {
  const tokens = text.split(BETWEEN);
  return text.includes(CASE_CHANGE) ? [...tokens, ...text.replaceAll(CASE_CHANGE, '').split(BETWEEN)] : tokens;
}

/** The text without signs and spaces: `word` for `w o r d` and for `w.o.r.d`. */
function joinedOf(text: string): string {
  return text.split(BETWEEN).join('');
}

function runsOf(text: string): Runs {
  let letters = '';
  const counts: number[] = [];
  for (let at = 0; at < text.length; at++) {
    if (at > 0 && text[at] === text[at - 1]) counts[counts.length - 1]!++;
    else {
      letters += text[at]!;
      counts.push(1);
    }
  }
  return { letters, counts };
}
