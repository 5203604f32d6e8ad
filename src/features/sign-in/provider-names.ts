import type { Logger } from 'pino';
import { SettingError } from '../../config.ts';
import { refuse } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import type { Provider } from '../../stores/openid/provider.ts';
import { readHash } from '../../redis/reads.ts';

/** The Redis key of a hash: name → issuer, for each provider of OPENID_PROVIDERS with which accounts were opened. */
export const PROVIDER_NAMES = '{providers}';

const noteProvider = defineScript({
  file: new URL('note-provider.lua', import.meta.url),
  keys: ['names'],
  args: ['name', 'issuer'],
  answers: ['noted', 'known'],
  durable: true,
});

/**
 * Makes sure that a provider's name keeps the issuer that it had when its first sign-in was used or added. Otherwise, after a mistake in
 * the settings, people would see the same name for the users of two issuers.
 */
export class ProviderNames {
  readonly #rows: readonly Provider[];
  readonly #scripts: ScriptRunner;
  readonly #log: Logger;
  readonly #noted = new Set<string>();

  constructor({ rows, scripts, log }: { readonly rows: readonly Provider[]; readonly scripts: ScriptRunner; readonly log: Logger }) {
    this.#rows = rows.filter(({ keysUrl }) => keysUrl === undefined);
    this.#scripts = scripts;
    this.#log = log;
  }

  /**
   * Compares the settings with the names that were noted. If Redis is down, `note` compares them at the first sign-in.
   * @throws SettingError if a name has another issuer
   */
  async check(): Promise<void> {
    if (this.#rows.length === 0) return;
    const known = new Map(await readHash(this.#scripts, PROVIDER_NAMES).catch(() => []));
    const problems = this.#rows.flatMap(({ name, key }) => {
      const issuer = known.get(name) ?? key;
      return issuer === key ? [] : [`OPENID_PROVIDERS ${name} has accounts of the issuer ${issuer}: ${key} needs another name`];
    });
    if (problems.length > 0) throw new SettingError(problems.join('\n'));
  }

  /**
   * Must be called before a sign-in with the provider opens an account or is added to an account.
   * @throws Refusal `store_unconfigured` if the name has another issuer
   */
  async note(provider: Provider): Promise<void> {
    const { name, key } = provider;
    if (this.#noted.has(key) || !this.#rows.includes(provider)) return;
    const [word, issuer] = await this.#scripts.run(noteProvider, { names: PROVIDER_NAMES }, { name, issuer: key });
    if (word === 'known') {
      this.#log.error(
        { provider: name, issuer: key, known: issuer },
        'a provider has the name of another one: rename it in OPENID_PROVIDERS',
      );
      throw refuse('store_unconfigured');
    }
    this.#noted.add(key);
  }
}
