import type { IncomingHttpHeaders } from 'node:http';
import { createLocalJWKSet, errors, type CryptoKey, type JSONWebKeySet, type JWSHeaderParameters } from 'jose';
import { z } from 'zod';
import { boundedFetch, Fault, parseJson } from './bounded-fetch.ts';
import { appStoreUnavailable } from '../store-outage.ts';
import type { GoogleOptions } from './settings.ts';

/**
 * The least milliseconds between two fetches of the keys, failed ones included. Without this bound, tokens with made-up `kid`s would make
 * this service flood Google with requests.
 */
const FETCH_INTERVAL_MS = 30_000;

const FETCH_TIMEOUT_MS = 3000;

/**
 * Bounds, in seconds, on the lifetime of fetched keys that Cache-Control sets. With a lifetime of seconds the service would fetch the keys
 * all the time. With a lifetime above a day it would accept a key that Google withdrew.
 */
const MIN_FRESH_SECONDS = 300;
const MAX_FRESH_SECONDS = 86_400;

/**
 * A JWK set, reduced to the RSA signing keys with a `kid`. A set without any is refused as a fault: the service then keeps the keys that it
 * has.
 */
const KeySet = z
  .object({ keys: z.array(z.looseObject({ kty: z.string(), kid: z.string().optional(), use: z.string().optional() })) })
  .transform(({ keys }) => keys.filter(({ kty, kid, use }) => kty === 'RSA' && kid !== undefined && (use ?? 'sig') === 'sig'))
  .refine((keys) => keys.length > 0, 'holds no RSA key with a kid');

interface Known {
  readonly find: (header: JWSHeaderParameters) => Promise<CryptoKey>;
  /** Until when the fetched keys may be used without another fetch, on the monotonic clock, as is `#fetchedAt`. */
  readonly freshUntil: number;
}

/**
 * The public keys that verify the store's ID tokens. They are fetched on first use, cached for as long as their Cache-Control allows
 * (https://developers.google.com/identity/gsi/web/guides/verify-google-id-token), and fetched again for an unknown `kid`.
 *
 * jose's createRemoteJWKSet cannot be used: it ignores Cache-Control, fetches again for every token after a failed fetch, and loses its
 * keys when a fetch fails after they expired. This class makes at most one fetch in 30 s, failed ones included, and keeps its keys through
 * a temporary outage.
 */
export class GoogleKeys {
  readonly #options: GoogleOptions;
  #known: Known | undefined;
  #fetchedAt = -Infinity;
  #fetchFailed = false;
  #underWay: Promise<void> | undefined;

  constructor(options: GoogleOptions) {
    this.#options = options;
  }

  /**
   * The key with the `kid` of a token's header, or undefined when the store has no such key.
   * @throws Refusal `app_store_unavailable` when the key is unknown and the last fetch failed: the store may have the key
   */
  async find(header: JWSHeaderParameters): Promise<CryptoKey | undefined> {
    if (this.#known === undefined || this.#options.monotonic() >= this.#known.freshUntil) await this.#refresh();
    const key = (await this.#find(header)) ?? (await this.#refresh().then(() => this.#find(header)));
    if (key === undefined && this.#fetchFailed) {
      const retryAfterMs = Math.max(1000, this.#fetchedAt + FETCH_INTERVAL_MS - this.#options.monotonic());
      throw appStoreUnavailable(retryAfterMs);
    }
    return key;
  }

  async #find(header: JWSHeaderParameters): Promise<CryptoKey | undefined> {
    try {
      return await this.#known?.find(header);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return undefined;
      throw error;
    }
  }

  /** Fetches the keys, unless the last fetch began less than FETCH_INTERVAL_MS ago. Concurrent callers share one fetch. Never rejects. */
  #refresh(): Promise<void> {
    const { monotonic } = this.#options;
    if (this.#underWay !== undefined) return this.#underWay;
    if (monotonic() - this.#fetchedAt < FETCH_INTERVAL_MS) return Promise.resolve();
    this.#fetchedAt = monotonic();
    this.#underWay = this.#fetch().finally(() => (this.#underWay = undefined));
    return this.#underWay;
  }

  async #fetch(): Promise<void> {
    const { settings, log, monotonic } = this.#options;
    try {
      const { status, headers, text } = await boundedFetch(
        settings().jwksUrl,
        { headers: { accept: 'application/json' } },
        FETCH_TIMEOUT_MS,
      );
      if (status !== 200) throw new Fault(`status ${status}`);
      const keys = keysIn(text);
      this.#known = {
        find: createLocalJWKSet({ keys }),
        freshUntil: monotonic() + freshSeconds(headers) * 1000,
      };
      this.#fetchFailed = false;
    } catch (error) {
      this.#fetchFailed = true;
      log.warn({ fault: (error as Error).message }, "the store's keys could not be fetched");
    }
  }
}

/** Parses a JWK set. @throws Fault if it has no usable key */
function keysIn(text: string): JSONWebKeySet['keys'] {
  const parsed = KeySet.safeParse(parseJson(text));
  if (!parsed.success) throw new Fault(parsed.error.issues[0]!.message);
  return parsed.data as JSONWebKeySet['keys'];
}

/**
 * How many seconds fetched keys may be used (RFC 9111): `max-age`, less the `age` that the answer gained in caches between Google and the
 * service.
 */
function freshSeconds(headers: IncomingHttpHeaders): number {
  const maxAge = /(?:^|[\s,])max-age="?(\d{1,10})/i.exec(headers['cache-control'] ?? '')?.[1];
  const age = /^\d{1,10}$/.exec(headers.age ?? '')?.[0];
  return Math.min(MAX_FRESH_SECONDS, Math.max(MIN_FRESH_SECONDS, Number(maxAge ?? 0) - Number(age ?? 0)));
}
