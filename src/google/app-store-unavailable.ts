import { refuse, type Refusal } from '../errors.ts';

/** The refusal for a temporary outage of the app store. Nothing was written, and the token may be good or bad. */
export function appStoreUnavailable(retryAfterMs: number): Refusal<'store_unavailable'> {
  return refuse('store_unavailable', {
    message: 'The app store does not answer just now: try again.',
    retryAfterMs: Math.ceil(retryAfterMs),
  });
}
