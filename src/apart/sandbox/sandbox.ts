import type { ScriptRunner } from '../../redis/script-runner.ts';
import type { AppleSettings } from '../../stores/apple/settings.ts';
import type { RevocationSettings } from '../../stores/openid/apple-revocation.ts';
import type { GoogleSettings } from '../../stores/google/settings.ts';
import { AppleKeys, SANDBOX_KEY_ID, SANDBOX_TEAM_ID } from './apple/keys.ts';
import { Chaos } from './chaos.ts';
import { SandboxProviders } from './providers.ts';
import { PushTokens } from './google/push-tokens.ts';
import { SandboxKeys } from './signing-keys.ts';
import { appleIdUrlAt, appStoreUrlAt, jwksUrlAt, SANDBOX_CLIENT_ID, sandboxSettings, tokenUrlAt } from './settings.ts';

/** The stand-in for the stores: its signing keys, and the settings with which the service verifies its tokens. */
export class Sandbox {
  readonly keys: SandboxKeys;
  readonly appleKeys: AppleKeys;
  readonly pushTokens: PushTokens;
  /** The stand-ins for Google, Apple and other issuers of ID tokens. */
  readonly providers: SandboxProviders;
  /** The random faults of SANDBOX_CHAOS. Undefined: the sandbox has no faults. */
  readonly chaos: Chaos | undefined;
  readonly #baseUrl: () => string;
  #settings: { readonly baseUrl: string; readonly settings: GoogleSettings } | undefined;

  /**
   * @param baseUrl this service's own address. Called at each use, because the port is known only once the service listens
   * @param chaosSeed the value of SANDBOX_CHAOS
   */
  constructor(scripts: ScriptRunner, baseUrl: () => string, chaosSeed?: number) {
    this.keys = new SandboxKeys(scripts);
    this.appleKeys = new AppleKeys(scripts);
    this.pushTokens = new PushTokens(this.keys);
    this.providers = new SandboxProviders(() => jwksUrlAt(baseUrl()));
    this.chaos = chaosSeed === undefined ? undefined : new Chaos(chaosSeed);
    this.#baseUrl = baseUrl;
  }

  get settings(): GoogleSettings {
    const baseUrl = this.#baseUrl();
    if (this.#settings?.baseUrl !== baseUrl) this.#settings = { baseUrl, settings: sandboxSettings(this.keys, baseUrl) };
    return this.#settings.settings;
  }

  get apple(): AppleSettings {
    return this.appleKeys.settingsAt(appStoreUrlAt(this.#baseUrl()));
  }

  /** The keys with which the service revokes sign-ins at the stand-in for Apple. */
  get revocation(): RevocationSettings {
    return {
      teamId: SANDBOX_TEAM_ID,
      keyId: SANDBOX_KEY_ID,
      privateKey: () => this.appleKeys.apiKey(),
      url: () => appleIdUrlAt(this.#baseUrl()),
      clientIds: [SANDBOX_CLIENT_ID],
    };
  }

  get appleNotificationsUrl(): string {
    return `${this.#baseUrl()}/v1/store/apple/notifications`;
  }

  /** The URL of the token endpoint, which is also the audience of the service account's assertions. */
  get tokenUrl(): string {
    return tokenUrlAt(this.#baseUrl());
  }
}
