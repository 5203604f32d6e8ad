import type { ScriptServices } from '../../../declare.ts';
import { purchaseScript } from '../core/purchase-script.ts';
import { finishPurchase } from './finish-purchase.ts';
import { subscriptionKeys } from './model.ts';
import { accountOf } from '../core/owner.ts';
import { queued, readPurchase, todoPrelude } from './purchase-document.ts';

const moveScript = purchaseScript(
  new URL('move-purchase.lua', import.meta.url),
  ['ownerSeen', 'owner', 'isOwner', 'key', 'act'],
  ['moved', 'replayed', 'owned', 'changed', 'retired'],
  { prelude: todoPrelude },
);

interface SubscriptionMove {
  /** The owner that the operator was shown. If the purchase has another owner now, it does not move. */
  readonly ownerSeen: string;
  readonly owner: string;
  readonly key: string;
}

/**
 * Gives a purchase of a subscription to another account. The function then moves the purchase's line from the previous owner's account to
 * the new owner's account. If this process dies before that, the queue moves the line.
 * @returns `owned`: the account owned the purchase before, and not by a move with this key
 */
export async function moveSubscriptionPurchase(
  hash: string,
  { ownerSeen, owner, key }: SubscriptionMove,
  services: ScriptServices,
): Promise<(typeof moveScript)['answers'][number]> {
  const { scripts } = services;
  let word: (typeof moveScript)['answers'][number] = 'changed';
  await queued(hash, services, async (act) => {
    const isOwner = Number(ownerSeen !== '' && (await accountOf(ownerSeen, scripts)) === owner);
    [word] = await scripts.run(moveScript, { purchase: subscriptionKeys.purchase(hash) }, { ownerSeen, owner, isOwner, key, act });
    const document = word === 'moved' || word === 'replayed' ? await finishPurchase(hash, services) : await readPurchase(hash, scripts);
    return document?.dueAt;
  });
  return word;
}
