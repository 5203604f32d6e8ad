import { hash } from 'node:crypto';
import { z } from 'zod';

export const InstallId = z
  .string()
  .regex(/^[\x21-\x7e]{8,128}$/, 'Must be 8 to 128 visible ASCII characters')
  .meta({ description: 'Identifier of an app install: a bearer secret, never shown to anybody else.', example: 'install-0001' });

/** For endpoints: a session or the header x-install-id may name the caller instead. */
export const OptionalInstallId = InstallId.optional();

/** The format of this service's accountIds. */
export const ACCOUNT_ID = /^[\w-]{22}$/;

export const AccountId = z.string().meta({ description: 'The account, for its owner only.', example: 'BQ5v1mHk2nYtZ8cXw0aLpR' });

/**
 * The account id of an install: the first 132 bits of a SHA-256, so that finding the account takes no look-up in Redis.
 * Nobody can compute the installId from it, as long as the installId is as random as a bearer secret must be.
 */
export function accountIdOf(installId: string): string {
  return hash('sha256', `coinop:account:${installId}`, 'base64url').slice(0, 22);
}

/**
 * The account id of an app store's user. `subject` is the store's own id of the user: `sub` of a Google ID token.
 * @param ordinal how many accounts of the user were deleted before this one
 */
export function storeAccountIdOf(store: string, subject: string, ordinal = 0): string {
  // A subject contains no blank, so the prefix is unambiguous.
  const nth = ordinal === 0 ? '' : `${ordinal} `;
  return hash('sha256', `coinop:${store}:${nth}${subject}`, 'base64url').slice(0, 22);
}
