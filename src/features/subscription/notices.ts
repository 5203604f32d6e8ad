import type { Services } from '../../declare.ts';
import type { Subscriptions } from '../../stores/store.ts';
import { subscriptionKeys } from './model.ts';
import { schedulePurchase } from './purchase-check.ts';
import { queued, readPurchase } from './purchase-document.ts';
import { purchaseHash } from './purchase-token.ts';
import { noteUnowned } from './unowned-purchase.ts';

type Parts = Pick<Services, 'scripts' | 'now'>;

/**
 * Handles a notification of a subscription, which is only a hint: the purchase is checked soon. A purchase that no app has sent yet is
 * recorded as due for a check, which finds its owner. When this resolves, a crash loses nothing.
 * @returns whether the purchase is recorded here now
 * @throws Error if Redis is away
 */
export async function subscriptionNoticed(
  token: string,
  packageName: string,
  parts: Parts & { readonly subscriptions: Subscriptions | undefined },
): Promise<boolean> {
  const hash = purchaseHash(token);
  const document = await readPurchase(hash, parts.scripts);
  // Notifications may name apps of other services too.
  if (document === undefined && parts.subscriptions?.packageNames.includes(packageName) !== true) return false;
  if (document === undefined && (await noteUnowned(hash, { token, packageName }, parts))) return true;
  return checkSoon(token, parts);
}

/**
 * Makes the check of a purchase due now, because a notification says that the purchase may have changed. False: the token has
 * no record here, or another purchase replaced its purchase.
 */
export async function checkSoon(token: string, parts: Parts): Promise<boolean> {
  const { scripts, now } = parts;
  const hash = purchaseHash(token);
  const document = await readPurchase(hash, scripts);
  if (document === undefined || document.retiredBy !== '') return false;
  if (document.owner === '' && (await noteUnowned(hash, { token, packageName: document.packageName }, parts))) return true;
  let isScheduled = false;
  await queued(hash, parts, async (act) => {
    const keys = { purchase: subscriptionKeys.purchase(hash) };
    const [word] = await scripts.run(schedulePurchase, keys, { dueAt: now(), faults: 0, hintedAt: now(), act });
    isScheduled = word === 'scheduled';
    return isScheduled ? now() : undefined;
  });
  return isScheduled;
}
