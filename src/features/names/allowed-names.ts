import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { invalid } from '../../errors.ts';
import { WatchedFile } from '../../server/watched-file.ts';
import { NameWords } from './name-words.ts';

/** The names that NAME_WORDS_FILE allows players to have. */
export class AllowedNames {
  readonly #words: WatchedFile<NameWords> | undefined;

  /** @throws SettingError that names the file and the first bad line */
  constructor({ NAME_WORDS_FILE: path }: Pick<Config, 'NAME_WORDS_FILE'>, log: Logger) {
    if (path === undefined) return;
    this.#words = new WatchedFile({ setting: 'NAME_WORDS_FILE', path, parse: (text) => new NameWords(text), named: 'list of words', log });
  }

  static problemsOf({ NAME_WORDS_FILE }: Pick<Config, 'NAME_WORDS_FILE'>): string[] {
    return WatchedFile.problemsOf('NAME_WORDS_FILE', NAME_WORDS_FILE, (text) => new NameWords(text));
  }

  /**
   * Checks a name that a player wants to have.
   * @throws Refusal `invalid_request` for a name with a word of the list. The refusal does not say which word, so that nobody can guess the
   * list
   */
  check(name: string | undefined): void {
    if (name !== undefined && this.#words?.content.refuses(name) === true)
      throw invalid('name', 'Is not allowed here: choose another name');
  }

  close(): void {
    this.#words?.close();
  }
}
