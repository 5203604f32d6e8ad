import type { z } from 'zod';
import type { OperatorPurchase, ShownPurchase } from '../../features/purchases/coins/operator-purchase.ts';
import type { UnownedPurchase } from '../../features/purchases/subscription/operator-purchases.ts';
import { account, by, coins, given, link, state, time, type Cell, type Facts, type Listing } from './cells.ts';

type Purchase = z.output<typeof OperatorPurchase>;
type Shown = z.output<typeof ShownPurchase>;

export function purchaseFacts(purchase: Shown): Facts {
  // Nothing of its record can be read.
  if (purchase.checkedAt === undefined && purchase.sku === undefined) return [];
  const { store, orderId, sku, productId, packageName, quantity, takenCoins, stuck, test } = purchase;
  return [
    ['State', state(purchase.state, purchase.state === 'granted')],
    ['Stuck', state(stuck, false)],
    ['What that means', given(purchase.state, (of) => MEANING[of])],
    ['Store', store],
    ['Order', orderId ?? 'without a number yet'],
    ['Product', `${quantity ?? '?'} × ${productId ?? '?'} (${sku ?? '?'} of ${packageName ?? '?'})`],
    ['Account', account(purchase.accountId) ?? 'deleted'],
    ['Bound to', purchase.boundTo],
    ['Coins', `${purchase.coins ?? '?'} granted, ${takenCoins ?? '?'} taken back`],
    ['Test', test === true ? 'nobody paid for it' : undefined],
    ['Failed checks', purchase.failedLooks],
  ];
}

/** What an operator tells the buyer. */
const MEANING: Readonly<Record<string, string>> = {
  pending:
    'The store does not have the money yet: the buyer pays in cash, by a slow card, or a parent has to agree. Nothing is booked before. The ' +
    'service asks the store by itself, and books the coins once it has been paid. If the buyer no longer wants it, the store cancels it.',
};

interface Step {
  readonly at: string;
  readonly what: Cell;
}

/** The history of a purchase, oldest first. */
export function lifeOf(purchase: Shown): Step[] {
  const { at, grantedAt, refundedAt, checkedAt, isFinished, takenCoins, refundedQuantity, quantity, moves = [] } = purchase;
  const steps: { readonly at: string | undefined; readonly what: Cell }[] = [
    { at, what: 'the service saw it' },
    { at: grantedAt, what: `its coins were booked (${purchase.coins ?? '?'} in sum)` },
    {
      at: refundedAt,
      what:
        (refundedQuantity ?? 0) === 0 && takenCoins === 0
          ? 'the refund was reversed: no unit stays refunded, and all coins that it had taken were given back'
          : `the last refund was booked: ${refundedQuantity ?? 0} of ${quantity ?? '?'} units, ${takenCoins ?? '?'} coins in sum`,
    },
    ...moves.map((move) => ({
      at: move.at,
      what: [
        by(move.by),
        ' moved it from ',
        account(move.from),
        ' to ',
        account(move.to),
        ', with ',
        coins(move.coins),
        ` coins: ${move.reason}`,
      ],
    })),
    { at: checkedAt, what: `the store was asked${isFinished === true ? ', and knows that the buyer has the coins' : ''}` },
  ];
  return steps.filter((step): step is Step => step.at !== undefined).toSorted((one, other) => one.at.localeCompare(other.at));
}

export const life: Listing<Step> = {
  title: 'Its life',
  none: 'Nothing happened.',
  columns: { 'At (UTC)': ({ at }) => time(at), What: ({ what }) => what },
};

export const stuckPurchases: Listing<Purchase & { readonly nextLookAt: string }> = {
  title: 'Stuck purchases',
  none: 'Nothing is stuck.',
  columns: {
    Purchase: ({ purchaseId }) => link(purchaseId, ['purchases', purchaseId]),
    Order: ({ orderId }) => orderId,
    Product: ({ productId }) => productId,
    Account: ({ accountId }) => account(accountId),
    Stuck: ({ stuck = 'due' }) => state(stuck, false),
    'Since (UTC)': ({ at }) => time(at),
    'Next look (UTC)': ({ nextLookAt }) => time(nextLookAt),
    Failed: ({ failedLooks }) => failedLooks,
  },
};

export const unownedSubscriptions: Listing<z.output<typeof UnownedPurchase>> = {
  title: 'Subscriptions without an owner',
  none: 'Every subscription has an owner.',
  columns: {
    Purchase: ({ purchase }) => purchase,
    Order: ({ orderId }) => orderId,
    Product: ({ productId }) => productId,
    State: (subscription) => state(subscription.state ?? 'not checked yet', false),
    'Since (UTC)': ({ noticedAt }) => time(noticedAt),
    'Refund (UTC)': ({ refundAt }) => time(refundAt),
    Failed: ({ failedChecks }) => failedChecks,
  },
};
