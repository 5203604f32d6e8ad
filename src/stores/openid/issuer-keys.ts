import type { IncomingHttpHeaders } from 'node:http';
import { createLocalJWKSet, errors, type CryptoKey, type JSONWebKeySet, type JWSHeaderParameters } from 'jose';
import type { Logger } from 'pino';
import { z } from 'zod';
import { boundedFetch, Fault, parseJson } from '../bounded-fetch.ts';
import { appStoreUnavailable } from '../store-refusals.ts';
import { isFetchable } from './provider.ts';

/**
 * The shortest time between two fetches of the keys, failed fetches included, in milliseconds. Without this limit, tokens with made-up
 * `kid`s could make this service flood the issuer with requests. A rotated key is known at the latest after this time.
 */
const FETCH_INTERVAL_MS = 10_000;

/** Milliseconds for one answer. Two answers, for the discovery document and for the keys, must fit into the 10 s of a sign-in. */
const FETCH_TIMEOUT_MS = 3000;

/**
 * The shortest lifetime of fetched keys, in seconds. If Cache-Control set a lifetime of seconds, the service would fetch the keys all the
 * time.
 */
const MIN_FRESH_SECONDS = 300;

/**
 * The longest lifetime of fetched keys, in seconds. If Cache-Control set a lifetime above a day, the service would go on accepting a key
 * that the issuer has withdrawn.
 */
const MAX_FRESH_SECONDS = 86_400;

/** How long the last known keys are used if no newer ones can be fetched, in milliseconds. */
const KEPT_MS = 86_400_000;

/** How long a discovery document is used before it is fetched again, in milliseconds. */
export const DISCOVERED_MS = 3_600_000;

/**
 * A JWK set, reduced to its RSA and P-256 signing keys that have a `kid`. A set without such keys is a fault: the service then keeps its
 * earlier keys.
 */
const KeySet = z
  .object({
    keys: z.array(z.looseObject({ kty: z.string(), crv: z.string().optional(), kid: z.string().optional(), use: z.string().optional() })),
  })
  .transform(({ keys }) =>
    keys.filter(({ kty, crv, kid, use }) => (kty === 'RSA' || crv === 'P-256') && kid !== undefined && (use ?? 'sig') === 'sig'),
  )
  .refine((keys) => keys.length > 0, 'holds no signing key with a kid');

/** The fields of a discovery document that the service needs (OpenID Connect Discovery 1.0, section 3). */
const Discovery = z.object({
  issuer: z.string(),
  jwks_uri: z.string(),
  authorization_endpoint: z.string().optional(),
  token_endpoint: z.string().optional(),
  userinfo_endpoint: z.string().optional(),
  scopes_supported: z.array(z.string()).optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
});

/** An issuer's discovery document. Of its URLs only `jwks_uri` was checked. */
export type Discovered = z.output<typeof Discovery>;

/** The place of an issuer's keys: at a URL, or at the URL that the issuer's discovery document names. */
export type KeySource = { readonly keysUrl: () => string } | { readonly issuer: string; readonly allowsLoopbackHttp: boolean };

export interface KeyOptions {
  readonly log: Logger;
  /** The present time on a monotonic clock, in milliseconds. */
  readonly monotonic: () => number;
}

interface Known {
  readonly find: (header: JWSHeaderParameters) => Promise<CryptoKey>;
  /** The time until which the fetched keys may be used without another fetch. All times of this file are on the monotonic clock. */
  readonly freshUntil: number;
}

/**
 * The public keys that verify an issuer's ID tokens. They are fetched on first use, cached for as long as their Cache-Control allows
 * (https://developers.google.com/identity/gsi/web/guides/verify-google-id-token), and fetched again for an unknown `kid`.
 *
 * jose's createRemoteJWKSet cannot be used: it ignores Cache-Control, fetches again for every token after a failed fetch, and loses its
 * keys when a fetch fails after they expired. This class makes at most one fetch in FETCH_INTERVAL_MS, failed fetches included, and keeps
 * its keys through an outage of a day.
 */
export class IssuerKeys {
  readonly #source: KeySource;
  readonly #options: KeyOptions;
  #known: Known | undefined;
  #discovered: { readonly keysUrl: string; readonly until: number } | undefined;
  #fetchedAt = -Infinity;
  #fetchFailed = false;
  #underWay: Promise<void> | undefined;

