import { hash } from 'node:crypto';
import { Queue } from '../../redis/queue.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
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

/** Remembers which purchase has an order number. Does nothing for an empty number. */
export async function keepOrder(orderId: string, purchaseId: string, scripts: ScriptRunner): Promise<void> {
  if (orderId !== '') await scripts.run(keepOrderScript, { order: orderKey(orderId) }, { purchase: purchaseId });
}

export interface FoundPurchase {
  readonly purchaseId: string;
  readonly document: PurchaseDocument;
}

/** @param name a purchaseId, or the store's order number */
export async function findPurchase(name: string, scripts: ScriptRunner): Promise<FoundPurchase | undefined> {
  const [, ofOrder = ''] = await scripts.run(readOrderScript, { order: orderKey(name) }, {});
  const purchaseId = ofOrder === '' ? name : ofOrder;
  const document = await readPurchase(purchaseId, scripts);
  return document && { purchaseId, document };
}

/** Most purchases that are listed, and that are read from each sorted set of the queue. On a Cluster the queue has 65 sets. */
const MOST_DUE = 50;

/** Purchases with work left, earliest due first. Only the first MOST_DUE of each sorted set are read. */
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
