import { jwtVerify, type JWSHeaderParameters } from 'jose';
import type { Logger } from 'pino';
import { z } from 'zod';
import { refuse, Refusal } from '../../errors.ts';
import { isCompact } from '../compact-token.ts';
import type { IssuerKeys } from './issuer-keys.ts';

/**
 * Seconds by which the clocks of the issuer and of this service may differ. Every time in a token is accepted this much earlier or later.
 */
const TOLERANCE_SECONDS = 60;

/** A `sub` is at most 255 ASCII characters (OpenID Connect Core 1.0, section 2). No known issuer has blanks in it. */
const Claims = z.looseObject({
  sub: z.string().regex(/^[\x21-\x7e]{1,255}$/),
  aud: z.union([z.string(), z.array(z.string())]),
  azp: z.unknown().optional(),
  iat: z.number(),
  exp: z.number(),
  nonce: z.unknown().optional(),
  email: z.unknown().optional(),
  email_verified: z.unknown().optional(),
});

export type IdTokenClaims = z.output<typeof Claims>;

/** What a token of an issuer must be. */
export interface TokenRules {
  readonly issuers: readonly string[];
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
  readonly keys: IssuerKeys;
  /** The present time in milliseconds since 1970, by the clock with which the token's times are compared. */
  readonly now: number;
}

export interface IdTokenRules extends TokenRules {
  readonly maxAgeSeconds: number;
}

/**
 * Verifies an ID token according to OpenID Connect Core 1.0, section 3.1.3.7, and RFC 8725.
 * @param field the field of the request with the token
 * @throws Refusal `bad_token`; `app_store_unavailable` while the issuer's keys cannot be fetched
 */
export function verifyIdToken(token: string, rules: IdTokenRules, field: string, log: Logger): Promise<IdTokenClaims> {
  return verifyToken(token, rules, { shape: Claims, required: ['sub', 'exp'], maxTokenAge: rules.maxAgeSeconds }, field, log);
}

/**
 * The claims of a notification about a user's account with an issuer. It is a security event token, which has no `sub` and mostly no `exp`.
 */
const NotificationClaims = z.object({ aud: z.union([z.string(), z.array(z.string())]), azp: z.unknown().optional(), events: z.string() });

/**
 * Verifies a notification of an issuer about one of its users, as `verifyIdToken` does. It may be of any age. The code that handles it
 * compares the time of the event.
 * @returns the text of its `events`
 */
export async function verifyNotification(token: string, rules: TokenRules, field: string, log: Logger): Promise<string> {
  return (await verifyToken(token, rules, { shape: NotificationClaims, required: ['iat'] }, field, log)).events;
}

interface Wanted<Shape> {
  readonly shape: Shape;
  readonly required: string[];
  /** In seconds. */
  readonly maxTokenAge?: number;
}

/**
 * The algorithm and the keys come from the rules, never from the token. The reason why a token does not verify is logged (at `debug`), but
 * not sent to the client.
 */
async function verifyToken<Shape extends z.ZodType<{ aud: string | string[]; azp?: unknown }>>(
  token: string,
  rules: TokenRules,
  { shape, required, ...age }: Wanted<Shape>,
  field: string,
  log: Logger,
): Promise<z.output<Shape>> {
  try {
    if (!isCompact(token, 3)) throw new Error('not a JWS in compact form');
    const { payload, protectedHeader } = await jwtVerify(token, (header) => keyFor(header, rules.keys), {
      algorithms: [...rules.algorithms],
      issuer: [...rules.issuers],
      audience: [...rules.audiences],
      requiredClaims: required,
      clockTolerance: TOLERANCE_SECONDS,
      currentDate: new Date(rules.now),
      ...age,
    });
    // A JWT of another type, such as `at+jwt` or `logout+jwt`, is not one of these tokens (RFC 8725, section 3.11).
    if (protectedHeader.typ !== undefined && protectedHeader.typ !== 'JWT') throw new Error('unexpected typ');
    const claims = shape.safeParse(payload);
    if (!claims.success) throw new Error(`unexpected ${claims.error.issues[0]!.path.join('.')}`);
    const { aud, azp } = claims.data;
    // If the token has a second audience, that audience could send it to this service. So the token must have been issued to one of our
    // clients.
    if (Array.isArray(aud) && aud.length > 1 && !(typeof azp === 'string' && rules.audiences.includes(azp)))
      throw new Error('several audiences, and an azp that is none of ours');
    return claims.data;
  } catch (error) {
    if (error instanceof Refusal) throw error;
    log.debug({ reason: (error as Error).message }, 'a token of an issuer does not verify');
    throw refuse('bad_token', { field });
  }
}

async function keyFor(header: JWSHeaderParameters, keys: IssuerKeys) {
  // For a token without a kid jose would use the only key that fits.
  if (header.kid === undefined) throw new Error('no kid');
  const key = await keys.find(header);
  if (key === undefined) throw new Error('the issuer has no key with this kid');
  return key;
}
