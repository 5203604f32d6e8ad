import { z } from 'zod';
import { PurchaseToken, type StoreDeclaration } from '../store.ts';
import { GoogleStore } from './google-store.ts';
import { googleNotifications } from './notifications.ts';
import { checkGoogle, googleSettings } from './settings-from-config.ts';
import type { GoogleSettings } from './settings.ts';

/** Google Play as the app store. */
export const google = {
  name: 'google',
  proofs: { purchaseToken: PurchaseToken.optional().meta({ description: 'google: the purchase token that the store gave to the app.' }) },
  accountIds: {
    field: 'googleAccountId',
    shape: z.string().meta({ description: '22 characters.', example: 'BQ5v1mHk2nYtZ8cXw0aLpR' }),
  },
  terms: {
    // https://developer.android.com/google/play/billing/lifecycle/subscriptions
    forgottenAfterMs: 60 * 86_400_000,
    // https://developer.android.com/google/play/billing/integrate#process
    acknowledgedWithinMs: 3 * 86_400_000,
  },
  notifications: googleNotifications,
  check: checkGoogle,
  open(config, options, standIn?: { readonly settings: GoogleSettings }) {
    if (standIn === undefined) {
      const settings = googleSettings(config);
      return new GoogleStore({ ...options, settings: () => settings });
    }
    // The sandbox makes tokens with times of Redis's clock, so the store checks their times by the same clock.
    return new GoogleStore({ ...options, wallClock: options.now, settings: () => standIn.settings });
  },
} as const satisfies StoreDeclaration;
