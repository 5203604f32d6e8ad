import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { sandboxRedisKeys } from './model.ts';
import type { IssuedSubscription } from './subscription-lifecycle.ts';

export const keepScript = defineScript({
  file: new URL('keep-subscription.lua', import.meta.url),
  keys: ['subscription'],
  args: ['issued', 'keptSeconds'],
  answers: ['kept'],
});

export const readScript = defineScript({
  file: new URL('read-subscription.lua', import.meta.url),
  keys: ['subscription'],
  args: [],
  answers: ['issued', 'unknown'],
  readOnly: true,
});

export const acknowledgeScript = defineScript({
  file: new URL('acknowledge-subscription.lua', import.meta.url),
  keys: ['subscription'],
  args: ['now'],
  answers: ['acknowledged', 'unknown'],
});

const DAY_SECONDS = 86_400;

/**
 * Seconds for which a record is kept after the end of its state: longer than the 60 days in which the store's API answers for it, and
 * longer than a year of renewals.
 */
const KEPT_SECONDS = 400 * DAY_SECONDS;

export interface KeptSubscription {
  readonly issued: IssuedSubscription;
  readonly acknowledged: boolean;
}

export async function readSubscription(scripts: ScriptRunner, purchaseToken: string): Promise<KeptSubscription | undefined> {
  const [word, json, acknowledged] = await scripts.run(readScript, { subscription: sandboxRedisKeys.subscription(purchaseToken) }, {});
  if (word === 'unknown') return undefined;
  return { issued: JSON.parse(json!) as IssuedSubscription, acknowledged: acknowledged === '1' };
}

export async function keepSubscription(
  scripts: ScriptRunner,
  purchaseToken: string,
  issued: IssuedSubscription,
  now: number,
): Promise<void> {
  const lastsSeconds = Math.max(0, Math.ceil((issued.until - now + issued.graceMs) / 1000));
  await scripts.run(
    keepScript,
    { subscription: sandboxRedisKeys.subscription(purchaseToken) },
    { issued: JSON.stringify(issued), keptSeconds: lastsSeconds + KEPT_SECONDS },
  );
}

export async function acknowledgeSubscription(scripts: ScriptRunner, purchaseToken: string, now: number): Promise<void> {
  await scripts.run(acknowledgeScript, { subscription: sandboxRedisKeys.subscription(purchaseToken) }, { now });
}
