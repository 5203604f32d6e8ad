import { hash } from 'node:crypto';
import { Queue } from '../../../redis/queue.ts';
import { defineScript } from '../../../redis/script.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import { purchaseKeys, type PurchaseDocument } from './model.ts';
import { stuckIn } from './operator-purchase.ts';
import { readPurchase } from './purchase-record.ts';

const keepOrderScript = defineScript({
  file: new URL('keep-order.lua', import.meta.url),
  keys: ['order'],
  args: ['purchase'],
  answers: ['kept'],
  durable: true,
});

/** Reads which purchase has an order number of the store. Answers purchase(id, or ''). */
const readOrderScript = defineScript({
  name: 'purchases/read-order',
  lua: `return {'purchase', redis.call('GET', order) or ''}`,
  keys: ['order'],
  args: [],
  answers: ['purchase'],
  readOnly: true,
});

const orderKey = (orderId: string): string =>
  purchaseKeys.order(hash('sha256', `coinop:product-order:${orderId}`, 'base64url').slice(0, 22));

/** Stores which purchase has an order number of the app store. Does nothing for an empty order number. */
export async function keepOrder(orderId: string, purchaseId: string, scripts: ScriptRunner): Promise<void> {
  if (orderId !== '') await scripts.run(keepOrderScript, { order: orderKey(orderId) }, { purchase: purchaseId });
}

export interface FoundPurchase {
  readonly purchaseId: string;
  readonly document: PurchaseDocument;
}

/** Finds a purchase of coins. @param name a purchaseId, or the app store's order number */
export async function findPurchase(name: string, scripts: ScriptRunner): Promise<FoundPurchase | undefined> {
  const [, ofOrder = ''] = await scripts.run(readOrderScript, { order: orderKey(name) }, {});
  const purchaseId = ofOrder === '' ? name : ofOrder;
  const document = await readPurchase(purchaseId, scripts);
  return document && { purchaseId, document };
}

/**
 * The most purchases that `stuckPurchases` reads from each sorted set of the queue, and the most that it returns. On a Cluster the queue
 * has 65 sorted sets.
 */
const MOST_DUE = 50;

/**
 * Purchases whose entries are not booked, not paid for or not reported to the store, earliest due first. Only the first MOST_DUE purchases
 * of each sorted set of the queue are read.
 */
export async function stuckPurchases(scripts: ScriptRunner): Promise<(FoundPurchase & { readonly dueAt: number })[]> {
  const due = await new Queue(purchaseKeys.due, scripts).earliest(MOST_DUE);
  const documents = await Promise.all(due.map(([purchaseId]) => readPurchase(purchaseId, scripts)));
  return due.flatMap(([purchaseId, dueAt], index) => {
    const document = documents[index];
    return document === undefined || stuckIn(document) === undefined ? [] : [{ purchaseId, document, dueAt }];
  });
}

/** Makes a running service check a purchase within a second. */
export function checkSoon(
  purchaseId: string,
  { scripts, now }: { readonly scripts: ScriptRunner; readonly now: () => number },
): Promise<void> {
  return new Queue(purchaseKeys.due, scripts, true).bring(purchaseId, now());
}
