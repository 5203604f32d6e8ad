import type { ScriptServices } from '../../declare.ts';
import type { Subscriptions } from '../../stores/store.ts';
import { refuse } from '../../errors.ts';
import { Queue } from '../../redis/queue.ts';
import { subscriptionKeys } from './model.ts';
import { schedulePurchase } from './purchase-check.ts';
import { queued, readPurchase } from './purchase-document.ts';
import { purchaseHash } from './purchase-token.ts';
import { noteUnowned } from './unowned-purchase.ts';

/**
 * Most purchases without an owner, at about a kilobyte each. The store confirms each within seconds, so only invented tokens, or an outage
 * of the store while thousands buy, fill the queue.
 */
const MOST_UNOWNED = 10_000;

/** Pub/Sub sends a refused notification again, for a week by default. */
const FULL_RETRY_MS = 60_000;

/**
 * Handles a notification of a subscription, which is only a hint: the purchase is checked soon. A purchase that no app has sent yet is
 * recorded as due for a check, which finds its owner. When this resolves, a crash loses nothing.
 * @returns whether the purchase is recorded here now
 * @throws Refusal `store_unavailable` if too many purchases without an owner wait; Error if Redis is away
 */
export async function subscriptionNoticed(
  token: string,
  packageName: string,
  services: ScriptServices & { readonly subscriptions: Subscriptions | undefined },
): Promise<boolean> {
  const hash = purchaseHash(token);
  const document = await readPurchase(hash, services.scripts);
  // If a recorded purchase has a state, the store has confirmed its app.
  if (document !== undefined && (document.owner !== '' || document.state !== '')) return checkSoon(token, services);
  // Notifications may name apps of other services too.
  if (services.subscriptions?.packageNames.includes(packageName) !== true) return false;
  if (document === undefined && (await new Queue(subscriptionKeys.unowned, services.scripts).isFull(hash, MOST_UNOWNED))) {
    const message = 'Too many purchases without an owner wait for the app store: send the notification again later.';
    throw refuse('store_unavailable', { message, retryAfterMs: FULL_RETRY_MS });
  }
  return (await noteUnowned(hash, { token, packageName }, services)) || checkSoon(token, services);
}

/**
 * Makes the check of a purchase due now, because a notification says that the purchase may have changed. False: the token has
 * no record here, or another purchase replaced its purchase.
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
