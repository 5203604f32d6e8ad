import { z } from 'zod';
import { subscriptionFactsOf, subscriptionFields, subscriptionOf, timeOf, type SubscriptionFacts } from '../subscription/model.ts';
import { trialOf } from '../trial/model.ts';

/** All that entitlement follows from. Times are milliseconds since 1970. */
export interface EntitlementFacts extends SubscriptionFacts {
  trialStartedAt?: number;
  firstRunAt?: number;
}

export const FirstRunAt = z.iso.datetime().meta({ description: "When the app ran first, by the server's clock." });

export const Entitlement = z.object({
  state: z.enum(['subscribed', 'grace', 'trial', 'expired', 'none']).meta({ description: 'The first of these that holds.' }),
  access: z.boolean().meta({ description: 'True while subscribed, in grace or on trial.' }),
  expiresAt: z.iso.datetime().optional().meta({ description: 'When this access ends; once expired, when the last one ended.' }),
  firstRunAt: FirstRunAt.optional(),
});

/**
 * The one place where it is decided what a caller may use: of facts and time, and of nothing else. The first that holds:
 * `subscribed` and `grace` by the subscription (the store's word where there is one, else a report), `trial` by the
 * account's own start, `expired` where one of them has been, `none`.
 */
export function entitlementOf(facts: EntitlementFacts, now: number, trialDays: number): z.output<typeof Entitlement> {
  const subscription = subscriptionOf(facts, now);
  const trial = trialOf(facts.trialStartedAt, now, trialDays);
  const firstRunAt = facts.firstRunAt === undefined ? undefined : new Date(facts.firstRunAt).toISOString();
  if (subscription.subscribed) {
    return { state: subscription.state === 'grace' ? 'grace' : 'subscribed', access: true, expiresAt: subscription.expiresAt, firstRunAt };
  }
  if (trial.active) return { state: 'trial', access: true, expiresAt: trial.expiresAt, firstRunAt };
  // A purchase never paid gave no access, and a report nobody verified leaves no trace once it lapsed.
  const paid = (facts.purchases ?? []).map((purchase) => purchase.expiresAt).filter((end) => end !== undefined);
  const ends = trial.expiresAt === undefined ? paid : [...paid, Date.parse(trial.expiresAt)];
  if (ends.length > 0) return { state: 'expired', access: false, expiresAt: latestPast(ends, now), firstRunAt };
  return { state: 'none', access: false, firstRunAt };
}

/** A subscription on hold or paused may name an end to come: that is none that has ended. */
function latestPast(ends: readonly number[], now: number): string | undefined {
  const latest = Math.max(...ends.filter((end) => end <= now));
  return latest === -Infinity ? undefined : new Date(latest).toISOString();
}

/** The account's fields that the facts are read from. */
export const entitlementFields = [...subscriptionFields, 'trialStartedAt', 'firstRunAt'] as const;

export function entitlementFactsOf(
  fields: Record<(typeof entitlementFields)[number], string>,
  reports: 'accept' | 'ignore',
): EntitlementFacts {
  return { ...subscriptionFactsOf(fields, reports), trialStartedAt: timeOf(fields.trialStartedAt), firstRunAt: timeOf(fields.firstRunAt) };
}
