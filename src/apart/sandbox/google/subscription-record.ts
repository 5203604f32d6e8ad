import type { ScriptRunner } from '../../../redis/script-runner.ts';
import { keepIssued, finishIssued, readIssued, type KeptRecord } from '../issued-record.ts';
import { sandboxRedisKeys } from '../model.ts';
import type { IssuedSubscription } from './subscription-lifecycle.ts';

const DAY_SECONDS = 86_400;

/**
 * Seconds for which Redis keeps a record after the end of its state: longer than the 60 days for which the store's API answers about it,
 * and longer than a year of renewals.
 */
const KEPT_SECONDS = 400 * DAY_SECONDS;

/** Finished: the purchase was acknowledged. */
export type KeptSubscription = KeptRecord<IssuedSubscription>;

export function readSubscription(scripts: ScriptRunner, purchaseToken: string): Promise<KeptSubscription | undefined> {
  return readIssued(scripts, sandboxRedisKeys.subscription(purchaseToken), 'acknowledgedAt');
}

export async function keepSubscription(
  scripts: ScriptRunner,
  purchaseToken: string,
  issued: IssuedSubscription,
  now: number,
): Promise<void> {
  const lastsSeconds = Math.max(0, Math.ceil((issued.until - now + issued.graceMs) / 1000));
  const kept = { seen: '*', keptSeconds: lastsSeconds + KEPT_SECONDS };
  await keepIssued(scripts, sandboxRedisKeys.subscription(purchaseToken), issued, kept);
}

export function acknowledgeSubscription(scripts: ScriptRunner, purchaseToken: string): Promise<void> {
  return finishIssued(scripts, sandboxRedisKeys.subscription(purchaseToken), 'acknowledgedAt');
}
