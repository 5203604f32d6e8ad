import type { StoreSubscription } from '../../../stores/store.ts';
import { rowOf } from '../../../stores/stores.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * The wait before the first check after the end of a purchase that the app store still calls active, in milliseconds. Later waits are as
 * long as the time since that end.
 */
const RENEWING_WAIT_MS = 10_000;

/**
 * The longest wait between two checks, in milliseconds. If the notification of a revocation or a refund is lost, the service knows of it
 * after this time. If the app store no longer knows a purchase, the next check also waits this long, because only an operator can correct a
 * wrong setting of coinop or of the store.
 */
export const LONGEST_WAIT_MS = 12 * HOUR_MS;

/**
 * The wait between two checks of a purchase that is on hold or paused, in milliseconds. If the notification is lost, a user who pays or
 * resumes waits this long at most.
 */
const HELD_WAIT_MS = HOUR_MS;

/**
 * The wait between two checks of a pending purchase, in milliseconds. If the notification is lost, a user who pays in a shop waits this
 * long at most.
 */
export const PENDING_WAIT_MS = 10 * MINUTE_MS;

/** The wait between two checks while the settings of the app store are missing, in milliseconds. */
export const UNCONFIGURED_WAIT_MS = HOUR_MS;

/**
 * How long a process leases one purchase, in milliseconds. A check makes two calls to the app store, of 8 s and 4 s at most, and runs a few
 * scripts.
 */
export const LEASE_MS = 30_000;

/**
 * The least wait from the end of the paid time to the check, in milliseconds. This wait leaves the app store time to renew, and users would
 * notice a longer wait.
 */
const AFTER_EXPIRY_MS = 500;

/** At most this many milliseconds are added to AFTER_EXPIRY_MS at random, to spread checks that are due at the same moment. */
const EXPIRY_JITTER_MS = 1000;

/**
 * The wait before the first check of a purchase that is recorded but not acknowledged yet, in milliseconds. If the process dies before it
 * acknowledges the purchase, this check acknowledges it.
 */
export const UNACKNOWLEDGED_MS = MINUTE_MS;

/**
 * The time at which the app store refunds a purchase that is not acknowledged, in milliseconds since 1970. Undefined if the store does not
 * refund it.
 */
export function refundAt({ store, boughtAt }: { readonly store: string; readonly boughtAt: number | undefined }): number | undefined {
  const { acknowledgedWithinMs } = rowOf(store).terms;
  return boughtAt === undefined || acknowledgedWithinMs === undefined ? undefined : boughtAt + acknowledgedWithinMs;
}

/** How long after the end of a purchase the app store still answers about it, in milliseconds. */
export const forgottenAfterMs = (store: string): number => rowOf(store).terms.forgottenAfterMs;

/**
 * The time at which a purchase has to be checked next, in milliseconds since 1970. Undefined if the purchase has ended and is never checked
 * again.
 */
export function nextCheckAt({ state, expiresAt }: Pick<StoreSubscription, 'state' | 'expiresAt'>, now: number): number | undefined {
  const longest = now + LONGEST_WAIT_MS;
  if (state === 'expired') return undefined;
  if (state === 'pending') return now + PENDING_WAIT_MS;
  if (state === 'on_hold' || state === 'paused' || expiresAt === undefined) return now + HELD_WAIT_MS;
  if (now < expiresAt) return Math.min(longest, Math.ceil(expiresAt + AFTER_EXPIRY_MS + Math.random() * EXPIRY_JITTER_MS));
  // A user may restore a canceled subscription only until it ends.
  if (state === 'canceled') return undefined;
  // The app store answers `active` although the purchase has ended, because it is about to renew the purchase, or because clocks differ.
  return Math.min(longest, now + Math.max(RENEWING_WAIT_MS, now - expiresAt));
}