  constructor(source: KeySource, options: KeyOptions) {
    this.#source = source;
    this.#options = options;
  }

  /**
   * The key with the `kid` from a token's header; undefined if the issuer has no such key.
   * @throws Refusal `app_store_unavailable` when the key is unknown and the last fetch failed: the issuer may have the key
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
    if (this.#known === undefined || this.#options.monotonic() >= this.#known.freshUntil + KEPT_MS) return undefined;
    try {
      return await this.#known.find(header);
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
    const { log, monotonic } = this.#options;
    try {
      const { headers, text } = await answerOf(await this.#keysUrl());
      const keys = keysIn(text);
      this.#known = {
        find: createLocalJWKSet({ keys }),
        freshUntil: monotonic() + freshSeconds(headers) * 1000,
      };
      this.#fetchFailed = false;
    } catch (error) {
      this.#fetchFailed = true;
      // The discovery document may now name another URL.
      this.#discovered = undefined;
      const issuer = 'issuer' in this.#source ? { issuer: this.#source.issuer } : {};
      log.warn({ ...issuer, fault: (error as Error).message }, 'the keys of an issuer of ID tokens could not be fetched');
    }
  }

  /**
   * The URL of the JWK set.
   * @throws Fault if the issuer's discovery document cannot be fetched, or is another issuer's
   */
  async #keysUrl(): Promise<string> {
    const source = this.#source;
    if ('keysUrl' in source) return source.keysUrl();
    const now = this.#options.monotonic();
    if (this.#discovered !== undefined && now < this.#discovered.until) return this.#discovered.keysUrl;
    const { jwks_uri: keysUrl } = await discover(source.issuer, source.allowsLoopbackHttp);
    this.#discovered = { keysUrl, until: now + DISCOVERED_MS };
    return keysUrl;
  }
}

/** Fetches an issuer's discovery document. @throws Fault if it cannot be fetched, or is another issuer's */
export async function discover(issuer: string, allowsLoopbackHttp: boolean): Promise<Discovered> {
  const { text } = await answerOf(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  const { data } = Discovery.safeParse(parseJson(text));
  if (data === undefined) throw new Fault('no discovery document');
  // One issuer must not stand in for another (OpenID Connect Discovery 1.0, section 4.3).
  if (data.issuer !== issuer) throw new Fault('the discovery document of another issuer');
  if (!isFetchable(data.jwks_uri, allowsLoopbackHttp)) throw new Fault('jwks_uri must be https');
  return data;
}

/** For the doctor: fetches the keys of an issuer once. @throws Fault */
export async function probeIssuer(issuer: string, allowsLoopbackHttp: boolean): Promise<{ keys: number; date: string | undefined }> {
  const { headers, text } = await answerOf((await discover(issuer, allowsLoopbackHttp)).jwks_uri);
  return { keys: keysIn(text).length, date: headers.date };
}

/** Fetches a document of an issuer. A redirect is a fault, because it would let another server answer for the issuer. */
async function answerOf(url: string): Promise<{ headers: IncomingHttpHeaders; text: string }> {
  const { status, headers, text } = await boundedFetch(url, { headers: { accept: 'application/json' } }, FETCH_TIMEOUT_MS);
  if (status !== 200) throw new Fault(`status ${status}`);
  return { headers, text };
}

/** Parses a JWK set. @throws Fault if it has no usable key */
function keysIn(text: string): JSONWebKeySet['keys'] {
  const parsed = KeySet.safeParse(parseJson(text));
  if (!parsed.success) throw new Fault(parsed.error.issues[0]!.message);
  return parsed.data as JSONWebKeySet['keys'];
}

/**
 * How many seconds fetched keys may be used (RFC 9111): `max-age` minus `age`, the time that the answer has spent in caches between the
 * issuer and the service.
 */
function freshSeconds(headers: IncomingHttpHeaders): number {
  const maxAge = /(?:^|[\s,])max-age="?(\d{1,10})/i.exec(headers['cache-control'] ?? '')?.[1];
  const age = /^\d{1,10}$/.exec(headers.age ?? '')?.[0];
  return Math.min(MAX_FRESH_SECONDS, Math.max(MIN_FRESH_SECONDS, Number(maxAge ?? 0) - Number(age ?? 0)));
}
