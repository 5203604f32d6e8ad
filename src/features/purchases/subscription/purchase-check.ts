import { backoffMs } from '../../../journal/backoff.ts';
import type { DueQueue } from '../../../redis/due-queue.ts';
import type { Services, ScriptServices } from '../../../declare.ts';
import { askStore } from '../core/ask-store.ts';
import { purchaseScript } from '../core/purchase-script.ts';
import { forgottenAfterMs, LEASE_MS, LONGEST_WAIT_MS } from '../core/check-schedule.ts';
import { finishPurchase } from './finish-purchase.ts';
import { subscriptionKeys } from './model.ts';
import { purchaseJournal } from './purchase-document.ts';
import { needsAcknowledgement } from './purchase-expiry.ts';
import { updatePurchase } from './purchase-record.ts';
import { withinTestBounds } from './test-access.ts';

export const schedulePurchase = purchaseScript(
  new URL('schedule-purchase.lua', import.meta.url),
  ['dueAt', 'faults', 'hintedAt', 'act'],
  ['scheduled', 'unknown'],
  { durable: false },
);

export type CheckServices = ScriptServices & Pick<Services, 'log' | 'stores' | 'config'>;

/** Fields of a purchase that are unknown if the app store's answer has no purchase. */
const NOTHING_KNOWN = { buyer: undefined, linkedId: undefined, renewed: undefined, boughtAt: undefined, orderId: undefined };

/**
 * Takes the steps that a dead process left, asks the app store about a purchase again, records the purchase's state, and acknowledges the
 * purchase if the store waits for that. A temporary outage of the app store changes only the time of the next check. The queue must have
 * the purchase before the call.
 * @param act the name that `queued` gave; '' for a check that the queue started
 * @returns when the next check is due, in milliseconds since 1970; undefined: never
 */
export async function checkPurchase(hash: string, act: string, services: CheckServices): Promise<number | undefined> {
  const { scripts, now, log, stores, config } = services;
  const document = await finishPurchase(hash, services);
  // A purchase without an owner is not checked here, nor one that another purchase replaced.
  if (document === undefined || document.id === '' || document.owner === '' || document.retiredBy !== '') return undefined;
  // The queue's entry may be due before the record is, because a change writes the entry before it changes the record, or because the
  // record has got a later due time.
  if (act === '' && document.dueAt !== undefined && document.dueAt > now()) return document.dueAt;
  const { store, id, packageName, productId, willRenew, faults: faultsBefore } = document;
  const subscriptions = stores.named(store)?.subscriptions;
  const expiredAt = document.expiresAt;
  const reschedule = async (dueAt: number | undefined, faults: number): Promise<number | undefined> => {
    const args = { dueAt: dueAt ?? '', faults, hintedAt: '', act };
    const [word] = await scripts.run(schedulePurchase, { purchase: subscriptionKeys.purchase(hash) }, args);
    return word === 'scheduled' ? dueAt : undefined;
  };
  const fetchedAt = now();
  const answer = withinTestBounds(await askStore(subscriptions, document), config);
  if (answer === 'failed') return reschedule(now() + backoffMs(faultsBefore + 1), faultsBefore + 1);
  if (answer === 'unknown') {
    // The app store confirmed this purchase before, and a wrong setting of coinop or of the store must not take access away.
    log.warn({ purchase: hash.slice(0, 6) }, 'the app store does not know a purchase that it confirmed before');
    const isForgotten = expiredAt !== undefined && expiredAt + forgottenAfterMs(store) < now();
    return reschedule(isForgotten ? undefined : now() + LONGEST_WAIT_MS, 0);
  }
  if (answer === 'gone' || answer === 'test') {
    const expired = {
      id,
      packageName,
      state: 'expired' as const,
      expiresAt: expiredAt === undefined ? undefined : Math.min(expiredAt, fetchedAt),
      productId,
      checkedAt: fetchedAt,
      ...NOTHING_KNOWN,
      retires: false,
      acknowledged: true,
      isTest: answer === 'test',
    };
    const purchase = { ...expired, willRenew: willRenew === undefined ? undefined : false };
    return updatePurchase(hash, { store, purchase }, { faults: 0, act }, services);
  }
  const isUnacknowledged = needsAcknowledgement(answer, now());
  const acknowledged = isUnacknowledged
    ? await subscriptions!.acknowledge({ id, packageName, sku: answer.productId })
    : answer.acknowledged;
  const faults = isUnacknowledged && !acknowledged ? faultsBefore + 1 : 0;
  return updatePurchase(hash, { store, purchase: { ...answer, acknowledged } }, { faults, act }, services);
}

/**
 * Checks purchases when they are due, until the returned queue is closed: when a purchase ends, while it is unacknowledged, twice a day,
 * and after a notification.
 */
export function purchaseChecks(services: CheckServices): DueQueue {
  return purchaseJournal(services).takeOver((hash) => checkPurchase(hash, '', services), LEASE_MS, services.log);
}
