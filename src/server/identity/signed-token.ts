import { createSecretKey, type KeyObject } from 'node:crypto';
import { SignJWT, jwtVerify } from 'jose';
import type { SessionKey } from '../../config.ts';

/** What a cookie of ours may say. The audience keeps one kind from passing for another. */
export type TokenAudience = 'session' | 'device';

export interface TokenClaims {
  subject: string;
  id: string;
  /** Milliseconds since 1970, whole seconds. */
  issuedAt: number;
  expiresAt: number;
  /** Of a session: it was handed to a browser whose pairing somebody else claimed. */
  isPaired?: boolean;
}

/**
 * Compact JWS, HS256, `kid` in the header (RFC 7515). The first key signs and every key verifies, so that a key rotates
 * without signing anybody out: put the new one last, then first once every process has it, and drop the old one a
 * cookie's life later.
 */
export class TokenSigner {
  readonly #keys: Map<string, KeyObject>;
  readonly #signingKid: string;

  constructor(keys: readonly SessionKey[]) {
    this.#keys = new Map(keys.map(({ kid, secret }) => [kid, createSecretKey(secret)]));
    this.#signingKid = keys[0]!.kid;
  }

  sign(audience: TokenAudience, claims: TokenClaims): Promise<string> {
    return new SignJWT(claims.isPaired === true ? { paired: true } : {})
      .setProtectedHeader({ alg: 'HS256', kid: this.#signingKid })
      .setAudience(audience)
      .setSubject(claims.subject)
      .setJti(claims.id)
      .setIssuedAt(Math.floor(claims.issuedAt / 1000))
      .setExpirationTime(Math.floor(claims.expiresAt / 1000))
      .sign(this.#keys.get(this.#signingKid)!);
  }

  /** The claims, or undefined for anything that is not a live token of this audience, signed by one of the keys. */
  async verify(audience: TokenAudience, token: string, now: number): Promise<TokenClaims | undefined> {
    if (!WELL_FORMED.test(token) || token.length > 1024) return undefined;
    try {
      const { payload } = await jwtVerify(token, (header) => this.#keys.get(header.kid ?? '') ?? Promise.reject(new Error('unknown kid')), {
        algorithms: ['HS256'],
        audience,
        currentDate: new Date(now),
        requiredClaims: ['sub', 'jti', 'iat', 'exp'],
      });
      return {
        subject: payload.sub!,
        id: payload.jti!,
        issuedAt: payload.iat! * 1000,
        expiresAt: payload.exp! * 1000,
        isPaired: payload['paired'] === true,
      };
    } catch {
      return undefined;
    }
  }
}

/**
 * 32 bytes of HMAC are 43 characters, of which the last carries four bits: other spellings of those four decode to the
 * same bytes, and a cookie with a byte flipped there would still verify.
 */
const WELL_FORMED = /^[\w-]+\.[\w-]+\.[\w-]{42}[AEIMQUYcgkosw048]$/;
