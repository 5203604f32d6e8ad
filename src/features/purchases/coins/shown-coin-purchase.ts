import { z } from 'zod';
import { isoTime } from '../../../accounts/merge-rules.ts';
import { STORE_NAMES } from '../../../stores/stores.ts';
import type { PurchaseDocument } from './model.ts';

export const PurchaseId = z.string().meta({ description: "coinop's id of the purchase.", example: 'k3Jx9QmZ2bTwR5vY8cLnAa' });

/** A purchase of coins as its owner sees it. */
export const CoinPurchase = z
  .object({
    purchaseId: PurchaseId,
    store: z.enum(STORE_NAMES),
    productId: z.string().meta({ description: 'Id of the product in the catalogue.' }),
    quantity: z.int().min(1).meta({ description: 'Units that were bought.' }),
    coins: z.int().min(0).meta({ description: 'The coins that were granted. A refund does not change this number.' }),
    state: z.enum(['pending', 'granted', 'refunded']).meta({
      description: '`pending`: not paid for yet. `refunded`: all of it was refunded, or it was canceled before it was paid for.',
    }),
    refundedQuantity: z
      .int()
      .min(1)
      .optional()
      .meta({ description: 'The number of units that were refunded in sum. A partly refunded unit counts as one.' }),
    test: z.literal(true).optional().meta({ description: 'Nobody paid for it.' }),
    at: z.iso.datetime().meta({ description: 'When the service first saw it.' }),
  })
  .meta({
    id: 'Purchase',
    example: {
      purchaseId: 'k3Jx9QmZ2bTwR5vY8cLnAa',
      store: 'google',
      productId: 'coins-500',
      quantity: 1,
      coins: 500,
      state: 'granted',
      at: '2026-11-22T12:00:00.000Z',
    },
  });

export function shownCoinPurchase(purchaseId: string, document: PurchaseDocument): z.input<typeof CoinPurchase> {
  const { store, productId, quantity, granted, state, refunded, isTest, at, grantedAt } = document;
  const gone = state === 'canceled' && grantedAt !== undefined ? quantity : refunded;
  const isRefunded = state === 'canceled' || refunded >= quantity;
  return {
    purchaseId,
    store,
    productId,
    quantity,
    coins: granted,
    state: isRefunded ? 'refunded' : grantedAt === undefined ? 'pending' : 'granted',
    refundedQuantity: gone > 0 ? Math.ceil(gone) : undefined,
    test: isTest ? true : undefined,
    at: isoTime(at)!,
  };
}
