import { z } from 'zod';
import { heldFields, isoTime, timeOf } from '../../accounts/merge-rules.ts';
import { subscriptionFactsOf, subscriptionFields, type SubscriptionFacts } from '../purchases/subscription/model.ts';
import { subscriptionChanges, subscriptionOf } from '../purchases/subscription/subscription-state.ts';
import { trialFields, trialOf } from '../trial/model.ts';

/** The facts that decide an entitlement. Times are milliseconds since 1970. */
export interface EntitlementFacts extends SubscriptionFacts {
  trialStartedAt?: number;
  /** The end of the access that an operator gave. */
  giftEndsAt?: number;
  firstRunAt?: number;
}

export const FirstRunAt = z.iso.datetime().meta({ description: "Time of the app's first run, by the server's clock." });

export const Entitlement = z.object({
  state: z.enum(['subscribed', 'grace', 'trial', 'expired', 'none']).meta({ description: 'The first of these that holds.' }),
  access: z.boolean().meta({ description: 'True while subscribed, in grace or on trial.' }),
  expiresAt: z.iso.datetime().optional().meta({ description: 'When the access ends. In state `expired`: when the last access ended.' }),
  firstRunAt: FirstRunAt.optional(),
  source: z
    .enum(['gift'])
    .optional()
    .meta({ description: '`gift`: people who run the service gave this access. Left out: it comes from a purchase, a report or a trial.' }),
});

/**
 * Computes the entitlement of an account, from its arguments alone. No other code computes it. The state is the first in this list that
 * holds:
 * - `subscribed`, `grace`: by the subscription (the app store's state if there is one, else a report), or by access that an operator gave
 * - `trial`: by the start of the account's trial
 * - `expired`: the account had a paid purchase, a gift or a trial
 * - `none`
 */
export function entitlementOf(facts: EntitlementFacts, now: number, trialDays: number): z.output<typeof Entitlement> {
  const subscription = subscriptionOf(facts, now);
  const trial = trialOf(facts.trialStartedAt, now, trialDays);
  const firstRunAt = isoTime(facts.firstRunAt);
  const gift = facts.giftEndsAt !== undefined && now < facts.giftEndsAt ? isoTime(facts.giftEndsAt) : undefined;
  // A gift counts unless a subscription ends later. A subscription without an end lasts longer than any gift. If the subscription is in
  // grace, the gift counts in any case.
  const isGift =
    gift !== undefined && !(subscription.subscribed && subscription.state !== 'grace' && (subscription.expiresAt ?? gift) >= gift);
  if (isGift) {
    const expiresAt = subscription.subscribed && (subscription.expiresAt ?? gift) > gift ? subscription.expiresAt : gift;
    return { state: 'subscribed', access: true, expiresAt, firstRunAt, source: 'gift' };
  }
  if (subscription.subscribed) {
    return { state: subscription.state === 'grace' ? 'grace' : 'subscribed', access: true, expiresAt: subscription.expiresAt, firstRunAt };
  }
  if (trial.active) return { state: 'trial', access: true, expiresAt: trial.expiresAt, firstRunAt };
  // Only a purchase with an expiry was paid, so only such a purchase ever gave access. A report that has ended is ignored, because nobody
  // verified it.
  const paid = (facts.purchases ?? []).map((purchase) => purchase.expiresAt).filter((end) => end !== undefined);
  const given = [trial.expiresAt === undefined ? undefined : Date.parse(trial.expiresAt), facts.giftEndsAt];
  const ends = [...paid, ...given.filter((end) => end !== undefined)];
  if (ends.length > 0) return { state: 'expired', access: false, expiresAt: latestPast(ends, now), firstRunAt };
  return { state: 'none', access: false, firstRunAt };
}

/**
 * The time at which the entitlement will change by itself, because a trial or an access ends, in milliseconds since 1970. Infinity if it
 * never will.
 */
export function nextChangeOf(facts: EntitlementFacts, now: number, trialDays: number): number {
  const { expiresAt: trialEnd } = trialOf(facts.trialStartedAt, now, trialDays);
  const candidates = [...subscriptionChanges(facts), facts.giftEndsAt, trialEnd === undefined ? undefined : Date.parse(trialEnd)];
  const textAt = (at: number): string => JSON.stringify(entitlementOf(facts, at, trialDays));
  const text = textAt(now);
  const later = candidates.filter((at) => at !== undefined && at > now && textAt(at) !== text) as number[];
  return Math.min(...later);
}

/** The latest of the ends that are in the past. Some ends may be in the future, as that of a subscription that is on hold or paused. */
function latestPast(ends: readonly number[], now: number): string | undefined {
  const latest = Math.max(...ends.filter((end) => end <= now));
  return latest === -Infinity ? undefined : new Date(latest).toISOString();
}

export const firstRunFields = heldFields('earlier', 'firstRunAt');

/**
 * Fields of the account's hash about access that an operator gave: the end of the access, the time of the gift, the operator and the
 * reason.
 */
export const giftFields = heldFields('later', 'giftEndsAt', 'giftGivenAt', 'giftBy', 'giftReason');

/** The fields of the account's hash that `entitlementFactsOf` needs. */
export const entitlementFields = [...subscriptionFields, ...trialFields.names, ...firstRunFields.names, 'giftEndsAt'] as const;

export function entitlementFactsOf(
  fields: Record<(typeof entitlementFields)[number], string>,
  reports: 'accept' | 'ignore',
): EntitlementFacts {
  return {
    ...subscriptionFactsOf(fields, reports),
    trialStartedAt: timeOf(fields.trialStartedAt),
    giftEndsAt: timeOf(fields.giftEndsAt),
    firstRunAt: timeOf(fields.firstRunAt),
  };
}
