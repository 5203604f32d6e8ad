import type { ScriptServices } from '../../../declare.ts';
import type { Stores } from '../../../stores/stores.ts';
import { purchaseHash } from '../core/purchase-ids.ts';
import { subscriptionKeys } from './model.ts';
import { schedulePurchase } from './purchase-check.ts';
import { queued, readPurchase } from './purchase-document.ts';
import type { NamedPurchase } from '../core/waiting-purchases.ts';
import { noteUnowned } from './unowned-purchase.ts';

/**
 * Handles a notification of a subscription. A notification is only a hint: it makes the purchase due for a check. If no app has sent the
 * purchase yet, it is recorded without an owner, and its check finds the owner. Once the promise resolves, a crash does not lose the
 * notification.
 * @returns whether the purchase has a record now
 * @throws Refusal `store_unavailable` if too many purchases without an owner wait; Error if Redis is unavailable
 */
export async function subscriptionNoticed(of: NamedPurchase, services: ScriptServices & { readonly stores: Stores }): Promise<boolean> {
  const hash = purchaseHash(of.id, of.store);
  const document = await readPurchase(hash, services.scripts);
  // If a recorded purchase has a state, the store has confirmed that an app of this service sold it.
  if (document !== undefined && (document.owner !== '' || document.state !== '')) return checkSoon(of, services);
  // A notification may name an app of another service.
  if (services.stores.salesOf(of.store, 'subscriptions')?.packageNames.includes(of.packageName) !== true) return false;
  return (await noteUnowned(hash, of, document === undefined, services)) || checkSoon(of, services);
}

/**
 * Makes the check of a purchase due now, because a notification says that the purchase may have changed. Returns false if the purchase has
 * no record, or another purchase replaced it.
 */
export async function checkSoon({ store, id }: Pick<NamedPurchase, 'store' | 'id'>, services: ScriptServices): Promise<boolean> {
  const { scripts, now } = services;
  const hash = purchaseHash(id, store);
  const document = await readPurchase(hash, scripts);
  if (document === undefined || document.retiredBy !== '') return false;
  const { packageName } = document;
  if (document.owner === '' && (await noteUnowned(hash, { store, id, packageName }, false, services))) return true;
  let isScheduled = false;
  await queued(hash, services, async (act) => {
    const keys = { purchase: subscriptionKeys.purchase(hash) };
    const [word] = await scripts.run(schedulePurchase, keys, { dueAt: now(), faults: 0, hintedAt: now(), act });
    isScheduled = word === 'scheduled';
    return isScheduled ? now() : undefined;
  });
  return isScheduled;
}
