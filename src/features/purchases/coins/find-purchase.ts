import { hash } from 'node:crypto';
import { Queue } from '../../../redis/queue.ts';
import { idNamed, keepName } from '../core/ids-by-name.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import type { Parts } from '../../../redis/unreadable.ts';
import { purchaseKeys } from './model.ts';
import { stuckIn } from './operator-purchase.ts';
import { nameOfPurchase, readPurchase, readPurchases, type FoundPurchase } from './purchase-record.ts';

/** The Redis key that leads from an order number of the app store to the purchase. */
export const orderKey = (orderId: string): string =>
  purchaseKeys.order(hash('sha256', `coinop:product-order:${orderId}`, 'base64url').slice(0, 22));

/** Stores the purchase to which an order number of the app store belongs. Does nothing for an empty order number. */
export async function keepOrder(orderId: string, purchaseId: string, scripts: ScriptRunner): Promise<void> {
  if (orderId !== '') await keepName(orderKey(orderId), purchaseId, scripts);
}

/**
 * Finds a purchase of coins.
 * @param name a purchaseId, or the app store's order number
 * @param parts notes damaged data. If left out, a damaged record is an error
 */
export async function findPurchase(name: string, scripts: ScriptRunner, parts?: Parts): Promise<FoundPurchase | undefined> {
  const readPart = <Found>(part: string, read: () => Promise<Found>) => (parts === undefined ? read() : parts.read(part, read));
  const named = await readPart(`order ${name}`, () => idNamed(orderKey(name), scripts));
  const purchaseId = named ?? name;
  const document = await readPart(nameOfPurchase(purchaseId), () => readPurchase(purchaseId, scripts));
  // The order number leads to a purchase that does not exist.
  if (document === undefined && named !== undefined) parts?.note(`order ${name}`);
  return document && { purchaseId, document };
}

/**
 * `stuckPurchases` reads at most this many purchases from each sorted set of the queue, of which a Cluster has 65. `stuckPurchases` also
 * returns at most this many purchases.
 */
const MOST_DUE = 50;

/**
 * Stuck purchases, earliest due first: the purchase is not paid for, its ledger entry is not booked, or the store does not know yet that it
 * is consumed or finished. Only the first MOST_DUE purchases of each sorted set of the queue are read.
 * @param parts notes damaged purchases, which are left out
 */
export async function stuckPurchases(scripts: ScriptRunner, parts: Parts): Promise<(FoundPurchase & { readonly dueAt: number })[]> {
  const due = new Map(await new Queue(purchaseKeys.due, scripts).earliest(MOST_DUE));
  const found = await readPurchases([...due.keys()], scripts, parts);
  return found.flatMap((each) => (stuckIn(each.document) === undefined ? [] : [{ ...each, dueAt: due.get(each.purchaseId)! }]));
}

/** Makes a running service check a purchase within a second. */
export function checkSoon(
  purchaseId: string,
  { scripts, now }: { readonly scripts: ScriptRunner; readonly now: () => number },
): Promise<void> {
  return new Queue(purchaseKeys.due, scripts, true).bring(purchaseId, now());
}
