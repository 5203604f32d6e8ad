import { jwtVerify } from 'jose';
import { z } from 'zod';
import { refuse, Refusal } from '../errors.ts';
import { GoogleKeys } from './public-keys.ts';
import { isCompact } from './compact-token.ts';
import type { StoreParts } from './app-store.ts';

/** For clocks that differ, on either side of every time in a token. */
const TOLERANCE_SECONDS = 60;

/** Google's ID tokens live an hour. One that says it lives longer is taken no longer than that. */
const MAX_AGE_SECONDS = 3600;

export interface StoreIdentity {
  /** Google's `sub`: never reused, never changed. */
  readonly subject: string;
}

/**
 * Google's `sub` is at most 255 ASCII characters. `aud` is one audience: Google names no second one, and a token for
 * others besides us could be played by them (OpenID Connect Core 1.0, section 3.1.3.7).
 */
const Claims = z.object({
  sub: z.string().regex(/^[\x21-\x7e]{1,255}$/),
  aud: z.string(),
  iat: z.number(),
  exp: z.number(),
  email: z.unknown().optional(),
  email_verified: z.unknown().optional(),
});

/**
 * Verifies the store's ID tokens, by the rules of
 * https://developers.google.com/identity/openid-connect/openid-connect#validatinganidtoken and RFC 8725: RS256 and
 * nothing else, keys from the store and never from the token. What is wrong with a token is said to the log (at `debug`)
 * and not to who sent it.
 */
export class IdTokens {
  readonly #parts: StoreParts;
  readonly #keys: GoogleKeys;

  constructor(parts: StoreParts) {
    this.#parts = parts;
    this.#keys = new GoogleKeys(parts);
  }

  /**
   * Who signed in.
   * @throws Refusal `bad_token`, `store_unavailable` without keys to verify by, `store_unconfigured` without client ids
   */
  async verifySignIn(token: string): Promise<StoreIdentity> {
    const { clientIds } = this.#parts.settings();
    if (clientIds.length === 0) throw refuse('store_unconfigured');
    const { sub } = await this.#claims(token, clientIds, 'token');
    return { subject: sub };
  }

  /**
   * That a push is Pub/Sub's, in the name of the service account it was told to use
   * (https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions).
   * @param token of the Authorization header, without `Bearer`
   * @throws Refusal `forbidden` for a good token of anybody else, `bad_token`, `store_unavailable`, `store_unconfigured`
   */
  async verifyPush(token: string): Promise<void> {
    const { notifications } = this.#parts.settings();
    if (notifications === undefined) throw refuse('store_unconfigured');
    const { email, email_verified: isVerified } = await this.#claims(token, [notifications.audience], 'authorization');
    if (email !== notifications.email || isVerified !== true) throw refuse('forbidden');
  }

  async #claims(token: string, audiences: readonly string[], field: string): Promise<z.output<typeof Claims>> {
    const { settings, log, now } = this.#parts;
    try {
      if (!isCompact(token, 3)) throw new Error('not a JWS in compact form');
      const { payload, protectedHeader } = await jwtVerify(token, (header) => this.#keyFor(header), {
        algorithms: ['RS256'],
        issuer: [...settings().issuers],
        audience: [...audiences],
        requiredClaims: ['sub', 'exp'],
        clockTolerance: TOLERANCE_SECONDS,
        maxTokenAge: MAX_AGE_SECONDS,
        currentDate: new Date(now()),
      });
      // RFC 8725, section 3.11: a token made for something else, as `at+jwt` or `logout+jwt`, is no ID token.
      if (protectedHeader.typ !== undefined && protectedHeader.typ !== 'JWT') throw new Error('unexpected typ');
      const claims = Claims.safeParse(payload);
      if (!claims.success) throw new Error(`unexpected ${claims.error.issues[0]!.path.join('.')}`);
      return claims.data;
    } catch (error) {
      if (error instanceof Refusal) throw error;
      log.debug({ reason: (error as Error).message }, 'an ID token does not verify');
      throw refuse('bad_token', { field });
    }
  }

  async #keyFor(header: Parameters<GoogleKeys['find']>[0]) {
    // Without a kid jose takes the only key that fits; Google's tokens name theirs.
    if (header.kid === undefined) throw new Error('no kid');
    const key = await this.#keys.find(header);
    if (key === undefined) throw new Error('the store has no key of this kid');
    return key;
  }
}
