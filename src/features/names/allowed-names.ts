import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { invalid } from '../../errors.ts';
import { WatchedFile } from '../../server/watched-file.ts';
import { NameWords } from './name-words.ts';

/** Checks names of players against the list of forbidden words in NAME_WORDS_FILE. Without this setting every name is allowed. */
export class AllowedNames {
  readonly #words: WatchedFile<NameWords> | undefined;

  /** @throws SettingError with the file and the first bad line of the list */
  constructor({ NAME_WORDS_FILE: path }: Pick<Config, 'NAME_WORDS_FILE'>, log: Logger) {
    if (path === undefined) return;
    this.#words = new WatchedFile({ setting: 'NAME_WORDS_FILE', path, parse: (text) => new NameWords(text), named: 'list of words', log });
  }

  static problemsOf({ NAME_WORDS_FILE }: Pick<Config, 'NAME_WORDS_FILE'>): string[] {
    return WatchedFile.problemsOf('NAME_WORDS_FILE', NAME_WORDS_FILE, (text) => new NameWords(text));
  }

  /**
   * Checks a name that a player wants to have.
   * @throws Refusal `invalid_request` for a name with a word of the list. The refusal does not name the word, so that nobody can learn the
   * list by trying names
   */
  check(name: string | undefined): void {
    if (name !== undefined && this.#words?.content.refuses(name) === true)
      throw invalid('name', 'Is not allowed here: choose another name');
  }

  close(): void {
    this.#words?.close();
  }
}
