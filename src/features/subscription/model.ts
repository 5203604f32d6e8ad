import { hash } from 'node:crypto';
import { z } from 'zod';
import { defineScript } from '../../redis/script.ts';
import type { Services } from '../../declare.ts';

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

/** 132 bits of its SHA-256: what a token does, its name in keys and logs does not. */
export function purchaseHash(token: string): string {
  return hash('sha256', `coinop:purchase:${token}`, 'base64url').slice(0, 22);
}

/**
 * It becomes a part of the store's address, where nothing escapes one dot or two: they would lead to another page of the
 * store, and what that says be taken for a store that fails.
 */
export const PurchaseToken = z
  .string()
  .regex(/^(?!\.{1,2}$)[\x21-\x7e]{1,1024}$/, 'Must be 1 to 1024 visible ASCII characters')
  .meta({ description: 'The token that the store gave the app with the purchase.' });

export const schedulePurchase = defineScript({
  file: new URL('schedule-purchase.lua', import.meta.url),
  keys: ['purchase', 'due'],
  args: ['hash', 'dueAt', 'faults', 'hintedAt'],
  answers: ['scheduled', 'unknown'],
});

/** Has a purchase checked at once, for something about it may have changed. Answers whether it is one that stands here. */
export async function checkSoon(token: string, { scripts, now }: Pick<Services, 'scripts' | 'now'>): Promise<boolean> {
  const purchase = purchaseHash(token);
  const keys = { purchase: subscriptionKeys.purchase(purchase), due: subscriptionKeys.due };
  const [word] = await scripts.run(schedulePurchase, keys, { hash: purchase, dueAt: now(), faults: 0, hintedAt: now() });
  return word === 'scheduled';
}

/**
 * How long a report counts. Nobody verified it, so it is a bridge and no proof: long enough for a weekend without the
 * store's word, short enough that one false report buys little.
 */
export const REPORT_LIFE_MS = 72 * 3_600_000;

/**
 * How long a subscription that was to renew counts past its end while the store was not asked since: the check is a
 * queue's work and the store may be away, and neither should lock out who goes on paying. Within a day the service or
 * the store is back or somebody has seen the alarm; and a day is all that a renewal which failed can gain.
 */
export const RENEWAL_LEEWAY_MS = 24 * 3_600_000;

/**
 * How long one that renews counts past its end where the store, asked just then, still says active: it renews at about
 * that moment, and clocks differ.
 */
export const RENEWAL_MOMENT_MS = 2 * 60_000;

export const storeStates = ['active', 'grace', 'on_hold', 'paused', 'canceled', 'expired', 'pending'] as const;

export type StoreState = (typeof storeStates)[number];

/** The states in which a subscription is paid for until `expiresAt`. A canceled one only renews no more. */
const PAID: readonly StoreState[] = ['active', 'grace', 'canceled'];

/** What the store last said of one purchase. Times are milliseconds since 1970. */
export interface StoreSubscription {
  readonly state: StoreState;
  /** Undefined where nothing was paid yet. */
  readonly expiresAt: number | undefined;
  readonly productId: string;
  /** Undefined of one that nobody could renew: prepaid. */
  readonly willRenew: boolean | undefined;
  /** When the store was asked. */
  readonly checkedAt: number;
}

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

/** When a purchase stops to give access; undefined where it gives none, whatever the time. */
function accessEnd({ state, expiresAt, willRenew, checkedAt }: StoreSubscription, now: number): number | undefined {
  if (!PAID.includes(state) || expiresAt === undefined) return undefined;
  if (now < expiresAt || state === 'canceled' || willRenew !== true) return expiresAt;
  if (checkedAt < expiresAt) return expiresAt + RENEWAL_LEEWAY_MS;
  return checkedAt < expiresAt + RENEWAL_MOMENT_MS ? expiresAt + RENEWAL_MOMENT_MS : expiresAt;
}

/** Whether a purchase gives access at `now`. */
export function entitles(purchase: StoreSubscription, now: number): boolean {
  return now < (accessEnd(purchase, now) ?? -Infinity);
}

/** Of purchases that give no access, the one that tells most: first what the user can set right, last what is over. */
const TELLING: readonly StoreState[] = ['on_hold', 'paused', 'pending', 'expired'];

/** The purchase as it stands at `now`: what is paid for no more has expired. */
function standing(purchase: StoreSubscription, now: number) {
  const end = accessEnd(purchase, now);
  const subscribed = end !== undefined && now < end;
  const state = PAID.includes(purchase.state) && !subscribed ? 'expired' : purchase.state;
  return { ...purchase, subscribed, state, expiresAt: subscribed ? end : purchase.expiresAt };
}

type Standing = ReturnType<typeof standing>;

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
  const [first] = purchases.map((purchase) => standing(purchase, now)).toSorted(bySay);
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
