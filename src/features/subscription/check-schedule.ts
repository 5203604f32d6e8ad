import type { StoreSubscription } from '../../stores/store.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** First wait after the end of a purchase that the app store still calls active. Later waits grow with the time since that end. */
const RENEWING_WAIT_MS = 10_000;

/** A revocation or refund without a notification is known after this long at most. */
export const LONGEST_WAIT_MS = 12 * HOUR_MS;

/** On hold or paused: a user who pays or resumes waits this long at most where no notification arrives. */
const HELD_WAIT_MS = HOUR_MS;

/** Pending: a user who pays in a shop waits this long at most where no notification arrives. */
const PENDING_WAIT_MS = 10 * MINUTE_MS;

/** Time for the app store to renew, and jitter that spreads checks due at the same moment. Longer waits would show to users. */
const AFTER_EXPIRY_MS = 500;
const EXPIRY_JITTER_MS = 1000;

/** First check of a purchase that is recorded before its acknowledgement: after a crash in between it acknowledges the purchase. */
export const UNACKNOWLEDGED_MS = MINUTE_MS;

/** Google answers for a token for 60 days past its end (https://developer.android.com/google/play/billing/lifecycle/subscriptions). */
export const FORGOTTEN_AFTER_MS = 60 * 24 * HOUR_MS;

/**
 * Google refunds a purchase that is not acknowledged within three days
 * (https://developer.android.com/google/play/billing/integrate#process).
 */
const ACKNOWLEDGED_WITHIN_MS = 72 * HOUR_MS;

/** When the app store refunds an unacknowledged purchase. Undefined: it is not paid for. */
export function refundAt({ boughtAt }: { readonly boughtAt: number | undefined }): number | undefined {
  return boughtAt === undefined ? undefined : boughtAt + ACKNOWLEDGED_WITHIN_MS;
}

/** Time of the next check. Undefined: the purchase has ended and is never checked again. */
export function nextCheckAt({ state, expiresAt }: Pick<StoreSubscription, 'state' | 'expiresAt'>, now: number): number | undefined {
  const longest = now + LONGEST_WAIT_MS;
  if (state === 'expired') return undefined;
  if (state === 'pending') return now + PENDING_WAIT_MS;
  if (state === 'on_hold' || state === 'paused' || expiresAt === undefined) return now + HELD_WAIT_MS;
  if (now < expiresAt) return Math.min(longest, Math.ceil(expiresAt + AFTER_EXPIRY_MS + Math.random() * EXPIRY_JITTER_MS));
  // A user may restore a canceled subscription until it ends, and not later.
  if (state === 'canceled') return undefined;
  // The app store says active past the end: it is about to renew, or clocks differ.
  return Math.min(longest, now + Math.max(RENEWING_WAIT_MS, now - expiresAt));
}
