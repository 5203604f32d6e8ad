import { hash } from 'node:crypto';
import { z } from 'zod';
import { MAX_TOKEN_LENGTH, type StoreDeclaration } from '../store.ts';
import { AppleStore } from './apple-store.ts';
import { appleNotifications } from './notifications.ts';
import { appleSettings, checkApple, type AppleSettings } from './settings.ts';

/** Apple as the app store. */
export const apple = {
  name: 'apple',
  proofs: {
    transaction: z
      .string()
      .regex(/^[\w-]+\.[\w-]+\.[\w-]+$/, 'Must be a signed transaction')
      .max(MAX_TOKEN_LENGTH)
      .optional()
      .meta({ description: 'apple: the signed transaction (JWS) of StoreKit 2.' }),
    transactionId: z
      .string()
      .regex(/^\d{1,30}$/, 'Must be a transaction id')
      .optional()
      .meta({ description: 'apple: the id of the transaction, in place of `transaction`.' }),
  },
  // Transaction ids are numbers that other people can guess.
  openProofs: ['transactionId'],
  accountIds: {
    field: 'appleAccountToken',
    shape: z.uuid().meta({ description: 'A UUID.', example: '6f1c2b7a-94d3-8e05-a1b2-c3d4e5f60718' }),
    derive: appleAccountTokenOf,
  },
  terms: { forgottenAfterMs: Infinity },
  notifications: appleNotifications,
  check: checkApple,
  open(config, options, standIn?: { readonly apple: AppleSettings }) {
    if (standIn === undefined) {
      const settings = appleSettings(config);
      return new AppleStore({ ...options, settings: () => settings });
    }
    // The sandbox signs texts with times of Redis's clock, so the store checks the times by the same clock.
    return new AppleStore({ ...options, wallClock: options.now, settings: () => standIn.apple });
  },
} as const satisfies StoreDeclaration;

/**
 * The id of an account for Apple: a UUID of version 8, whose bits an application defines (RFC 9562, section 5.8). The version shows whether
 * coinop made an id: the random ids of apps have another version.
 */
export function appleAccountTokenOf(accountId: string): string {
  const digits = hash('sha256', `coinop:apple-account-token:${accountId}`, 'hex').slice(0, 32).split('');
  digits[12] = '8';
  digits[16] = '89ab'[Number.parseInt(digits[16]!, 16) % 4]!;
  return digits.join('').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
