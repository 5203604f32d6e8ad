import { createHmac, randomBytes } from 'node:crypto';

/**
 * The prefix of a secret. Secrets and signatures follow the Standard Webhooks specification (https://www.standardwebhooks.com): symmetric,
 * version 1.
 */

const PREFIX = 'whsec_';

/** The number of random bytes of a secret. The specification allows 24 to 64. */
const SECRET_BYTES = 32;

/** The format of a secret: `whsec_` and base64. Receivers' libraries expect this format. */
export const SECRET = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;

export function newSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/**
 * The header `webhook-signature`: one signature for each secret, so that during a rotation a receiver finds a valid signature whether it
 * has the old or the new secret.
 * @param timestamp seconds since 1970
 */
export function signatures(secrets: readonly string[], id: string, timestamp: number, body: string): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
      return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
    })
    .join(' ');
}
