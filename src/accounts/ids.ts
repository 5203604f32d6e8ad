import { hash } from 'node:crypto';
import { z } from 'zod';

export const InstallId = z
  .string()
  .regex(/^[\x21-\x7e]{8,128}$/, 'Must be 8 to 128 visible ASCII characters')
  .meta({ description: 'Identifier of an app install: a bearer secret, never shown to anybody else.', example: 'install-0001' });

/** The installId in a request. A request may leave it out if it has a session or the header x-install-id. */
export const OptionalInstallId = InstallId.optional();

/** The format of the account ids that this service makes. */
export const ACCOUNT_ID = /^[\w-]{22}$/;

export const AccountId = z.string().meta({ description: 'The account, for its owner only.', example: 'BQ5v1mHk2nYtZ8cXw0aLpR' });

/**
 * The account id of an install: the first 132 bits of a SHA-256, so that the service finds the account without a read in Redis. Nobody can
 * compute the installId from the account id, as long as the installId is as random as a bearer secret must be.
 */
export function accountIdOf(installId: string): string {
  return hash('sha256', `coinop:account:${installId}`, 'base64url').slice(0, 22);
}

/**
 * The account id that belongs to a provider's user.
 * @param provider the provider's `key`: its issuer, or the name of an older provider
 * @param subject the provider's own id of the user: `sub` of an ID token
 * @param ordinal number of accounts of the user that ended before this account
 */
export function storeAccountIdOf(provider: string, subject: string, ordinal = 0): string {
  // An issuer contains no blank, so the texts of two users always differ. No older provider is named `openid`.
  if (provider.includes('/')) return hash('sha256', `coinop:openid:${ordinal} ${provider} ${subject}`, 'base64url').slice(0, 22);
  // A subject contains no blank, so it cannot be confused with an ordinal, a blank and another subject.
  const nth = ordinal === 0 ? '' : `${ordinal} `;
  return hash('sha256', `coinop:${provider}:${nth}${subject}`, 'base64url').slice(0, 22);
}
