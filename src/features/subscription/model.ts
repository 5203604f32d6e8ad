import { z } from 'zod';
import { purchaseAt, storeStates, type StoreState, type StoreSubscription } from './purchase-expiry.ts';

export const subscriptionKeys = {
  /**
   * A hash for each purchase: token, packageName, owner (an account's id; one that moved since still stands there), state,
   * expiresAt, productId, willRenew and checkedAt as in the account's lines, acknowledged, faults (checks in vain in a
   * row), hintedAt, and retiredBy once another took its place. It never goes: a token that nobody knew would be free to claim.
   */
  purchase: (purchase: string) => `{purchase:${purchase}}`,
  /** When each purchase is checked next: a queue. */
  due: 'purchases:due',
};

/**
 * How long a report counts. Nobody verified it, so it is a bridge and no proof: long enough for a weekend without the
 * store's word, short enough that one false report buys little.
 */
export const REPORT_LIFE_MS = 72 * 3_600_000;

export interface SubscriptionFacts {
  /** Those that stand: one that another took the place of is none. */
  purchases?: readonly StoreSubscription[];
  /** What the app last said, and when. */
  report?: { subscribed: boolean; at: number };
}

export const Subscription = z.object({
  subscribed: z.boolean().meta({ description: 'Whether the subscription gives access now, in its grace period too.' }),
  state: z.enum([...storeStates, 'none']),
  source: z.enum(['store', 'report', 'none']).meta({ description: 'Who said so: the store, the app itself, or nobody.' }),
  verified: z.boolean().meta({ description: 'Whether it is the word of the store.' }),
  productId: z.string().optional(),
  expiresAt: z.iso.datetime().optional().meta({ description: 'The end of what is paid for; of a report, when it stops to count.' }),
  willRenew: z.boolean().optional(),
});

/** Of purchases that give no access, the one that tells most: first what the user can set right, last what is over. */
const TELLING: readonly StoreState[] = ['on_hold', 'paused', 'pending', 'expired'];

type Standing = ReturnType<typeof purchaseAt>;

/**
 * Which of two speaks for the account. One that gives access before one that does not; of those that do, one in grace
 * last, as entitlement has it; of those that do not, in the order of TELLING; among equals the one that ends last.
 */
function bySay(one: Standing, other: Standing): number {
  return (
    Number(other.subscribed) - Number(one.subscribed) ||
    (one.subscribed
      ? Number(one.state === 'grace') - Number(other.state === 'grace')
      : TELLING.indexOf(one.state) - TELLING.indexOf(other.state)) ||
    (other.expiresAt ?? 0) - (one.expiresAt ?? 0)
  );
}

/** What the facts come to at `now`. The store's word wins over any report, even where it says no. */
export function subscriptionOf({ purchases = [], report }: SubscriptionFacts, now: number): z.output<typeof Subscription> {
  const [first] = purchases.map((purchase) => purchaseAt(purchase, now)).toSorted(bySay);
  if (first !== undefined) {
    const { subscribed, state, productId, expiresAt, willRenew } = first;
    return {
      subscribed,
      state,
      source: 'store',
      verified: true,
      productId,
      expiresAt: expiresAt === undefined ? undefined : new Date(expiresAt).toISOString(),
      willRenew: willRenew === undefined ? undefined : willRenew && state !== 'expired',
    };
  }
  if (report !== undefined && now < report.at + REPORT_LIFE_MS) {
    const { subscribed } = report;
    const expiresAt = new Date(report.at + REPORT_LIFE_MS).toISOString();
    return { subscribed, state: subscribed ? 'active' : 'none', source: 'report', verified: false, expiresAt };
  }
  return { subscribed: false, state: 'none', source: 'none', verified: false };
}

/** The account's fields that hold its subscription. */
export const subscriptionFields = ['purchases', 'reportedSubscribed', 'reportedAt'] as const;

/** @param reports `ignore`: reports kept from before the setting changed count no more either */
export function subscriptionFactsOf(
  fields: Record<(typeof subscriptionFields)[number], string>,
  reports: 'accept' | 'ignore',
): SubscriptionFacts {
  const facts: SubscriptionFacts = { purchases: purchasesOf(fields.purchases) };
  const reportedAt = timeOf(fields.reportedAt);
  if (reports === 'accept' && reportedAt !== undefined) facts.report = { subscribed: fields.reportedSubscribed === '1', at: reportedAt };
  return facts;
}

/**
 * The account's field `purchases`: a line for each purchase that stands, ten at most,
 * `<hash> <state> <expiresAt|-> <willRenew 0|1|-> <checkedAt> <productId>`. Lines know nothing of each other and have no
 * order; a purchase has one in one account. So two accounts become one by having the lines of both, of two for one hash
 * the one checked last. `purchases.lua` writes them.
 */
export function purchasesOf(field: string): StoreSubscription[] {
  return field.split('\n').flatMap((line) => {
    const [hash = '', state, expiresAt, willRenew, checkedAt, productId = ''] = line.split(' ');
    if (hash === '') return [];
    return {
      state: state as StoreState,
      expiresAt: expiresAt === '-' ? undefined : Number(expiresAt),
      productId,
      willRenew: willRenew === '-' ? undefined : willRenew === '1',
      checkedAt: Number(checkedAt),
    };
  });
}

/** Milliseconds since 1970 as a field of the account holds them. */
export function timeOf(field: string): number | undefined {
  return field === '' ? undefined : Number(field);
}
