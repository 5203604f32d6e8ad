import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { defineScript } from '../../redis/script.ts';
import type { Scripts } from '../../redis/script-runner.ts';
import type { IssuedSubscription } from './life-cycle.ts';

export const sandboxRedisKeys = {
  keys: '{sandbox:keys}',
  /** A hash: `issued` (JSON of IssuedSubscription) and, once it was acknowledged, `acknowledgedAt`. */
  subscription: (purchaseToken: string) => `{sandbox:subscription:${purchaseToken}}`,
};

/** https://developer.android.com/build/configure-app-module#set-application-id */
export const PackageName = z
  .string()
  .max(150, 'Must be at most 150 characters')
  .regex(/^[A-Za-z]\w*(\.[A-Za-z]\w*)+$/, 'Must be the name of a package such as dev.coinop.sandbox');

/** As the Play Console takes them. */
export const ProductId = z.string().regex(/^[a-z0-9][a-z0-9_.]{0,39}$/, 'Must be 1 to 40 of a-z, 0-9, _ and .');

/** The sandbox's tokens are told from Google's at a glance. */
export function newPurchaseToken(): string {
  return `sandbox.${randomBytes(24).toString('base64url')}`;
}

/** Whether `POST /sandbox/issue` can have given this token. */
export function mayBePurchaseToken(token: string): boolean {
  return /^sandbox\.[\w-]{32}$/.test(token);
}

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

/** Past the end of what was issued: well past the 60 days that the store tells of it, and a year of renewals. */
const KEPT_SECONDS = 400 * DAY_SECONDS;

export interface KeptSubscription {
  readonly issued: IssuedSubscription;
  readonly acknowledged: boolean;
}

export async function readSubscription(scripts: Scripts, purchaseToken: string): Promise<KeptSubscription | undefined> {
  const [word, json, acknowledged] = await scripts.run(readScript, { subscription: sandboxRedisKeys.subscription(purchaseToken) }, {});
  if (word === 'unknown') return undefined;
  return { issued: JSON.parse(json!) as IssuedSubscription, acknowledged: acknowledged === '1' };
}

export async function keepSubscription(scripts: Scripts, purchaseToken: string, issued: IssuedSubscription, now: number): Promise<void> {
  const lastsSeconds = Math.max(0, Math.ceil((issued.until - now + issued.graceMs) / 1000));
  await scripts.run(
    keepScript,
    { subscription: sandboxRedisKeys.subscription(purchaseToken) },
    { issued: JSON.stringify(issued), keptSeconds: lastsSeconds + KEPT_SECONDS },
  );
}

export async function acknowledgeSubscription(scripts: Scripts, purchaseToken: string, now: number): Promise<void> {
  await scripts.run(acknowledgeScript, { subscription: sandboxRedisKeys.subscription(purchaseToken) }, { now });
}
