import { backoffMs } from '../../journal/backoff.ts';
import { defineScript } from '../../redis/script.ts';
import type { Services } from '../../declare.ts';
import { nextCheckAt } from './check-schedule.ts';
import { finishPurchase } from './finish-purchase.ts';
import type { StorePurchase } from '../../stores/store.ts';
import { subscriptionKeys } from './model.ts';
import { purchaseHash } from './purchase-token.ts';

/** Lua functions for every script that changes a purchase. */
export const todoPrelude = new URL('purchase-todo.lua', import.meta.url);

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
  parts: Pick<Services, 'scripts' | 'now'>,
): Promise<number | undefined> {
  const { scripts, now } = parts;
  const soon = faults > 0 ? now() + backoffMs(faults) : Infinity;
  const next = Math.min(nextCheckAt(purchase, now()) ?? Infinity, soon);
  const args = { now: now(), ...purchaseArguments(purchase, next === Infinity ? undefined : next), faults, act };
  const [word, dueAt = ''] = await scripts.run(updateScript, { purchase: subscriptionKeys.purchase(hash) }, args);
  // The purchase of a deleted account was released.
  if (word !== 'stale' && (await finishPurchase(hash, parts)) === undefined) return undefined;
  return dueAt === '' ? undefined : Number(dueAt);
}
