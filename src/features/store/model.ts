import { z } from 'zod';
import { refuse, type Refusal } from '../../errors.ts';
import { MAX_TOKEN_LENGTH } from '../../google/compact-token.ts';

/**
 * No store stands behind the service, so that no token can be verified; and one that nobody verified must never pass
 * for a purchase, a sign-in or a proof. Endpoints that need the store's word check the request, then say just this.
 */
export function storeUnconfigured(): Refusal<'store_unconfigured'> {
  return refuse('store_unconfigured');
}

export const StoreToken = z
  .string()
  .regex(new RegExp(`^[\\x21-\\x7e]{1,${MAX_TOKEN_LENGTH}}$`), `Must be 1 to ${MAX_TOKEN_LENGTH} visible ASCII characters`);

/** How long a nonce is good for, in seconds: long enough for the store to attest, and for a slow link. */
export const NONCE_LIFE_SECONDS = 300;

/** 32 random bytes in base64url. */
export const Nonce = z
  .string()
  .regex(/^[A-Za-z0-9_-]{43}$/, 'Must be a nonce of this service: 43 characters of base64url')
  .meta({ description: 'Good for one install proof, within 5 minutes.' });

export const storeKeys = {
  nonce: (nonce: string) => `{nonce:${nonce}}`,
  /** A sorted set: moves whose scores are still to be handed over, by the time when somebody has to. */
  unfinishedMoves: 'moves:due',
};
