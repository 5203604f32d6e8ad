import { backoffMs } from '../../journal/backoff.ts';
import { afterWrites } from '../../redis/script-runner.ts';
import { defineScript } from '../../redis/script.ts';
import type { Services, ScriptServices } from '../../declare.ts';
import { nextCheckAt, UNACKNOWLEDGED_MS } from './check-schedule.ts';
import { finishPurchase } from './finish-purchase.ts';
import type { StorePurchase, Subscriptions } from '../../stores/store.ts';
import { subscriptionKeys } from './model.ts';
import { todoPrelude } from './purchase-document.ts';
import { needsAcknowledgement } from './purchase-expiry.ts';
import { purchaseHash } from './purchase-token.ts';

/** The arguments of a purchase's state, in the order of both scripts that record it. `purchaseArguments` has their values. */
export const stateArguments = ['state', 'expiresAt', 'willRenew', 'productId', 'checkedAt', 'acknowledged', 'dueAt', 'retires'] as const;

export const updateScript = defineScript({
  file: new URL('update-purchase.lua', import.meta.url),
  keys: ['purchase'],
  args: ['now', ...stateArguments, 'faults', 'act'],
  answers: ['updated', 'stale', 'retired'],
  prelude: todoPrelude,
  durable: true,
});

/** A purchase as the scripts take it: `-` for undefined, 0 or 1 for a boolean. */
export function purchaseArguments(purchase: StorePurchase, dueAt: number | undefined) {
  const { state, expiresAt, willRenew, productId, checkedAt, acknowledged, linkedToken, retires } = purchase;
  return {
    state,
    expiresAt: expiresAt ?? '-',
    willRenew: willRenew === undefined ? '-' : Number(willRenew),
    productId,
    checkedAt,
    acknowledged: Number(acknowledged),
    dueAt: dueAt ?? '',
    retires: retires && linkedToken !== undefined ? purchaseHash(linkedToken) : '',
  };
}

/**
 * Records the app store's answer with the time of the next check, and lets the owner's account follow. The queue has to hold
 * the purchase already.
 * @param faults consecutive checks that failed or left the purchase unacknowledged
 * @param act of `queued`; '' for a check that the queue started
 * @returns the time of the next check; undefined: there is none
 */
export async function updatePurchase(
  hash: string,
  purchase: StorePurchase,
  { faults, act }: { readonly faults: number; readonly act: string },
  services: ScriptServices,
): Promise<number | undefined> {
  const { scripts, now } = services;
  const soon = faults > 0 ? now() + backoffMs(faults) : Infinity;
  const next = Math.min(nextCheckAt(purchase, now()) ?? Infinity, soon);
  const args = { now: now(), ...purchaseArguments(purchase, next === Infinity ? undefined : next), faults, act };
  const [word, dueAt = ''] = await scripts.run(updateScript, { purchase: subscriptionKeys.purchase(hash) }, args);
  // The purchase of a deleted account was released.
  if (word !== 'stale' && (await finishPurchase(hash, services)) === undefined) return undefined;
  return dueAt === '' ? undefined : Number(dueAt);
}

/** When a purchase that is being recorded is due for its first check: soon if it has to be acknowledged, and this process may die before. */
export function firstCheckAt(purchase: StorePurchase, now: number): number | undefined {
  return needsAcknowledgement(purchase, now) ? now + UNACKNOWLEDGED_MS : nextCheckAt(purchase, now);
}

export interface JustRecorded {
  readonly hash: string;
  readonly token: string;
  readonly purchase: StorePurchase;
  /** The act of `queued` that recorded it. */
  readonly act: string;
  readonly traceparent?: string | undefined;
}

/**
 * Lets other keys follow a purchase that was just recorded for an account, and acknowledges it where the app store waits for that.
 * @returns the time of the next check; undefined: there is none
 */
export async function acknowledgeRecorded(
  { hash, token, purchase, act, traceparent }: JustRecorded,
  services: ScriptServices & Pick<Services, 'log'> & { readonly subscriptions: Subscriptions },
): Promise<number | undefined> {
  const { packageName, productId } = purchase;
  const document = await afterWrites(finishPurchase(hash, services));
  if (document === undefined || !needsAcknowledgement(purchase, services.now())) return document?.dueAt;
  if (!(await services.subscriptions.acknowledge({ packageName, productId, token }, traceparent))) return document.dueAt;
  // If this fails, the next check learns from the app store that the purchase is acknowledged.
  return updatePurchase(hash, { ...purchase, acknowledged: true }, { faults: 0, act }, services).catch((error: unknown) => {
    services.log.debug(
      { reason: (error as Error).message },
      'the acknowledgement of a purchase could not be recorded: the next check records it',
    );
    return document.dueAt;
  });
}
