import { defineScript } from '../../redis/script.ts';
import type { Services } from '../../declare.ts';
import { backoffMs, nextCheckAt } from './check-schedule.ts';
import type { StorePurchase } from './google-play.ts';
import { subscriptionKeys } from './model.ts';
import { purchaseHash } from './purchase-token.ts';

/** Lua functions for every script that changes the purchases of an account. */
export const purchasesPrelude = new URL('account-purchases.lua', import.meta.url);

/** The arguments of a purchase's state, in the order of both scripts that record it. `purchaseArguments` has their values. */
export const stateArguments = ['state', 'expiresAt', 'willRenew', 'productId', 'checkedAt', 'acknowledged'] as const;

export const updateScript = defineScript({
  file: new URL('update-purchase.lua', import.meta.url),
  keys: ['purchase', 'linked', 'due'],
  args: ['hash', 'now', ...stateArguments, 'faults', 'dueAt', 'linkedHash', 'retires'],
  answers: ['updated', 'stale', 'retired'],
  prelude: purchasesPrelude,
});

/** A purchase as the scripts take it: `-` for undefined, 0 or 1 for a boolean. */
export function purchaseArguments(purchase: StorePurchase) {
  const { state, expiresAt, willRenew, productId, checkedAt, acknowledged, linkedToken, retires } = purchase;
  return {
    state,
    expiresAt: expiresAt ?? '-',
    willRenew: willRenew === undefined ? '-' : Number(willRenew),
    productId,
    checkedAt,
    acknowledged: Number(acknowledged),
    linkedHash: linkedToken === undefined ? '' : purchaseHash(linkedToken),
    retires: Number(retires),
  };
}

/** `linked` is the key of the purchase that this one replaces; of a purchase that replaces none it is the purchase's own key. */
export function purchaseKeysOf(hash: string, { linkedToken }: Pick<StorePurchase, 'linkedToken'>) {
  const { purchase, due } = subscriptionKeys;
  return { purchase: purchase(hash), linked: purchase(linkedToken === undefined ? hash : purchaseHash(linkedToken)), due };
}

/**
 * Records the app store's answer and schedules the next check.
 * @param faults consecutive checks that failed or left the purchase unacknowledged
 * @returns the time of the next check; undefined: there is none, or a later answer has set it
 */
export async function updatePurchase(
  hash: string,
  purchase: StorePurchase,
  faults: number,
  { scripts, now }: Pick<Services, 'scripts' | 'now'>,
): Promise<number | undefined> {
  const soon = faults > 0 ? now() + backoffMs(faults) : Infinity;
  const next = Math.min(nextCheckAt(purchase, now()) ?? Infinity, soon);
  const args = { hash, now: now(), ...purchaseArguments(purchase), faults, dueAt: next === Infinity ? '' : next };
  const [word, dueAt = ''] = await scripts.run(updateScript, purchaseKeysOf(hash, purchase), args);
  return word === 'updated' && dueAt !== '' ? Number(dueAt) : undefined;
}
