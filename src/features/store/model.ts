import { z } from 'zod';
import { refuse, type Refusal } from '../../errors.ts';
import { MAX_TOKEN_LENGTH } from '../../stores/store.ts';

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
  /** The queue of moves under way: `<guest id> <account id> <move id>`. */
  unfinishedMoves: 'moves:due',
  /** A string: what became of a move into the account (`move/open.lua`). */
  moveRecord: (accountId: string, moveId: string) => `{${accountId}}:move:${moveId}`,
  /** The copy of the guest's ledger while the move is open. The names of its buckets are made from it as for any ledger. */
  stagedLedger: (accountId: string, moveId: string) => `{${accountId}}:move:${moveId}:ledger`,
};

/** Why a guest did not move. The first two are known before the move begins, the others only by the account. */
export const notMovedReasons = ['not_a_guest', 'from_pairing', 'too_many_guests', 'balance_limit'] as const;
export type NotMovedReason = (typeof notMovedReasons)[number];
