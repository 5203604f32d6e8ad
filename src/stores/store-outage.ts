import { refuse, type Refusal } from '../errors.ts';

/**
 * The refusal for a temporary outage of the app store. The token may be good or bad. Nothing was written, except that
 * `store-install` has used its nonce up and overrides the message.
 */
export function appStoreUnavailable(retryAfterMs: number): Refusal<'app_store_unavailable'> {
  return refuse('app_store_unavailable', { retryAfterMs: Math.ceil(retryAfterMs) });
}
