import { createSecretKey, type KeyObject } from 'node:crypto';
import { SignJWT, jwtVerify } from 'jose';
import type { SessionKind } from '../../accounts/session-list.ts';
import type { SessionKey } from '../../config.ts';

/** The kinds of signed tokens. The audience in the token keeps one kind from passing for the other. */
export type TokenAudience = 'session' | 'device' | 'deletion' | 'ticket';

export interface TokenClaims {
  subject: string;
  id: string;
  /** Milliseconds since 1970, whole seconds. */
  issuedAt: number;
  expiresAt: number;
  /** For a session. Default: `login`. */
  kind?: SessionKind;
}

/**
 * Compact JWS, HS256, `kid` in the header (RFC 7515). The first key signs and every key verifies, so a rotation signs nobody
 * out: add the new key at the end, move it to the front once every process has it, and remove the old key a cookie's life
 * later.
 */
export class TokenSigner {
  readonly #keys: Map<string, KeyObject>;
  readonly #signingKid: string;

  constructor(keys: readonly SessionKey[]) {
    this.#keys = new Map(keys.map(({ kid, secret }) => [kid, createSecretKey(secret)]));
    this.#signingKid = keys[0]!.kid;
  }

  sign(audience: TokenAudience, claims: TokenClaims): Promise<string> {
    return new SignJWT(claims.kind === 'pairing' ? { paired: true } : claims.kind === 'store' ? { store: true } : {})
      .setProtectedHeader({ alg: 'HS256', kid: this.#signingKid })
      .setAudience(audience)
      .setSubject(claims.subject)
      .setJti(claims.id)
      .setIssuedAt(Math.floor(claims.issuedAt / 1000))
      .setExpirationTime(Math.floor(claims.expiresAt / 1000))
      .sign(this.#keys.get(this.#signingKid)!);
  }

  /** The claims of a token of this audience that one of the keys signed and that has not expired; undefined for any other text. */
  async verify(audience: TokenAudience, token: string, now: number): Promise<TokenClaims | undefined> {
    if (token.length > MAX_TOKEN_LENGTH || !WELL_FORMED.test(token)) return undefined;
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
        kind: payload['paired'] === true ? 'pairing' : payload['store'] === true ? 'store' : 'login',
      };
    } catch {
      return undefined;
    }
  }
}

/** Tokens of this service have some 250 characters. A longer text costs neither a pattern nor a signature check. */
export const MAX_TOKEN_LENGTH = 1024;

/**
 * 32 bytes of HMAC are 43 characters, and the last character carries only four bits. Other characters with the same four bits
 * decode to the same bytes. The pattern refuses them, because a changed cookie must not verify.
 */
const WELL_FORMED = /^[\w-]+\.[\w-]+\.[\w-]{42}[AEIMQUYcgkosw048]$/;
