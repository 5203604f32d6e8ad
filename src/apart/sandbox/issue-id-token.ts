import { z } from 'zod';
import { invalid } from '../../errors.ts';
import { issueCode } from './apple/apple-id.ts';
import { PROVIDER_NAME } from './providers.ts';
import type { SandboxServices } from './sandbox-services.ts';
import { SANDBOX_CLIENT_ID } from './settings.ts';
import { newSubject, signToken } from './sign-token.ts';

/** The life of an ID token, the same as at Google. */
const LIFE_SECONDS = 3600;

/** The most characters of a nonce. */
const MOST_NONCE = 255;

export const idTokenFields = {
  subject: z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'Must be 1 to 255 visible ASCII characters')
    .optional()
    .meta({
      description: 'id_token, account_notification: the user who signs in. One subject is one store account. A new user if left out.',
    }),
  provider: z.string().regex(PROVIDER_NAME, 'Must be the name of a provider').optional().meta({
    description: 'id_token: the provider that issues the token: `google`, `apple` or another name. `google` if left out.',
    example: 'google',
  }),
  email: z.email('Must be an e-mail address').optional().meta({ description: 'id_token: the `email` claim.' }),
  expiresInSeconds: z
    .int('Must be a whole number of seconds')
    .min(-86_400, 'Must be at least -86400')
    .max(86_400, 'Must be at most 86400')
    .optional()
    .meta({ description: `id_token: seconds until it expires. ${LIFE_SECONDS} if left out. Below 0: a token that has expired.` }),
};

interface IdTokenOrder {
  readonly provider?: string | undefined;
  readonly nonce?: string | undefined;
  readonly subject?: string | undefined;
  readonly email?: string | undefined;
  readonly expiresInSeconds?: number | undefined;
}

/** Makes an ID token in Google's format: https://developers.google.com/identity/openid-connect/openid-connect#an-id-tokens-payload */
export async function issueIdToken(
  order: IdTokenOrder,
  services: SandboxServices,
): Promise<{ token: string; subject: string; expiresAt: string; authorizationCode?: string }> {
  const { provider = 'google', subject = newSubject(), email, nonce, expiresInSeconds = LIFE_SECONDS } = order;
  if (nonce !== undefined && nonce.length > MOST_NONCE) throw invalid('nonce', `Must have at most ${MOST_NONCE} characters`);
  const now = Math.floor(services.now() / 1000);
  const expiresAt = now + expiresInSeconds;
  const token = await signToken(services.sandbox.keys, {
    // Google's ID tokens live an hour. So a token that ends in less than an hour gets an earlier time of issue.
    issuedAt: Math.min(now, expiresAt - LIFE_SECONDS),
    expiresAt,
    subject,
    issuer: services.sandbox.providers.named(provider).issuers[0]!,
    audience: SANDBOX_CLIENT_ID,
    claims: {
      azp: SANDBOX_CLIENT_ID,
      ...(nonce === undefined ? {} : { nonce }),
      ...(email === undefined ? {} : { email, email_verified: true }),
    },
  });
  const issued = { token, subject, expiresAt: new Date(expiresAt * 1000).toISOString() };
  return provider === 'apple' ? { ...issued, authorizationCode: await issueCode(subject, services) } : issued;
}
