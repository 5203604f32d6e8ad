/** What can be asked of the sandbox. */
export const issuableStates = ['active', 'grace', 'on_hold', 'paused', 'canceled', 'expired', 'pending'] as const;

export type IssuableState = (typeof issuableStates)[number];

/** What an issued subscription can be in the course of its life. */
export type SubscriptionState = IssuableState | 'pending_canceled';

/** A subscription as it was issued, or last changed. Times are milliseconds since 1970. */
export interface IssuedSubscription {
  readonly packageName: string;
  readonly productId: string;
  readonly state: IssuableState;
  /** When it was put into that state. */
  readonly issuedAt: number;
  /** When that state ends of itself. */
  readonly until: number;
  /** Since when it is subscribed. */
  readonly startedAt: number;
  readonly periodMs: number;
  readonly graceMs: number;
  /** What becomes of the payment at the end of a period, of a hold, of a pause, and of a pending purchase. */
  readonly renew: 'declined' | 'paid';
  readonly orderId: string;
  /** Paid again so many times before `issuedAt`. */
  readonly renewals: number;
  readonly linkedPurchaseToken?: string;
}

/** Where a subscription stands at a moment. */
export interface SubscriptionNow {
  readonly state: SubscriptionState;
  /** The end of what it entitles to; none for a purchase that is not paid for. */
  readonly expiresAt?: number;
  /** Whether the store means to ask for another payment. */
  readonly renewing: boolean;
  /** Paid again so many times in all. */
  readonly renewals: number;
}

/** The subscription-lifecycle in words, for those who read the API. */
export const LIFECYCLE = [
  'The chosen state lasts `minutes`, then life goes on by what becomes of the payment (`renew`):',
  '',
  '| state | while it lasts | then, `declined` | then, `paid` |',
  '|---|---|---|---|',
  '| `active` | paid until its end | `grace` for `graceMinutes`, then `expired` | `active`, period after period of `minutes` |',
  '| `grace` | `expiresAt` is the end of the grace | `expired` | `active` |',
  '| `on_hold` | expired when it was issued | `expired` | `active` |',
  '| `paused` | expired when it was issued, resumes at its end | `expired` | `active` |',
  '| `canceled` | paid until its end, will not renew | `expired` | `expired` |',
  '| `expired` | ends when it is issued, after a period of `minutes` | | |',
  '| `pending` | not paid for yet: no `expiresAt` | its purchase is canceled | `active` |',
].join('\n');

/** Where a subscription stands: what was issued and the time decide, and nothing else. `LIFECYCLE` says it in words. */
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

/** Active, with a period that ends at `paidUntil`. */
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
