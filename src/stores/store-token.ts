import { z } from 'zod';
import { refuse, type Refusal } from '../errors.ts';
import { MAX_TOKEN_LENGTH } from './store.ts';

/**
 * The refusal of an endpoint that needs an app store, if none is configured. A token that no app store verified must never be accepted as a
 * purchase, a sign-in or a proof.
 */
export function storeUnconfigured(): Refusal<'store_unconfigured'> {
  return refuse('store_unconfigured');
}

export const StoreToken = z
  .string()
  .regex(new RegExp(`^[\\x21-\\x7e]{1,${MAX_TOKEN_LENGTH}}$`), `Must be 1 to ${MAX_TOKEN_LENGTH} visible ASCII characters`);
