import { refuse, type Refusal } from '../errors.ts';

/**
 * The refusal of an endpoint that needs an app store, if none is configured. A token that no app store verified must never be accepted as a
 * purchase, a sign-in or a proof.
 */
export function storeUnconfigured(): Refusal<'store_unconfigured'> {
  return refuse('store_unconfigured');
}

/**
 * The refusal during a temporary outage of the app store. The service does not know whether the token is good. Nothing was written. Only
 * `store-install` has used up its nonce, and gives the refusal another message.
 */
export function appStoreUnavailable(retryAfterMs: number): Refusal<'app_store_unavailable'> {
  return refuse('app_store_unavailable', { retryAfterMs: Math.ceil(retryAfterMs) });
}
