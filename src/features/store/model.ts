import { z } from 'zod';
import { refuse, type Refusal } from '../../errors.ts';
import { MAX_TOKEN_LENGTH } from '../../google/compact-token.ts';

/**
 * The refusal of an endpoint that needs an app store where none is configured. A token that no app store verified must never
 * count as a purchase, a sign-in or a proof.
 */
export function storeUnconfigured(): Refusal<'store_unconfigured'> {
  return refuse('store_unconfigured');
}

export const StoreToken = z
  .string()
  .regex(new RegExp(`^[\\x21-\\x7e]{1,${MAX_TOKEN_LENGTH}}$`), `Must be 1 to ${MAX_TOKEN_LENGTH} visible ASCII characters`);

/** Life of a nonce: time for Google's attestation, over a slow link too. */
export const NONCE_LIFE_SECONDS = 300;

/** 32 random bytes in base64url. */
export const Nonce = z
  .string()
  .regex(/^[A-Za-z0-9_-]{43}$/, 'Must be a nonce of this service: 43 characters of base64url')
  .meta({ description: 'Valid for one install proof, within 5 minutes.', example: 'q2Jx7Lk0sVnB4wYtR8mZcD1fHgP5uEoA3iXyTlKrNQs' });

export const storeKeys = {
  nonce: (nonce: string) => `{nonce:${nonce}}`,
  /** A queue of moves whose scores are not handed over yet: a sorted set of `<guest id> <account id>` by due time. */
  unfinishedMoves: 'moves:due',
};
