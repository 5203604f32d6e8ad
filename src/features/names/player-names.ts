import type { Config } from '../../config.ts';
import { AllowedNames } from './allowed-names.ts';
import { GivenNames, type GivenNamesOptions } from './given-names.ts';

/** Finds the names under which players are shown: on boards, in rooms, and in browsers that they have paired. */
export class PlayerNames {
  readonly #allowed: AllowedNames;
  readonly #given: GivenNames;

  /** @throws SettingError for a bad NAME_WORDS_FILE */
  constructor(config: Pick<Config, 'NAME_WORDS_FILE'>, options: GivenNamesOptions) {
    this.#allowed = new AllowedNames(config, options.log);
    this.#given = new GivenNames(options);
  }

  /**
   * The name under which an account is shown: the name that an operator gave the account or, if there is none, the name that its player
   * sends.
   * @param name the name that the player sends. Undefined: the player sends none, and none is shown
   * @throws Refusal `invalid_request` for a name with a word of NAME_WORDS_FILE
   */
  shown<Name extends string | undefined>(accountId: string | undefined, name: Name): Name | string {
    const given = accountId === undefined || name === undefined ? undefined : this.#given.of(accountId);
    if (given !== undefined) return given;
    this.#allowed.check(name);
    return name;
  }

  close(): void {
    this.#allowed.close();
    this.#given.close();
  }
}
