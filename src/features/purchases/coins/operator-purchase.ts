import { z } from 'zod';
import { isoTime } from '../../../accounts/merge-rules.ts';
import { AccountId } from '../../../accounts/ids.ts';
import { isUnbooked, needsFinish, type PurchaseDocument } from './model.ts';
import { CoinPurchase, shownCoinPurchase } from './shown-coin-purchase.ts';

const PurchaseMove = z
  .object({
    at: z.iso.datetime(),
    from: AccountId,
    to: AccountId,
    coins: z.int().meta({ description: 'The coins that move with the purchase.' }),
    takenCoins: z.int().optional().meta({
      description:
        'The coins that were taken from the previous owner. With REFUNDS=floor they may be fewer than `coins`. Missing while their entry is not booked yet.',
    }),
    by: z.string(),
    reason: z.string(),
  })
  .meta({
    id: 'PurchaseMove',
    example: {
      at: '2026-11-22T12:00:00.000Z',
      from: 'curm1Cv7xqcLNkr2BfHmj9',
      to: 'BQ5v1mHk2nYtZ8cXw0aLpR',
      coins: 500,
      takenCoins: 500,
      by: 'ada@ops-1',
      reason: 'ticket 4711',
    },
  });

/** A purchase of coins as operators see it. The store's own id is left out, because with it anyone could claim the purchase. */
export const OperatorPurchase = z
  .object({
    ...CoinPurchase.shape,
    accountId: z.string().optional().meta({
      description: 'The owner. If a guest that moved owns the purchase, it is still the guest. Missing once the account was deleted.',
    }),
    orderId: z.string().optional().meta({ description: "The store's number of the purchase, as its console shows it." }),
    sku: z.string().meta({ description: "The store's id of the product." }),
    packageName: z.string(),
    boundTo: z.string().optional().meta({ description: 'The account that the app named to the store.' }),
    takenCoins: z.int().meta({ description: 'Coins that refunds have taken back, less the coins that reversed refunds gave back.' }),
    grantedAt: z.iso.datetime().optional(),
    refundedAt: z.iso.datetime().optional().meta({ description: 'The time at which the last entry of a refund was booked.' }),
    checkedAt: z.iso.datetime().meta({ description: "Time of the store's last answer." }),
    isFinished: z
      .boolean()
      .meta({ description: 'Whether the store knows that the buyer has the coins (at Google: whether the purchase is consumed).' }),
    stuck: z.enum(['unpaid', 'unbooked', 'unfinished']).optional().meta({
      description:
        '`unpaid`: the store waits for the money. `unbooked`: the ledger lacks an entry. `unfinished`: the store does not know of the grant yet. Missing if nothing is left to do.',
    }),
    failedLooks: z.int().meta({ description: 'Failed checks in a row.' }),
    moves: z.array(PurchaseMove).optional().meta({ description: 'The moves to other accounts by operators, the latest last.' }),
  })
  .meta({ id: 'OperatorCoinPurchase' });

/** A purchase of coins that an operator asks for. If its record is damaged, any field but the id may be missing. */
export const ShownPurchase = OperatorPurchase.partial()
  .required({ purchaseId: true })
  .meta({ id: 'ShownCoinPurchase', description: 'As `OperatorCoinPurchase`. A field whose data is damaged is left out.' });

export function operatorPurchase(purchaseId: string, document: PurchaseDocument): z.input<typeof OperatorPurchase> {
  const { owner, orderId, sku, packageName, buyer, taken, grantedAt, refundedAt, checkedAt, isFinished, faults, moves } = document;
  return {
    ...shownCoinPurchase(purchaseId, document),
    accountId: owner === '-' ? undefined : owner,
    orderId: orderId === '' ? undefined : orderId,
    sku,
    packageName,
    boundTo: buyer === '' ? undefined : buyer,
    takenCoins: taken,
    grantedAt: isoTime(grantedAt),
    refundedAt: isoTime(refundedAt),
    checkedAt: isoTime(checkedAt)!,
    isFinished,
    stuck: stuckIn(document),
    failedLooks: faults,
    ...(moves.length === 0 ? {} : { moves: moves.map(shownMove) }),
  };
}

function shownMove({ at, from, to, coins, taken, by, reason }: PurchaseDocument['moves'][number]): z.input<typeof PurchaseMove> {
  return { at: isoTime(at)!, from, to, coins, takenCoins: taken, by, reason };
}

/** Why a purchase still needs work. Undefined: nothing is left to do. */
export function stuckIn(document: PurchaseDocument): 'unpaid' | 'unbooked' | 'unfinished' | undefined {
  if (isUnbooked(document)) return 'unbooked';
  if (document.state === 'pending' && document.owner !== '-') return 'unpaid';
  return needsFinish(document) ? 'unfinished' : undefined;
}
