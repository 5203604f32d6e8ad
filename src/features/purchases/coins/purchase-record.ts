import { defineLibrary, defineScript } from '../../../redis/script.ts';
import { purchaseScript } from '../core/purchase-script.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import type { Parts } from '../../../redis/unreadable.ts';
import type { ProductPurchase } from '../../../stores/store.ts';
import type { StoreName } from '../../../stores/stores.ts';
import { readFields } from '../core/purchase-fields.ts';
import { documentOf, MOST_MOVES, purchaseKeys, type Moved, type PurchaseDocument } from './model.ts';

const bookingPrelude = defineLibrary(new URL('purchase-coins.lua', import.meta.url));

export const recordScript = purchaseScript(
  new URL('record-with-price.lua', import.meta.url),
  [
    ...(['ownerSeen', 'owner', 'store', 'id', 'packageName', 'sku', 'productId', 'unitCoins', 'state', 'quantity', 'refunded'] as const),
    ...(['orderId', 'buyer', 'finished', 'test', 'checkedAt', 'act'] as const),
  ],
  ['recorded', 'changed'],
  { prelude: bookingPrelude },
);

export const bookedEntryScript = purchaseScript(
  new URL('record-booked-entry.lua', import.meta.url),
  ['number', 'coins', 'balanceAfter'],
  ['booked', 'stale', 'unknown'],
  { prelude: bookingPrelude },
);

export const voidScript = purchaseScript(new URL('note-listed-refund.lua', import.meta.url), ['act'], ['done', 'unknown'], {
  prelude: bookingPrelude,
});

export const grantReportScript = purchaseScript(new URL('record-grant-report.lua', import.meta.url), ['finished'], ['done']);

export const deletedOwnerScript = purchaseScript(new URL('drop-deleted-owner.lua', import.meta.url), ['owner'], ['released', 'kept']);

/** Notes the time at which the store asked how a purchase's coins were used. Answers noted, unknown. */
const useAskedScript = defineScript({
  name: 'purchases/note-use-asked',
  lua: `if redis.call('EXISTS', purchase) == 0 then return {'unknown'} end
    redis.call('HSET', purchase, 'useAskedAt', at)
    return {'noted'}`,
  keys: ['purchase'],
  args: ['at'],
  answers: ['noted', 'unknown'],
  durable: true,
});

/** Removes the note of the store's question, unless the store has asked again. Answers done. */
const useToldScript = defineScript({
  name: 'purchases/forget-use-asked',
  lua: `if redis.call('HGET', purchase, 'useAskedAt') == at then redis.call('HDEL', purchase, 'useAskedAt') end
    return {'done'}`,
  keys: ['purchase'],
  args: ['at'],
  answers: ['done'],
  durable: true,
});

const moveScript = purchaseScript(
  new URL('move-purchase.lua', import.meta.url),
  ['ownerSeen', 'owner', 'key', 'by', 'reason', 'act', 'mostMoves'],
  ['moved', 'replayed', 'key_reused', 'busy', 'changed', 'full', 'unknown'],
  { prelude: bookingPrelude },
);

export const movedEntryScript = purchaseScript(new URL('record-moved-entry.lua', import.meta.url), ['booked', 'taken'], ['recorded'], {
  prelude: bookingPrelude,
});

/** The keys of each script of this file. */
export const keysOf = (purchaseId: string) => ({ purchase: purchaseKeys.purchase(purchaseId) });

/** The record of a purchase in the answer of a script of this file. Undefined if the purchase has no record. */
export function documentIn([, ...words]: readonly string[]): PurchaseDocument | undefined {
  return words.length === 0 ? undefined : documentOf(words);
}

export async function readPurchase(purchaseId: string, scripts: ScriptRunner): Promise<PurchaseDocument | undefined> {
  const found = await readFields(purchaseKeys.purchase(purchaseId), scripts);
  return found && documentOf(found);
}

export interface FoundPurchase {
  readonly purchaseId: string;
  readonly document: PurchaseDocument;
}

