import { refuse, type Refusal } from '../errors.ts';

/**
 * The refusal for a temporary outage of the app store. The token may be good or bad. Nothing was written, except that
 * `store-install` has used its nonce up and overrides the message.
 */
export function appStoreUnavailable(retryAfterMs: number): Refusal<'store_unavailable'> {
  return refuse('store_unavailable', {
    message: 'The app store does not answer just now: try again.',
    retryAfterMs: Math.ceil(retryAfterMs),
  });
}
