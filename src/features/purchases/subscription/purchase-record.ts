import { backoffMs } from '../../../journal/backoff.ts';
import { afterWrites } from '../../../redis/script-runner.ts';
import { purchaseScript } from '../core/purchase-script.ts';
import type { Services, ScriptServices } from '../../../declare.ts';
import { nextCheckAt, UNACKNOWLEDGED_MS } from '../core/check-schedule.ts';
import { finishPurchase } from './finish-purchase.ts';
import type { StorePurchase, Subscriptions } from '../../../stores/store.ts';
import { FIRST_STORE, type StoreName } from '../../../stores/stores.ts';
import { purchaseHash } from '../core/purchase-ids.ts';
import { subscriptionKeys } from './model.ts';
import { todoPrelude } from './purchase-document.ts';
import { needsAcknowledgement } from './purchase-expiry.ts';

/**
 * The arguments that describe a purchase's state, in the order in which the scripts that record a purchase take them. `purchaseArguments`
 * gives their values.
 */
export const stateArguments = [
  'state',
  'expiresAt',
  'willRenew',
  'productId',
  'checkedAt',
  'acknowledged',
  'test',
  'dueAt',
  'retires',
] as const;

export const updateScript = purchaseScript(
  new URL('update-purchase.lua', import.meta.url),
  ['now', ...stateArguments, 'faults', 'act'],
  ['updated', 'stale', 'retired'],
  { prelude: todoPrelude },
);

/** A purchase as arguments of a script: `-` for undefined, 0 or 1 for a boolean. */
export function purchaseArguments(store: StoreName, purchase: StorePurchase, dueAt: number | undefined) {
  const { state, expiresAt, willRenew, productId, checkedAt, acknowledged, isTest, linkedId, retires } = purchase;
  return {
    state,
    expiresAt: expiresAt ?? '-',
    willRenew: willRenew === undefined ? '-' : Number(willRenew),
    productId,
    checkedAt,
    acknowledged: Number(acknowledged),
    test: Number(isTest),
    dueAt: dueAt ?? '',
    retires: retires && linkedId !== undefined ? purchaseHash(linkedId, store) : '',
  };
}

/**
 * Records the app store's answer and the time of the next check, and updates the line in the owner's account. The purchase must be in the
 * queue before the call.
 * @param faults checks in a row that failed or left the purchase unacknowledged
 * @param act the name that `queued` gave; '' for a check that the queue started
 * @returns when the next check is due, in milliseconds since 1970; undefined: never
 */
export async function updatePurchase(
  hash: string,
  { store, purchase }: Answered,
  { faults, act }: { readonly faults: number; readonly act: string },
  services: ScriptServices,
): Promise<number | undefined> {
  const { scripts, now } = services;
  const soon = faults > 0 ? now() + backoffMs(faults) : Infinity;
  const next = Math.min(nextCheckAt(purchase, now()) ?? Infinity, soon);
  const args = { now: now(), ...purchaseArguments(store, purchase, next === Infinity ? undefined : next), faults, act };
  const [word, dueAt = ''] = await scripts.run(updateScript, { purchase: subscriptionKeys.purchase(hash) }, args);
  // `finishPurchase` found that the owner was deleted, and has forgotten the purchase.
  if (word !== 'stale' && (await finishPurchase(hash, services)) === undefined) return undefined;
  return dueAt === '' ? undefined : Number(dueAt);
}

/**
 * The time of the first check of a purchase that is now being recorded. If the purchase has to be acknowledged, the check is due soon,
 * because this process may die before it acknowledges the purchase.
 */
export function firstCheckAt(purchase: StorePurchase, now: number): number | undefined {
  return needsAcknowledgement(purchase, now) ? now + UNACKNOWLEDGED_MS : nextCheckAt(purchase, now);
}

/** A store's answer about a purchase. */
export interface Answered {
  readonly store: StoreName;
  readonly purchase: StorePurchase;
}

/** The fields of the record that name the purchase to its store. */
export const namedArguments = ['store', 'token', 'packageName'] as const;

export function namedIn({
  store,
  purchase: { id, packageName },
}: {
  readonly store: StoreName;
  readonly purchase: Pick<StorePurchase, 'id' | 'packageName'>;
}) {
  return { store: store === FIRST_STORE ? '' : store, token: id, packageName };
}

export interface JustRecorded extends Answered {
  readonly hash: string;
  /** The name of the change that recorded the purchase. The function `queued` made this name. */
  readonly act: string;
  readonly traceparent?: string | undefined;
}

/**
 * Finishes a purchase that was just recorded for an account: writes the account's line, and acknowledges the purchase if the app store
 * waits for that.
 * @returns when the next check is due, in milliseconds since 1970; undefined: never
 */
export async function acknowledgeRecorded(
  { hash, store, purchase, act, traceparent }: JustRecorded,
  services: ScriptServices & Pick<Services, 'log'> & { readonly subscriptions: Subscriptions },
): Promise<number | undefined> {
  const { id, packageName, productId } = purchase;
  const document = await afterWrites(finishPurchase(hash, services));
  if (document === undefined || !needsAcknowledgement(purchase, services.now())) return document?.dueAt;
  if (!(await services.subscriptions.acknowledge({ id, packageName, sku: productId }, traceparent))) return document.dueAt;
  // If this update fails, the next check learns from the app store that the purchase is acknowledged.
  const answered = { store, purchase: { ...purchase, acknowledged: true } };
  return updatePurchase(hash, answered, { faults: 0, act }, services).catch((error: unknown) => {
    services.log.debug(
      { reason: (error as Error).message },
      'the acknowledgement of a purchase could not be recorded: the next check records it',
    );
    return document.dueAt;
  });
}