/** The name of a purchase as the audit has it. */
export const nameOfPurchase = (purchaseId: string): string => `coin-purchase ${purchaseId}`;

/**
 * Reads purchases. Purchases without a record are not in the result.
 * @param parts notes the purchases whose records are damaged, which are left out
 */
export function readPurchases(purchaseIds: readonly string[], scripts: ScriptRunner, parts: Parts): Promise<FoundPurchase[]> {
  return parts.readEach(purchaseIds, nameOfPurchase, async (purchaseId) => {
    const document = await readPurchase(purchaseId, scripts);
    return document && { purchaseId, document };
  });
}

interface Recording {
  readonly store: StoreName;
  readonly purchase: ProductPurchase;
  /**
   * The owner in the record when the purchase was read, or '' for a new purchase. If the owner has changed since then, nothing is recorded.
   */
  readonly ownerSeen: string;
  readonly owner: string;
  /**
   * The product in the catalogue. Undefined if the catalogue lacks it. Without the product this call cannot grant the purchase, but an
   * earlier call may have granted it.
   */
  readonly product: { readonly productId: string; readonly coins: number } | undefined;
  /** The id of the change in the queue's entry (`journal/`), or '' for a check that the queue started. */
  readonly act: string;
}

/** Records the app store's answer. @returns undefined if the owner has changed. `isGranting`: whether this call grants the purchase */
export async function recordPurchase(
  purchaseId: string,
  { store, purchase, ownerSeen, owner, product, act }: Recording,
  scripts: ScriptRunner,
): Promise<{ readonly document: PurchaseDocument; readonly isGranting: boolean } | undefined> {
  const { id, packageName, sku, state, quantity, refundedQuantity, orderId, buyer, isFinished, isTest, checkedAt } = purchase;
  const [word, isGranting, ...words] = await scripts.run(recordScript, keysOf(purchaseId), {
    ...{ ownerSeen, owner, store, id, packageName, sku, state, quantity, checkedAt, act },
    productId: product?.productId ?? '',
    unitCoins: product?.coins ?? '',
    refunded: refundedQuantity ?? '',
    orderId: orderId ?? '',
    buyer: buyer ?? '',
    finished: Number(isFinished),
    test: Number(isTest),
  });
  return word === 'changed' ? undefined : { document: documentOf(words), isGranting: isGranting === '1' };
}

/**
 * Records whether the store accepted the report of the grant. @returns the number of failed calls to the store in a row: checks and reports
 */
export async function recordFinished(purchaseId: string, isFinished: boolean, scripts: ScriptRunner): Promise<number> {
  const [, faults] = await scripts.run(grantReportScript, keysOf(purchaseId), { finished: Number(isFinished) });
  return Number(faults);
}

/** Notes that the store asked how a purchase's coins were used. The next check of the purchase answers the store. */
export async function noteUseAsked(purchaseId: string, at: number, scripts: ScriptRunner): Promise<void> {
  await scripts.run(useAskedScript, keysOf(purchaseId), { at });
}

/** @param at when the store asked */
export async function forgetUseAsked(purchaseId: string, at: number, scripts: ScriptRunner): Promise<void> {
  await scripts.run(useToldScript, keysOf(purchaseId), { at });
}

/** Removes a deleted account from the record of one of its purchases. */
export async function releasePurchase(purchaseId: string, owner: string, scripts: ScriptRunner): Promise<void> {
  await scripts.run(deletedOwnerScript, keysOf(purchaseId), { owner });
}

/** Records that a purchase moves to another account. `move-purchase.ts` then books the coins. */
export async function recordMove(
  purchaseId: string,
  move: Record<'ownerSeen' | 'owner' | 'key' | 'by' | 'reason' | 'act', string>,
  scripts: ScriptRunner,
): Promise<Moved> {
  const [word, ...words] = await scripts.run(moveScript, keysOf(purchaseId), { ...move, mostMoves: MOST_MOVES });
  return word === 'moved' || word === 'replayed' ? { word, document: documentOf(words) } : { word };
}
