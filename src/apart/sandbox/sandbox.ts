import type { ScriptRunner } from '../../redis/script-runner.ts';
import type { GoogleSettings } from '../../stores/google/settings.ts';
import { Chaos } from './chaos.ts';
import { PushTokens } from './push-tokens.ts';
import { SandboxKeys } from './signing-keys.ts';
import { sandboxSettings, tokenUrlAt } from './settings.ts';

/** The stand-in for Google: its keys, and the settings by which the service verifies its tokens. */
export class Sandbox {
  readonly keys: SandboxKeys;
  readonly pushTokens: PushTokens;
  /** Undefined: the sandbox has no faults. */
  readonly chaos: Chaos | undefined;
  readonly #baseUrl: () => string;
  #settings: { readonly baseUrl: string; readonly settings: GoogleSettings } | undefined;

  /**
   * @param baseUrl this service's own address. Called at each use, because the port is known only once the service listens
   * @param chaosSeed of SANDBOX_CHAOS
   */
  constructor(scripts: ScriptRunner, baseUrl: () => string, chaosSeed?: number) {
    this.keys = new SandboxKeys(scripts);
    this.pushTokens = new PushTokens(this.keys);
    this.chaos = chaosSeed === undefined ? undefined : new Chaos(chaosSeed);
    this.#baseUrl = baseUrl;
  }

  get settings(): GoogleSettings {
    const baseUrl = this.#baseUrl();
    if (this.#settings?.baseUrl !== baseUrl) this.#settings = { baseUrl, settings: sandboxSettings(this.keys, baseUrl) };
    return this.#settings.settings;
  }

  /** The token endpoint: the audience of the service account's assertions. */
  get tokenUrl(): string {
    return tokenUrlAt(this.#baseUrl());
  }
}
