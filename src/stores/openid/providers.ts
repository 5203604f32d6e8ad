import { hash } from 'node:crypto';
import { decodeJwt } from 'jose';
import { refuse } from '../../errors.ts';
import { isCompact } from '../compact-token.ts';
import type { StoreOptions } from '../store.ts';
import { IssuerKeys } from './issuer-keys.ts';
import type { Identity, Provider } from './provider.ts';
import { eventIn, type UserEvent } from './user-event.ts';
import { verifyIdToken, verifyNotification, type IdTokenRules } from './verify-id-token.ts';

/** Providers that are made for each issuer, as the sandbox does. */
export interface MadeProviders {
  /** The provider of an `iss`. Undefined: it is none of these. */
  issuing(issuer: string): Provider | undefined;
}

export interface ProviderOptions extends Pick<StoreOptions, 'log' | 'now' | 'wallClock' | 'monotonic'> {
  readonly rows: readonly Provider[];
  readonly made?: MadeProviders | undefined;
  /** Whether discovery documents may come by http from this machine, as outside production. */
  readonly allowsLoopbackHttp: boolean;
  /** Counts the notifications about users' accounts, by type. */
  readonly counts?: { count(type: string): void };
}

/** The providers with which players sign in. */
export class Providers {
  readonly #options: ProviderOptions;
  /** The keys of each issuer. The keys of the map are URLs of key sets, or issuers whose discovery documents name the URL. */
  readonly #keys = new Map<string, IssuerKeys>();

  constructor(options: ProviderOptions) {
    this.#options = options;
  }

  /**
   * Verifies the ID token of a sign-in.
   * @param field the field of the request with the token
   * @param nonce what the token's `nonce` must be. Undefined: the token's nonce does not matter
   * @throws Refusal `bad_token`; `app_store_unavailable` while the provider's keys cannot be fetched; `store_unconfigured` without any
   * provider
   */
  async verify(token: string, field: string, nonce?: string): Promise<Identity> {
    const { log } = this.#options;
    const provider = this.#issuerOf(token, field);
    const { sub, aud, azp, iat, nonce: given } = await verifyIdToken(token, this.#rulesOf(provider), field, log);
    // If there are several audiences, `azp` names the client.
    const clientId = typeof aud === 'string' ? aud : aud.length === 1 ? aud[0]! : String(azp);
    const identity = { provider, subject: sub, clientId, issuedAt: iat * 1000, nonce: typeof given === 'string' ? given : undefined };
    if (nonce === undefined || fitsNonce(identity, nonce)) return identity;
    log.debug({ reason: 'another nonce' }, 'a token of an issuer does not verify');
    throw refuse('bad_token', { field });
  }

  /**
   * Verifies a provider's notification about the account that one of its users has with the provider.
   * @param name the name of the provider
   * @throws as `verify`
   */
  async verifyNotification(token: string, field: string, name: string): Promise<UserEvent> {
    const { rows, made, log, counts } = this.#options;
    // If this provider is not configured, none of its notifications can verify.
    if (made === undefined && !rows.some((row) => row.name === name)) throw refuse('store_unconfigured');
    const provider = this.#issuerOf(token, field);
    if (provider.name !== name) throw refuse('bad_token', { field });
    const event = eventIn(await verifyNotification(token, this.#rulesOf(provider), field, log));
    if (event === undefined) throw refuse('bad_token', { field });
    counts?.count(event.type);
    return { provider, ...event };
  }

  /** @throws Refusal `bad_token`; `store_unconfigured` without any provider */
  #issuerOf(token: string, field: string): Provider {
    const { rows, made, log } = this.#options;
    if (rows.length === 0 && made === undefined) throw refuse('store_unconfigured');
    const issuer = issuerOf(token);
    const provider = issuer === undefined ? undefined : (rows.find(({ issuers }) => issuers.includes(issuer)) ?? made?.issuing(issuer));
    if (provider !== undefined) return provider;
    log.debug({ reason: 'no provider with its iss' }, 'a token of an issuer does not verify');
    throw refuse('bad_token', { field });
  }

  #rulesOf(provider: Provider): IdTokenRules {
    const { now, wallClock } = this.#options;
    const { issuers, clientIds: audiences, algorithms, maxAgeSeconds, isByRedisClock } = provider;
    return { issuers, audiences, algorithms, maxAgeSeconds, keys: this.#keysOf(provider), now: isByRedisClock ? now() : wallClock() };
  }

  #keysOf({ keysUrl, issuers: [issuer = ''] }: Provider): IssuerKeys {
    const place = typeof keysUrl === 'function' ? 'made' : (keysUrl ?? issuer);
    let keys = this.#keys.get(place);
    if (keys === undefined) {
      const { allowsLoopbackHttp } = this.#options;
      const source =
        keysUrl === undefined ? { issuer, allowsLoopbackHttp } : { keysUrl: () => (typeof keysUrl === 'string' ? keysUrl : keysUrl()) };
      this.#keys.set(place, (keys = new IssuerKeys(source, this.#options)));
    }
    return keys;
  }
}

/** Whether the token of an identity was issued for this nonce. */
export function fitsNonce({ provider, nonce: given }: Pick<Identity, 'provider' | 'nonce'>, nonce: string): boolean {
  return given === nonce || (provider.hashesNonce && given === hash('sha256', nonce, 'hex'));
}

/** The `iss` of a token that has not been verified yet. Undefined: it is no token. */
function issuerOf(token: string): string | undefined {
  try {
    const { iss } = isCompact(token, 3) ? decodeJwt(token) : {};
    return typeof iss === 'string' ? iss : undefined;
  } catch {
    return undefined;
  }
}
