import { z } from 'zod';
import { refuse, type Refusal } from '../../errors.ts';

/**
 * No store stands behind the service, so that no token can be verified; and one that nobody verified must never pass
 * for a purchase, a sign-in or a proof. Endpoints that need the store's word check the request, then say just this.
 */
export function storeUnconfigured(): Refusal<'store_unconfigured'> {
  return refuse('store_unconfigured');
}

/** Tokens of the store are a few hundred bytes to a few KiB; the bound only keeps nonsense out. */
export const StoreToken = z.string().regex(/^[\x21-\x7e]{1,8192}$/, 'Must be 1 to 8192 visible ASCII characters');

/** 32 random bytes in base64url. */
export const Nonce = z
  .string()
  .regex(/^[A-Za-z0-9_-]{43}$/, 'Must be a nonce of this service: 43 characters of base64url')
  .meta({ description: 'Good for one install proof, within 5 minutes.' });
