import { refuse, type Refusal } from '../errors.ts';

/**
 * The refusal during a temporary outage of the app store. The service does not know whether the token is good. Nothing was written, except
 * that `store-install` has used up its nonce, and gives the refusal another message.
 */
export function appStoreUnavailable(retryAfterMs: number): Refusal<'app_store_unavailable'> {
  return refuse('app_store_unavailable', { retryAfterMs: Math.ceil(retryAfterMs) });
}
