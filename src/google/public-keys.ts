import { createLocalJWKSet, errors, type CryptoKey, type JSONWebKeySet, type JWSHeaderParameters } from 'jose';
import { z } from 'zod';
import { boundedFetch, Fault, parseJson } from './bounded-fetch.ts';
import { appStoreAway } from './outage.ts';
import type { StoreParts } from './app-store.ts';

/** Not more often than this, whatever tokens name and however the last fetch went: nobody makes this service a hammer. */
const FETCH_INTERVAL_MS = 30_000;

const FETCH_TIMEOUT_MS = 3000;

/**
 * How long an answer may be kept, whatever it says of itself: keys that are told to be kept for seconds would be fetched
 * all the time, and one that was withdrawn should not live on for longer than a day.
 */
const MIN_FRESH_SECONDS = 300;
const MAX_FRESH_SECONDS = 86_400;

/** Other kinds of keys may stand beside them, and are none of ours. A set without a single one of ours is a fault, and no news. */
const KeySet = z
  .object({ keys: z.array(z.looseObject({ kty: z.string(), kid: z.string().optional(), use: z.string().optional() })) })
  .transform(({ keys }) => keys.filter(({ kty, kid, use }) => kty === 'RSA' && kid !== undefined && (use ?? 'sig') === 'sig'))
  .refine((keys) => keys.length > 0, 'holds no RSA key with a kid');

interface Known {
  readonly find: (header: JWSHeaderParameters) => Promise<CryptoKey>;
  /** Milliseconds since 1970. */
  readonly freshUntil: number;
}

/**
 * The keys by which the store signs ID tokens: fetched when first needed, kept for as long as their Cache-Control allows
 * (https://developers.google.com/identity/gsi/web/guides/verify-google-id-token), fetched again for a `kid` nobody knows.
 *
 * jose's createRemoteJWKSet is not used: it knows no Cache-Control, after a fetch that failed it fetches again at once,
 * for every token, and once its keys are past their age a failing fetch takes them away. Here one fetch in 30 s is all
 * there is, a failed one included, and a fault that passes takes nothing away.
 */
export class GoogleKeys {
  readonly #parts: StoreParts;
  #known: Known | undefined;
  #fetchedAt = -Infinity;
  #fetchFailed = false;
  #underWay: Promise<void> | undefined;

  constructor(parts: StoreParts) {
    this.#parts = parts;
  }

  /**
   * The key that a token's header names; undefined where the store has no such key.
   * @throws Refusal `store_unavailable` where the store could not be asked, and might have it
   */
  async find(header: JWSHeaderParameters): Promise<CryptoKey | undefined> {
    if (this.#known === undefined || this.#parts.now() >= this.#known.freshUntil) await this.#refresh();
    const key = (await this.#lookUp(header)) ?? (await this.#refresh().then(() => this.#lookUp(header)));
    if (key === undefined && this.#fetchFailed) {
      const retryAfterMs = Math.max(1000, this.#fetchedAt + FETCH_INTERVAL_MS - this.#parts.now());
      throw appStoreAway(retryAfterMs);
    }
    return key;
  }

  async #lookUp(header: JWSHeaderParameters): Promise<CryptoKey | undefined> {
    try {
      return await this.#known?.find(header);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return undefined;
      throw error;
    }
  }

  /** Fetches unless that was done a moment ago; who comes meanwhile waits for the same answer. Never throws. */
  #refresh(): Promise<void> {
    const { now } = this.#parts;
    if (this.#underWay !== undefined) return this.#underWay;
    // A clock that was set back must not keep it from fetching until it has caught up.
    if (Math.abs(now() - this.#fetchedAt) < FETCH_INTERVAL_MS) return Promise.resolve();
    this.#fetchedAt = now();
    this.#underWay = this.#fetch().finally(() => (this.#underWay = undefined));
    return this.#underWay;
  }

  async #fetch(): Promise<void> {
    const { settings, log, now } = this.#parts;
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
        freshUntil: now() + freshSeconds(headers) * 1000,
      };
      this.#fetchFailed = false;
    } catch (error) {
      this.#fetchFailed = true;
      log.warn({ fault: (error as Error).message }, "the store's keys could not be fetched");
    }
  }
}

/** @throws Fault */
function keysIn(text: string): JSONWebKeySet['keys'] {
  const parsed = KeySet.safeParse(parseJson(text));
  if (!parsed.success) throw new Fault(parsed.error.issues[0]!.message);
  return parsed.data as JSONWebKeySet['keys'];
}

/** RFC 9111: `max-age`, less the time the answer has already spent in caches on its way. */
function freshSeconds(headers: Headers): number {
  const maxAge = /(?:^|[\s,])max-age="?(\d{1,10})/i.exec(headers.get('cache-control') ?? '')?.[1];
  const age = /^\d{1,10}$/.exec(headers.get('age') ?? '')?.[0];
  return Math.min(MAX_FRESH_SECONDS, Math.max(MIN_FRESH_SECONDS, Number(maxAge ?? 0) - Number(age ?? 0)));
}
