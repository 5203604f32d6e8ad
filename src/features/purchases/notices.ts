import type { ScriptServices } from '../../declare.ts';
import type { PurchaseHint } from '../../stores/store.ts';
import type { StoreName, Stores } from '../../stores/stores.ts';
import type { KeptNotices } from './coins/kept-notices.ts';
import { checkSoon, subscriptionNoticed } from './subscription/notices.ts';

/**
 * Handles the part of a notification about one purchase.
 * @returns whether the service has a record of the purchase, or keeps the notification until it has one
 * @throws Refusal `app_store_unavailable`, `store_unavailable`: the store has to send the notification again
 */
export async function purchaseNoticed(
  store: string,
  { kind, id, packageName, mayBeNew }: PurchaseHint,
  services: ScriptServices & { readonly stores: Stores; readonly keptNotices: KeptNotices },
): Promise<boolean> {
  const of = { store: store as StoreName, id, packageName };
  if (kind !== 'product' && (await (mayBeNew ? subscriptionNoticed(of, services) : checkSoon(of, services)))) return true;
  return kind !== 'subscription' && services.keptNotices.noticed(of.store, id, packageName, mayBeNew);
}
