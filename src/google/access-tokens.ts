import { importPKCS8, SignJWT } from 'jose';
import { z } from 'zod';
import { boundedFetch, Fault, parseJson, type TextAnswer } from './bounded-fetch.ts';
import type { ServiceAccount } from './settings.ts';
import type { StoreParts } from './app-store.ts';

/** The two APIs that are asked. */
const SCOPES = 'https://www.googleapis.com/auth/androidpublisher https://www.googleapis.com/auth/playintegrity';

/** The most that Google takes is an hour; a token is asked for at once, so minutes are plenty, clocks that differ included. */
const ASSERTION_LIFE_SECONDS = 600;

/** Renewed this long before it expires, so that none expires on the way. */
const RENEWED_BEFORE_MS = 60_000;

const GRANT_TIMEOUT_MS = 4000;

const Granted = z.object({ access_token: z.string().regex(/^[\x21-\x7e]{1,8192}$/), expires_in: z.number().positive() });
const GrantRefused = z.object({ error: z.string().regex(/^\w{1,64}$/) });

/** Asking again will not help: somebody has to set something right. In a word for the log. */
export class Misconfigured extends Error {}

/**
 * Access tokens of the service account, by the JWT bearer grant (RFC 7523; Google's "Using OAuth 2.0 for Server to Server
 * Applications", https://developers.google.com/identity/protocols/oauth2/service-account#authorizingrequests).
 */
export class AccessTokens {
  readonly #parts: StoreParts;
  #held: { token: string; renewAt: number } | undefined;
  #granting: Promise<string> | undefined;

  constructor(parts: StoreParts) {
    this.#parts = parts;
  }

  /**
   * The one that is held, or a new one: asked for once, whoever waits.
   * @throws Fault where it may be otherwise later, Misconfigured where the service account is refused
   */
  current(account: () => Promise<ServiceAccount>): Promise<string> {
    if (this.#held !== undefined && this.#parts.now() < this.#held.renewAt) return Promise.resolve(this.#held.token);
    this.#granting ??= this.#grant(account).finally(() => (this.#granting = undefined));
    return this.#granting;
  }

  /** One in place of a token that an API refused. */
  inPlaceOf(refused: string, account: () => Promise<ServiceAccount>): Promise<string> {
    // Somebody else's refusal may have renewed it already.
    if (this.#held?.token === refused) this.#held = undefined;
    return this.current(account);
  }

  async #grant(account: () => Promise<ServiceAccount>): Promise<string> {
    const { now } = this.#parts;
    const askedAt = now();
    const { tokenUrl, ...identity } = await account();
    const assertion = await assertionOf({ tokenUrl, ...identity }, askedAt);
    const body = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion });
    const granted = Granted.safeParse(grantOf(await boundedFetch(tokenUrl, { method: 'POST', body }, GRANT_TIMEOUT_MS)));
    if (!granted.success) throw new Fault('no access token');
    const lifeMs = granted.data.expires_in * 1000;
    this.#held = { token: granted.data.access_token, renewAt: askedAt + Math.max(lifeMs - RENEWED_BEFORE_MS, lifeMs / 2) };
    return granted.data.access_token;
  }
}

async function assertionOf({ clientEmail, privateKey, privateKeyId, tokenUrl }: ServiceAccount, at: number): Promise<string> {
  const issuedAt = Math.floor(at / 1000);
  const key = await importPKCS8(privateKey, 'RS256').catch(() => {
    throw new Misconfigured('its private key cannot be read');
  });
  return new SignJWT({ scope: SCOPES })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(privateKeyId === undefined ? {} : { kid: privateKeyId }) })
    .setIssuer(clientEmail)
    .setAudience(tokenUrl)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + ASSERTION_LIFE_SECONDS)
    .sign(key);
}

/** OAuth says no with 400 or 401 and a word (RFC 6749, section 5.2). */
function grantOf({ status, text, retryAfterMs }: TextAnswer): unknown {
  if (status === 200) return parseJson(text);
  if (status === 400 || status === 401 || status === 403) {
    const refused = GrantRefused.safeParse(parseJson(text));
    throw new Misconfigured(`no access token: ${refused.success ? refused.data.error : status}`);
  }
  throw new Fault(`status ${status}`, retryAfterMs);
}
