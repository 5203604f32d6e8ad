import { randomInt } from 'node:crypto';
import { SignJWT } from 'jose';
import { z } from 'zod';
import type { SandboxServices } from './sandbox-services.ts';
import { SANDBOX_CLIENT_ID, SANDBOX_ISSUERS } from './settings.ts';

/** Life of Google's ID tokens. */
const LIFE_SECONDS = 3600;

export const idTokenFields = {
  subject: z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'Must be 1 to 255 visible ASCII characters')
    .optional()
    .meta({ description: 'id_token: the user who signs in. One subject is one store account. A new user if left out.' }),
  email: z.email('Must be an e-mail address').optional().meta({ description: 'id_token: the `email` claim.' }),
  expiresInSeconds: z
    .int('Must be a whole number of seconds')
    .min(-86_400, 'Must be at least -86400')
    .max(86_400, 'Must be at most 86400')
    .optional()
    .meta({ description: `id_token: seconds until it expires. ${LIFE_SECONDS} if left out. Below 0: a token that has expired.` }),
};

interface IdTokenOrder {
  readonly subject?: string | undefined;
  readonly email?: string | undefined;
  readonly expiresInSeconds?: number | undefined;
}

/** An ID token in Google's format: https://developers.google.com/identity/openid-connect/openid-connect#an-id-tokens-payload */
export async function issueIdToken(
  order: IdTokenOrder,
  services: SandboxServices,
): Promise<{ token: string; subject: string; expiresAt: string }> {
  const { subject = newSubject(), email, expiresInSeconds = LIFE_SECONDS } = order;
  const now = Math.floor(services.now() / 1000);
  const expiresAt = now + expiresInSeconds;
  const token = await signToken(services, {
    // Google's ID tokens live an hour, so a token with less time left must have been issued earlier.
    issuedAt: Math.min(now, expiresAt - LIFE_SECONDS),
    expiresAt,
    subject,
    audience: SANDBOX_CLIENT_ID,
    claims: { azp: SANDBOX_CLIENT_ID, ...(email === undefined ? {} : { email, email_verified: true }) },
  });
  return { token, subject, expiresAt: new Date(expiresAt * 1000).toISOString() };
}

interface TokenContents {
  /** Seconds since 1970, as in the token. */
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly subject: string;
  readonly audience: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Signs an OpenID Connect token: an ID token of a user, or the token of a Pub/Sub push. */
export async function signToken({ sandbox }: Pick<SandboxServices, 'sandbox'>, contents: TokenContents): Promise<string> {
  const { tokens } = await sandbox.keys.get();
  return new SignJWT({ ...contents.claims })
    .setProtectedHeader({ alg: 'RS256', kid: tokens.kid, typ: 'JWT' })
    .setIssuer(SANDBOX_ISSUERS[0])
    .setAudience(contents.audience)
    .setSubject(contents.subject)
    .setIssuedAt(contents.issuedAt)
    .setExpirationTime(contents.expiresAt)
    .sign(tokens.privateKey);
}

/** 21 digits, like Google's `sub`. */
export function newSubject(): string {
  return `1${Array.from({ length: 20 }, () => randomInt(10)).join('')}`;
}
