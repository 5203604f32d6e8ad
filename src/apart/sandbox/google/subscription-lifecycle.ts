/** The states into which `POST /sandbox/issue` can put a subscription. */
export const issuableStates = ['active', 'grace', 'on_hold', 'paused', 'canceled', 'expired', 'pending'] as const;

export type IssuableState = (typeof issuableStates)[number];

/** All states of a subscription. A pending purchase that nobody pays for becomes `pending_canceled` with time. */
export type SubscriptionState = IssuableState | 'pending_canceled';

/** A subscription as it was issued or last changed. Times are milliseconds since 1970. */
export interface IssuedSubscription {
  readonly packageName: string;
  readonly productId: string;
  readonly state: IssuableState;
  /** When `state` began. */
  readonly issuedAt: number;
  /** When `state` ends. The subscription then goes on as LIFECYCLE describes. */
  readonly until: number;
  /** When the subscription began. */
  readonly startedAt: number;
  readonly periodMs: number;
  readonly graceMs: number;
  /** The outcome of the payment that is due at the end of a period, a hold, a pause, or a pending purchase. */
  readonly renew: 'declined' | 'paid';
  readonly orderId: string;
  /** The number of renewals before `issuedAt`. */
  readonly renewals: number;
  readonly linkedPurchaseToken?: string;
  readonly obfuscatedAccountId?: string;
  /** The expired purchase that a user bought again in the Play Store. */
  readonly expiredPurchaseToken?: string;
  /** The account that the app had named for the expired purchase. */
  readonly expiredObfuscatedAccountId?: string;
  /** Whether a licence tester bought the subscription. */
  readonly test?: boolean;
  /** The time from which on the store's API knows the subscription. Left out: at once. */
  readonly knownAt?: number;
}

export interface SubscriptionNow {
  readonly state: SubscriptionState;
  /** When the access ends. Undefined for a purchase that is not paid for. */
  readonly expiresAt?: number;
  /** Whether the subscription is set to renew. */
  readonly renewing: boolean;
  /** The number of renewals so far. */
  readonly renewals: number;
}

/** A table in the OpenAPI description of `POST /sandbox/issue`. */
export const LIFECYCLE = [
  'The chosen state lasts `minutes`. What follows depends on the outcome of the payment (`renew`):',
  '',
  '| state | while it lasts | then, `declined` | then, `paid` |',
  '|---|---|---|---|',
  '| `active` | paid until its end | `grace` for `graceMinutes`, then `expired` | `active`, period after period of `minutes` |',
  '| `grace` | `expiresAt` is the end of the grace | `expired` | `active` |',
  '| `on_hold` | expired when it was issued | `expired` | `active` |',
  '| `paused` | expired when it was issued, resumes at its end | `expired` | `active` |',
  '| `canceled` | paid until its end, will not renew | `expired` | `expired` |',
  '| `expired` | ends when it is issued, after a period of `minutes` | | |',
  '| `pending` | not paid for yet: no `expiresAt` | `pending_canceled` | `active` |',
].join('\n');

/**
 * The state of a subscription at the time `now`. It depends only on the issued subscription and the time, by the rules of LIFECYCLE.
 */
export function subscriptionAt(issued: IssuedSubscription, now: number): SubscriptionNow {
  const { state, until, issuedAt, renewals } = issued;
  const expired = (expiresAt: number): SubscriptionNow => ({ state: 'expired', expiresAt, renewing: false, renewals });
  if (state === 'expired') return expired(until);
  if (state === 'active') return payingFrom(issued, until, renewals, now);
  if (now < until) {
    if (state === 'pending') return { state, renewing: true, renewals };
    return { state, expiresAt: state === 'on_hold' || state === 'paused' ? issuedAt : until, renewing: state !== 'canceled', renewals };
  }
  if (state === 'canceled') return expired(until);
  if (issued.renew === 'paid') return payingFrom(issued, until + issued.periodMs, renewals + (state === 'pending' ? 0 : 1), now);
  if (state === 'pending') return { state: 'pending_canceled', renewing: false, renewals };
  return expired(state === 'grace' ? until : issuedAt);
}

/** The state of a subscription whose present period is paid for until `paidUntil`. */
function payingFrom(issued: IssuedSubscription, paidUntil: number, renewals: number, now: number): SubscriptionNow {
  const { periodMs, graceMs, renew } = issued;
  if (now < paidUntil) return { state: 'active', expiresAt: paidUntil, renewing: true, renewals };
  if (renew === 'paid') {
    const periods = Math.floor((now - paidUntil) / periodMs) + 1;
    return { state: 'active', expiresAt: paidUntil + periods * periodMs, renewing: true, renewals: renewals + periods };
  }
  const graceEnd = paidUntil + graceMs;
  if (now < graceEnd) return { state: 'grace', expiresAt: graceEnd, renewing: true, renewals };
  return { state: 'expired', expiresAt: graceEnd, renewing: false, renewals };
}
