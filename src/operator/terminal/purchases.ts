import type { z } from 'zod';
import type { OperatorPurchase } from '../../features/purchases/operator-purchase.ts';
import { listStuckPurchases, lookAtPurchase, movePurchase, showPurchase } from '../purchases.ts';
import { commandOf, groupOf } from './operate.ts';
import { facts, minuteOfText, table } from './table.ts';

type Shown = z.output<typeof OperatorPurchase>;

export const purchases = groupOf(
  { name: 'purchases', summary: 'coins and subscriptions bought in an app store' },
  commandOf(showPurchase, ({ purchase }) =>
    [`Purchase ${purchase.purchaseId}`, facts(factsOf(purchase)), ...lifeOf(purchase)].join('\n\n'),
  ),
  commandOf(listStuckPurchases, ({ purchases: found, subscriptions }) =>
    found.length + subscriptions.length === 0
      ? 'Nothing is left to do for any purchase.'
      : [
          ...(found.length === 0 ? [] : [stuckTable(found)]),
          ...(subscriptions.length === 0 ? [] : ['Subscriptions without an owner:', unownedTable(subscriptions)]),
        ].join('\n\n'),
  ),
  commandOf(lookAtPurchase, ({ purchaseId }) => `The service asks the store about ${purchaseId} within a second, if it runs.`),
  commandOf(movePurchase, ({ purchase, accountId, movedFrom, coins, takenCoins, replayed }) => {
    const along =
      coins === undefined ? '' : ` ${coins} coins went along; ${takenCoins ?? 'not yet known how many'} were taken from ${movedFrom}.`;
    const from = movedFrom === undefined ? '' : ` of ${movedFrom}`;
    return `${replayed === true ? 'The key was used before: ' : ''}The purchase ${purchase}${from} is that of ${accountId} now.${along}`;
  }),
);

type Stuck = z.output<(typeof listStuckPurchases)['reply']>;

function stuckTable(found: Stuck['purchases']): string {
  return table(
    ['PURCHASE', 'ORDER', 'PRODUCT', 'STUCK', 'SINCE (UTC)', 'NEXT LOOK (UTC)', 'FAILED'],
    found.map(({ purchaseId, orderId = '', productId, stuck = '', at, nextLookAt, failedLooks }) => [
      purchaseId,
      orderId,
      productId,
      stuck,
      minuteOfText(at),
      minuteOfText(nextLookAt),
      String(failedLooks),
    ]),
  );
}

function unownedTable(found: Stuck['subscriptions']): string {
  return table(
    ['PURCHASE', 'ORDER', 'PRODUCT', 'STATE', 'SINCE (UTC)', 'REFUND (UTC)', 'FAILED'],
    found.map(({ purchase, orderId = '', productId = '', state = 'not checked yet', noticedAt, refundAt, failedChecks }) => [
      purchase,
      orderId,
      productId,
      state,
      minuteOfText(noticedAt),
      refundAt === undefined ? '' : minuteOfText(refundAt),
      String(failedChecks),
    ]),
  );
}

function factsOf(purchase: Shown): [string, string][] {
  const { store, orderId = '', sku, productId, packageName, quantity, coins, accountId, boundTo, state, stuck, test } = purchase;
  return [
    ['store', `${store}, order ${orderId === '' ? 'without a number yet' : orderId}${test === true ? ', a test: nobody paid' : ''}`],
    ['product', `${quantity} × ${productId} (${sku} of ${packageName})`],
    ['account', accountId ?? 'deleted'],
    ...(boundTo === undefined ? [] : [['bound to', boundTo] as [string, string]]),
    ['state', `${state}${stuck === undefined ? '' : `, ${stuck}`}`],
    ['coins', `${coins} granted, ${purchase.takenCoins} taken back`],
  ];
}

/** The history of a purchase, oldest first. */
export function lifeOf({
  at,
  grantedAt,
  refundedAt,
  checkedAt,
  isFinished,
  coins,
  takenCoins,
  refundedQuantity,
  quantity,
  moves = [],
}: Shown): string[] {
  const events: [string | undefined, string][] = [
    [at, 'the service saw it'],
    [grantedAt, `its coins were booked (${coins} in sum)`],
    [refundedAt, `the last refund was booked: ${refundedQuantity ?? 0} of ${quantity} units, ${takenCoins} coins in sum`],
    ...moves.map((move): [string, string] => [
      move.at,
      `${move.by} moved it from ${move.from} to ${move.to}, with ${move.coins} coins: ${move.reason}`,
    ]),
    [checkedAt, `the store was asked${isFinished ? ', and knows that the buyer has the coins' : ''}`],
  ];
  const happened = events.filter((event): event is [string, string] => event[0] !== undefined);
  return [
    table(
      ['AT (UTC)', 'WHAT'],
      happened.toSorted(([one], [other]) => one.localeCompare(other)).map(([time, what]) => [minuteOfText(time), what]),
    ),
  ];
}
