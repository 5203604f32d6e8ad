import type { z } from 'zod';
import type { SubscriptionFacts } from '../purchases/subscription/model.ts';
import { purchaseNow, REPORT_LIFE_MS, subscriptionOf } from '../purchases/subscription/subscription-state.ts';
import { trialOf } from '../trial/model.ts';
import { entitlementOf, type Entitlement, type EntitlementFacts } from './model.ts';

type PurchaseOfAccount = NonNullable<SubscriptionFacts['purchases']>[number];

export interface Explanation {
  readonly entitlement: z.output<typeof Entitlement>;
  /**
   * Sentences for an operator: first one for each purchase, then sentences about the report, the gift, the trial and the result. Product
   * ids in these sentences come from the app store.
   */
  readonly because: readonly string[];
}

interface Rules {
  readonly now: number;
  readonly trialDays: number;
  /** The setting SUBSCRIPTION_REPORTS. If it is `ignore`, an app's report does not count. */
  readonly reports: 'accept' | 'ignore';
}

/**
 * Explains the entitlement of an account. `entitlementOf` computes the entitlement, and the sentences show the facts behind the result.
 * @param facts with the app's report, even if SUBSCRIPTION_REPORTS is `ignore`
 */
export function explainEntitlement(facts: EntitlementFacts, { now, trialDays, reports }: Rules): Explanation {
  const { report, ...others } = facts;
  const counted: EntitlementFacts = reports === 'accept' && report !== undefined ? { ...others, report } : others;
  const entitlement = entitlementOf(counted, now, trialDays);
  const { source } = subscriptionOf(counted, now);
  return {
    entitlement,
    because: [
      ...(facts.purchases ?? []).map((purchase) => sentenceOfPurchase(purchase, now)),
      ...(facts.purchases?.length ? [] : ['There is no purchase that the app store confirmed.']),
      ...sentencesOfReport(facts, now, reports),
      ...(facts.giftEndsAt === undefined ? [] : [sentenceOfGift(facts.giftEndsAt, now)]),
      sentenceOfTrial(facts.trialStartedAt, now, trialDays),
      conclusionOf(entitlement, source),
    ],
  };
}

function sentenceOfPurchase(purchase: PurchaseOfAccount, now: number): string {
  const { subscribed, expiresAt } = purchaseNow(purchase, now);
  const paid = purchase.expiresAt === undefined ? 'nothing is paid' : `paid until ${minuteText(purchase.expiresAt)}`;
  const said = `The purchase of ${purchase.productId}: the app store answered ${purchase.state} at ${minuteText(purchase.checkedAt)}, ${paid}.`;
  if (!subscribed) return `${said} It gives no access: ${NO_ACCESS[purchase.state]}.`;
  if (expiresAt === purchase.expiresAt) return `${said} It gives access until then.`;
  return `${said} The renewal is awaited: it gives access until ${minuteText(expiresAt!)}.`;
}

/** The reason why a purchase gives no access, by the state in the app store's last answer. */
const NO_ACCESS: Readonly<Record<PurchaseOfAccount['state'], string>> = {
  active: 'the time that is paid for has ended, and no renewal came',
  grace: 'the time of grace has ended',
  canceled: 'it was cancelled, and the time that is paid for has ended',
  on_hold: 'a payment failed, and the user has to mend it in the app store',
  paused: 'the user paused it in the app store',
  expired: 'it has ended',
  pending: 'its first payment is pending',
};

function sentencesOfReport({ report, purchases = [] }: EntitlementFacts, now: number, reports: Rules['reports']): string[] {
  if (report === undefined) return [];
  const end = report.at + REPORT_LIFE_MS;
  const said = `The app reported at ${minuteText(report.at)} that the user is ${report.subscribed ? '' : 'not '}subscribed.`;
  if (reports === 'ignore') return [`${said} It does not count: SUBSCRIPTION_REPORTS=ignore.`];
  if (purchases.length > 0) return [`${said} It does not count: the app store's answer comes before a report.`];
  return [
    now < end ? `${said} Nobody verified it, and it counts until ${minuteText(end)}.` : `${said} It counted until ${minuteText(end)}.`,
  ];
}

function sentenceOfGift(endsAt: number, now: number): string {
  return `An operator gave it access, which ${now < endsAt ? 'ends' : 'ended'} at ${minuteText(endsAt)}.`;
}

function sentenceOfTrial(startedAt: number | undefined, now: number, trialDays: number): string {
  const { state, startedAt: start = '', expiresAt = '' } = trialOf(startedAt, now, trialDays);
  if (state === 'none') return 'No trial is linked to the account.';
  const [from, to] = [minuteText(Date.parse(start)), minuteText(Date.parse(expiresAt))];
  return `A trial of ${trialDays} days (TRIAL_DAYS) is linked: it began at ${from} and ${state === 'active' ? 'ends' : 'ended'} at ${to}.`;
}

function conclusionOf({ state, expiresAt, source: given }: z.output<typeof Entitlement>, source: 'store' | 'report' | 'none'): string {
  const end = expiresAt === undefined ? '' : ` until ${minuteText(Date.parse(expiresAt))}`;
  switch (state) {
    case 'subscribed':
      return `So it is subscribed, by ${given === 'gift' ? 'a gift' : source === 'store' ? 'a purchase' : 'a report'}, and has access${end}.`;
    case 'grace':
      return `So it is in grace: a payment failed, but the app store still grants access. It has access${end}.`;
    case 'trial':
      return `So it is on trial, and has access${end}.`;
    case 'expired':
      return `So it is expired: it had access, and has none now.${expiresAt === undefined ? '' : ` The last access ended at ${minuteText(Date.parse(expiresAt))}.`}`;
    case 'none':
      return 'So its state is none: it has no access, and never had access by a purchase or a trial.';
  }
}

function minuteText(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
