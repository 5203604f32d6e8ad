import { randomInt } from 'node:crypto';
import { SignJWT } from 'jose';
import { SANDBOX_ISSUERS } from './settings.ts';
import type { SandboxKeys } from './signing-keys.ts';

interface TokenContents {
  /** The time in seconds since 1970, as tokens have it. */
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly subject: string;
  /** Undefined: the issuer is the sandbox's stand-in for Google. */
  readonly issuer?: string;
  readonly audience: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Signs a token of OpenID Connect, which is an ID token of a user or the token of a Pub/Sub push. */
export async function signToken(keys: SandboxKeys, contents: TokenContents): Promise<string> {
  const { tokens } = await keys.get();
  return new SignJWT({ ...contents.claims })
    .setProtectedHeader({ alg: 'RS256', kid: tokens.kid, typ: 'JWT' })
    .setIssuer(contents.issuer ?? SANDBOX_ISSUERS[0])
    .setAudience(contents.audience)
    .setSubject(contents.subject)
    .setIssuedAt(contents.issuedAt)
    .setExpirationTime(contents.expiresAt)
    .sign(tokens.privateKey);
}

/** A new user id (`sub`) of 21 digits, as long as Google's. */
export function newSubject(): string {
  return `1${Array.from({ length: 20 }, () => randomInt(10)).join('')}`;
}
