import { z } from 'zod';
import { defineScript } from '../../redis/script.ts';
import type { Caller } from '../../server/caller.ts';
import type { Services } from '../../services.ts';

/**
 * How long a report counts. Nobody verified it, so it is a bridge and no proof: long enough for a weekend without the
 * store's word, short enough that one false report buys little.
 */
export const REPORT_LIFE_MS = 72 * 3_600_000;

export const storeStates = ['active', 'grace', 'on_hold', 'paused', 'canceled', 'expired', 'pending'] as const;

type StoreState = (typeof storeStates)[number];

/** The states in which a subscription is paid for until `expiresAt`. A canceled one only renews no more. */
const PAID: readonly StoreState[] = ['active', 'grace', 'canceled'];

/** What the store last said. Times are milliseconds since 1970. */
export interface StoreSubscription {
  state: StoreState;
  /** Missing where nothing was paid yet. */
  expiresAt?: number;
  productId?: string;
  willRenew?: boolean;
}

export interface SubscriptionFacts {
  store?: StoreSubscription;
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

/** What the facts come to at `now`. The store's word wins over any report, even where it says no. */
export function subscriptionOf({ store, report }: SubscriptionFacts, now: number): z.output<typeof Subscription> {
  if (store !== undefined) {
    const paid = PAID.includes(store.state);
    const subscribed = paid && store.expiresAt !== undefined && now < store.expiresAt;
    const state = paid && !subscribed ? 'expired' : store.state;
    return {
      subscribed,
      state,
      source: 'store',
      verified: true,
      productId: store.productId,
      expiresAt: store.expiresAt === undefined ? undefined : new Date(store.expiresAt).toISOString(),
      willRenew: store.willRenew === undefined ? undefined : store.willRenew && state !== 'expired',
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
export const subscriptionFields = [
  'storeState',
  'storeExpiresAt',
  'storeProductId',
  'storeWillRenew',
  'reportedSubscribed',
  'reportedAt',
] as const;

/** @param reports `ignore`: reports kept from before the setting changed count no more either */
export function subscriptionFactsOf(
  fields: Record<(typeof subscriptionFields)[number], string>,
  reports: 'accept' | 'ignore',
): SubscriptionFacts {
  const facts: SubscriptionFacts = {};
  if (fields.storeState !== '') {
    facts.store = {
      state: fields.storeState as StoreState,
      expiresAt: timeOf(fields.storeExpiresAt),
      productId: fields.storeProductId === '' ? undefined : fields.storeProductId,
      willRenew: fields.storeWillRenew === '' ? undefined : fields.storeWillRenew === '1',
    };
  }
  const reportedAt = timeOf(fields.reportedAt);
  if (reports === 'accept' && reportedAt !== undefined) facts.report = { subscribed: fields.reportedSubscribed === '1', at: reportedAt };
  return facts;
}

/** Milliseconds since 1970 as a field of the account holds them. */
export function timeOf(field: string): number | undefined {
  return field === '' ? undefined : Number(field);
}

const factsScript = defineScript({
  file: new URL('facts.lua', import.meta.url),
  keys: ['account'],
  args: ['fields'],
  answers: ['facts'],
  caller: 'reads',
  readOnly: true,
});

/** Fields of the caller's account, in one round trip. A field that was never set reads as ''. */
export async function readFields<const Field extends string>(
  caller: Caller,
  fields: readonly Field[],
  { scripts }: Services,
): Promise<Record<Field, string>> {
  const [, ...values] = await scripts.runAs(caller, factsScript, { account: caller.accountKey }, { fields: fields.join(' ') });
  return Object.fromEntries(fields.map((field, index) => [field, values[index]])) as Record<Field, string>;
}
