import { listStuckPurchases, lookAtPurchase, movePurchase, showPurchase } from '../purchases.ts';
import { life, lifeOf, purchaseFacts, stuckPurchases, unownedSubscriptions } from '../shown/shown-purchases.ts';
import { commandOf, groupOf } from './operate.ts';
import { facts, listed, paragraphs } from './table.ts';

export const purchases = groupOf(
  { name: 'purchases', summary: 'coins and subscriptions bought in an app store' },
  commandOf(showPurchase, ({ purchase }) =>
    paragraphs(`Purchase ${purchase.purchaseId}`, facts(purchaseFacts(purchase)), listed(life, lifeOf(purchase))),
  ),
  commandOf(listStuckPurchases, ({ purchases: stuck, subscriptions }) =>
    paragraphs(listed(stuckPurchases, stuck), listed(unownedSubscriptions, subscriptions)),
  ),
  commandOf(lookAtPurchase, ({ purchaseId }) => `The service asks the store about ${purchaseId} within a second, if it runs.`),
  commandOf(movePurchase, ({ purchase, accountId, movedFrom, coins, takenCoins, replayed }) => {
    const along =
      coins === undefined ? '' : ` ${coins} coins went along; ${takenCoins ?? 'not yet known how many'} were taken from ${movedFrom}.`;
    const from = movedFrom === undefined ? '' : ` of ${movedFrom}`;
    return `${replayed === true ? 'The key was used before: ' : ''}The purchase ${purchase}${from} is that of ${accountId} now.${along}`;
  }),
);
