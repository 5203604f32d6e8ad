import { refuse, type Refusal } from '../errors.ts';

/** The app store cannot be asked just now: nothing was written, and nothing is known of the token. */
export function appStoreAway(retryAfterMs: number): Refusal<'store_unavailable'> {
  return refuse('store_unavailable', {
    message: 'The app store does not answer just now: try again.',
    retryAfterMs: Math.ceil(retryAfterMs),
  });
}
