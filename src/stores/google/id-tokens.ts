import { jwtVerify } from 'jose';
import { z } from 'zod';
import { refuse, Refusal } from '../../errors.ts';
import { GoogleKeys } from './public-keys.ts';
import { isCompact } from './compact-token.ts';
import type { StoreIdentity } from '../store.ts';
import type { GoogleOptions } from './settings.ts';

/**
 * Seconds by which the clocks of the store and of this service may differ: every time in a token is accepted this much earlier or later.
 */
const TOLERANCE_SECONDS = 60;

/** The most seconds after its `iat` for which an ID token is accepted, even if its `exp` is later. Google's ID tokens live an hour. */
const MAX_AGE_SECONDS = 3600;

/**
 * Google's `sub` is at most 255 ASCII characters. `aud` must be a single audience, as in all of Google's tokens: if a token named a second
 * service as audience, that service could send the token to this one (OpenID Connect Core 1.0, section 3.1.3.7).
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
 * Verifies the store's ID tokens, by the rules of https://developers.google.com/identity/openid-connect/openid-connect#validatinganidtoken
 * and RFC 8725: RS256 only, and only keys from the store's JWK set, never keys from the token. The reason why a token does not verify is
 * logged (at `debug`), but not sent to the client.
 */
export class IdTokens {
  readonly #options: GoogleOptions;
  readonly #keys: GoogleKeys;

  constructor(options: GoogleOptions) {
    this.#options = options;
    this.#keys = new GoogleKeys(options);
  }

  /**
   * Verifies the ID token of a sign-in. Google's `sub` names the user.
   * @throws Refusal `bad_token`, `app_store_unavailable` while the store's keys cannot be fetched, `store_unconfigured` without client ids
   */
  async verifySignIn(token: string): Promise<StoreIdentity> {
    const { clientIds } = this.#options.settings();
    if (clientIds.length === 0) throw refuse('store_unconfigured');
    const { sub, iat } = await this.#claims(token, clientIds, 'token');
    return { subject: sub, issuedAt: iat * 1000 };
  }

  /**
   * Verifies that Pub/Sub sent a push, signed in as the service account that the settings name
   * (https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions).
   * @param token from the Authorization header, without `Bearer`
   * @throws Refusal `forbidden` for a valid token of another account, `bad_token`, `app_store_unavailable`, `store_unconfigured`
   */
  async verifyPush(token: string): Promise<void> {
    const { notifications } = this.#options.settings();
    if (notifications === undefined) throw refuse('store_unconfigured');
    const { email, email_verified: isVerified } = await this.#claims(token, [notifications.audience], 'authorization');
    if (email !== notifications.email || isVerified !== true) throw refuse('forbidden');
  }

  async #claims(token: string, audiences: readonly string[], field: string): Promise<z.output<typeof Claims>> {
    const { settings, log, wallClock } = this.#options;
    try {
      if (!isCompact(token, 3)) throw new Error('not a JWS in compact form');
      const { payload, protectedHeader } = await jwtVerify(token, (header) => this.#keyFor(header), {
        algorithms: ['RS256'],
        issuer: [...settings().issuers],
        audience: [...audiences],
        requiredClaims: ['sub', 'exp'],
        clockTolerance: TOLERANCE_SECONDS,
        maxTokenAge: MAX_AGE_SECONDS,
        currentDate: new Date(wallClock()),
      });
      // A JWT of another type, such as `at+jwt` or `logout+jwt`, is not an ID token (RFC 8725, section 3.11).
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
    // Google's tokens always name their key. For a token without a kid jose would use the only key that fits.
    if (header.kid === undefined) throw new Error('no kid');
    const key = await this.#keys.find(header);
    if (key === undefined) throw new Error('the store has no key with this kid');
    return key;
  }
}
