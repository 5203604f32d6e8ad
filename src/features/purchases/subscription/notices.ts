import type { ScriptServices } from '../../../declare.ts';
import type { Subscriptions } from '../../../stores/store.ts';
import { refuse } from '../../../errors.ts';
import { Queue } from '../../../redis/queue.ts';
import { subscriptionKeys } from './model.ts';
import { schedulePurchase } from './purchase-check.ts';
import { queued, readPurchase } from './purchase-document.ts';
import { purchaseHash } from './purchase-token.ts';
import { noteUnowned } from './unowned-purchase.ts';

/**
 * The most purchases without an owner that are kept, at about a kilobyte each. The app store confirms a real purchase within seconds. So
 * only invented tokens, or an outage of the store while thousands buy, fill the queue.
 */
const MOST_UNOWNED = 10_000;

/**
 * The Retry-After for a notification that finds the queue full, in milliseconds. Google's Pub/Sub sends a refused notification again, for a
 * week by default.
 */
const FULL_RETRY_MS = 60_000;

/**
 * Handles a notification of a subscription. A notification is only a hint: it makes the purchase due for a check. A purchase that no app
 * has sent yet is recorded without an owner, and its check finds the owner. Once the promise resolves, a crash loses nothing.
 * @returns whether the purchase has a record now
 * @throws Refusal `store_unavailable` if too many purchases without an owner wait; Error if Redis is unavailable
 */
export async function subscriptionNoticed(
  token: string,
  packageName: string,
  services: ScriptServices & { readonly subscriptions: Subscriptions | undefined },
): Promise<boolean> {
  const hash = purchaseHash(token);
  const document = await readPurchase(hash, services.scripts);
  // If a recorded purchase has a state, the store has confirmed that an app of this service sold it.
  if (document !== undefined && (document.owner !== '' || document.state !== '')) return checkSoon(token, services);
  // A notification may name an app of another service.
  if (services.subscriptions?.packageNames.includes(packageName) !== true) return false;
  if (document === undefined && (await new Queue(subscriptionKeys.unowned, services.scripts).isFull(hash, MOST_UNOWNED))) {
    const message = 'Too many purchases without an owner wait for the app store: send the notification again later.';
    throw refuse('store_unavailable', { message, retryAfterMs: FULL_RETRY_MS });
  }
  return (await noteUnowned(hash, { token, packageName }, services)) || checkSoon(token, services);
}

/**
 * Makes the check of a purchase due now, because a notification says that the purchase may have changed. Returns false if the purchase has
 * no record, or another purchase replaced it.
 */
export async function checkSoon(token: string, services: ScriptServices): Promise<boolean> {
  const { scripts, now } = services;
  const hash = purchaseHash(token);
  const document = await readPurchase(hash, scripts);
  if (document === undefined || document.retiredBy !== '') return false;
  if (document.owner === '' && (await noteUnowned(hash, { token, packageName: document.packageName }, services))) return true;
  let isScheduled = false;
  await queued(hash, services, async (act) => {
    const keys = { purchase: subscriptionKeys.purchase(hash) };
    const [word] = await scripts.run(schedulePurchase, keys, { dueAt: now(), faults: 0, unknowns: '', hintedAt: now(), act });
    isScheduled = word === 'scheduled';
    return isScheduled ? now() : undefined;
  });
  return isScheduled;
}
