import { importPKCS8, SignJWT } from 'jose';
import { z } from 'zod';
import { boundedFetch, Fault, parseJson, type TextAnswer } from '../bounded-fetch.ts';
import { Misconfigured } from '../store-calls.ts';
import type { ServiceAccount } from './settings.ts';
import type { GoogleOptions } from './settings.ts';

/** The OAuth scopes of the two Google APIs that the service calls. */
const SCOPES = 'https://www.googleapis.com/auth/androidpublisher https://www.googleapis.com/auth/playintegrity';

/**
 * The life of the signed request (assertion) for an access token, in seconds. Google accepts at most an hour. The assertion is sent at
 * once, so ten minutes are enough, even between clocks that differ.
 */
const ASSERTION_LIFE_SECONDS = 600;

/** An access token is renewed this many milliseconds before its expiry, so that it cannot expire on its way to Google. */
const RENEW_BEFORE_MS = 60_000;

const GRANT_TIMEOUT_MS = 4000;

const Granted = z.object({ access_token: z.string().regex(/^[\x21-\x7e]{1,8192}$/), expires_in: z.number().positive() });
const GrantRefused = z.object({ error: z.string().regex(/^\w{1,64}$/) });

/**
 * Access tokens of the service account, which Google issues for signed requests (JWT bearer grant, RFC 7523; Google's "Using OAuth 2.0 for
 * Server to Server Applications", https://developers.google.com/identity/protocols/oauth2/service-account#authorizingrequests).
 */
export class AccessTokens {
  readonly #options: GoogleOptions;
  /** The cached access token. `renewAt`: when to renew the token, in milliseconds on the monotonic clock. */
  #held: { token: string; renewAt: number } | undefined;
  #granting: Promise<string> | undefined;

  constructor(options: GoogleOptions) {
    this.#options = options;
  }

  /**
   * The cached access token, or a new token. Concurrent callers share one request.
   * @throws Fault when a retry may help, Misconfigured when Google refuses the service account
   */
  current(account: () => Promise<ServiceAccount>): Promise<string> {
    if (this.#held !== undefined && this.#options.monotonic() < this.#held.renewAt) return Promise.resolve(this.#held.token);
    this.#granting ??= this.#grant(account).finally(() => (this.#granting = undefined));
    return this.#granting;
  }

  /** Drops an access token that an API refused, and gets a new one. */
  replace(refused: string, account: () => Promise<ServiceAccount>): Promise<string> {
    // Only the refused token is dropped, because a concurrent call may already have replaced it.
    if (this.#held?.token === refused) this.#held = undefined;
    return this.current(account);
  }

  async #grant(account: () => Promise<ServiceAccount>): Promise<string> {
    const { wallClock, monotonic } = this.#options;
    const askedAt = monotonic();
    const { tokenUrl, ...identity } = await account();
    const assertion = await assertionOf({ tokenUrl, ...identity }, wallClock());
    const body = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion });
    const headers = { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' };
    const request = { method: 'POST', headers, body: body.toString() } as const;
    const granted = Granted.safeParse(grantOf(await boundedFetch(tokenUrl, request, GRANT_TIMEOUT_MS)));
    if (!granted.success) throw new Fault('no access token');
    const lifeMs = granted.data.expires_in * 1000;
    this.#held = { token: granted.data.access_token, renewAt: askedAt + Math.max(lifeMs - RENEW_BEFORE_MS, lifeMs / 2) };
    return granted.data.access_token;
  }
}

async function assertionOf({ clientEmail, privateKey, privateKeyId, tokenUrl }: ServiceAccount, at: number): Promise<string> {
  const issuedAt = Math.floor(at / 1000);
  const key = await importPKCS8(privateKey, 'RS256').catch(() => {
    throw new Misconfigured('the private key of the service account cannot be read');
  });
  return new SignJWT({ scope: SCOPES })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(privateKeyId === undefined ? {} : { kid: privateKeyId }) })
    .setIssuer(clientEmail)
    .setAudience(tokenUrl)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + ASSERTION_LIFE_SECONDS)
    .sign(key);
}

/**
 * Reads the answer to a request for an access token. An error of OAuth has status 400 or 401, and an error code in JSON (RFC 6749, section
 * 5.2).
 */
function grantOf({ status, text, retryAfterMs }: TextAnswer): unknown {
  if (status === 200) return parseJson(text);
  if (status === 400 || status === 401 || status === 403) {
    const refused = GrantRefused.safeParse(parseJson(text));
    throw new Misconfigured(`no access token: ${refused.success ? refused.data.error : status}`);
  }
  throw new Fault(`status ${status}`, retryAfterMs);
}
