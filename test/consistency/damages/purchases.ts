import { orderKey } from '../../../src/features/purchases/coins/find-purchase.ts';
import { freshId } from '../../harness.ts';
import {
  accountWith,
  boughtCoins,
  bucket,
  claimCoins,
  ledger,
  ofAccount,
  queuedAlone,
  redis,
  refund,
  type Damage,
  type Damages,
} from './data.ts';

type Bought = Awaited<ReturnType<typeof boughtCoins>>;

/** Damages a purchase, by default a granted one. */
function ofPurchase(damage: (purchase: Bought) => Promise<unknown>, state: 'pending' | 'purchased' = 'purchased') {
  return async (): Promise<string> => {
    const purchase = await boughtCoins(state);
    await damage(purchase);
    return purchase.subject;
  };
}

const withFields = (fields: Record<string, number>): Damage => ({
  kind: 'purchase_differs',
  mended: ofPurchase(({ record }) => redis.hset(record, fields)),
});

/** Changes a purchase that the store then refunds. */
const refunded = (fields: Record<string, number>) =>
  ofPurchase(async (purchase) => {
    await redis.hset(purchase.record, fields);
    await refund(purchase);
  });

const owned = async ({ record }: Bought): Promise<unknown> => redis.hset(record, 'owner', await accountWith([5]));

export const purchaseDamages: Damages = {
  'a pending purchase of coins that is not in the queue': {
    kind: 'document_without_queue',
    mended: ofPurchase(({ purchaseId }) => redis.zrem('product-purchases:due', purchaseId), 'pending'),
  },
  'a purchase of coins that its order number does not find': {
    kind: 'order_not_listed',
    mended: ofPurchase(async ({ record }) => redis.del(orderKey((await redis.hget(record, 'orderId'))!))),
  },
  'a purchase of coins that its account does not list': {
    kind: 'purchase_not_listed',
    mended: ofAccount(
      () => boughtCoins('purchased'),
      ({ id, purchaseId }) => redis.zrem(`{${id}}:product-purchases`, purchaseId),
    ),
  },
  'a granted purchase that was deleted and claimed again by another account': {
    kind: 'granted_twice',
    lasting: ofPurchase(async ({ record, purchaseToken }) => {
      await redis.del(record);
      await claimCoins(purchaseToken, freshId());
    }),
  },
  'a granted purchase that was deleted': { kind: 'lost_purchase', lasting: ofPurchase(({ record }) => redis.del(record)) },
  'a pending purchase of coins that was deleted': {
    kind: 'lost_purchase',
    lasting: ofPurchase(({ record }) => redis.del(record), 'pending'),
  },
  'a purchase of coins whose granted coins were changed': withFields({ granted: 5000 }),
  'a purchase of coins whose unitCoins were changed': withFields({ unitCoins: 5000 }),
  'a purchase of coins whose granted coins and unitCoins were changed': withFields({ granted: 5000, unitCoins: 5000 }),
  'a purchase of coins whose granted units were changed': withFields({ grantedUnits: 3 }),
  'a purchase of coins whose taken coins were changed': withFields({ taken: 20 }),
  'a purchase of coins whose quantity was changed': withFields({ quantity: 3 }),
  'a purchase of coins whose refunded units were changed': withFields({ refunded: 1 }),
  'a purchase of coins whose number of entries was lowered': withFields({ entries: 0 }),
  'a purchase of coins whose granted coins were changed, and that was refunded then': {
    kind: 'purchase_differs',
    mended: refunded({ granted: 5000 }),
  },
  // The refund took too many coins. An operator has to give them back.
  'a purchase of coins whose unitCoins were changed, and that was refunded then': {
    kind: 'purchase_differs',
    lasting: refunded({ unitCoins: 5000 }),
  },
  'a purchase of coins whose granted coins and unitCoins were changed, and that was refunded then': {
    kind: 'purchase_differs',
    lasting: refunded({ granted: 5000, unitCoins: 5000 }),
  },
  'a purchase of coins whose number of entries was raised': {
    kind: 'purchase_without_entry',
    lasting: ofPurchase(({ record }) => redis.hset(record, 'entries', 2)),
  },
  'a purchase of coins whose last check is no time': {
    kind: 'unreadable_record',
    lasting: ofPurchase(({ record }) => redis.hset(record, 'checkedAt', 'nonsense')),
  },
  'a purchase of coins whose number of entries is beyond all ledgers': {
    kind: 'unreadable_record',
    lasting: ofPurchase(({ record }) => redis.hset(record, 'entries', '9'.repeat(20))),
  },
  'a pending purchase of coins that its queue has for a time beyond all calendars': {
    kind: 'document_without_queue',
    mended: ofPurchase(({ purchaseId }) => redis.zadd('product-purchases:due', 'XX', '1e300', purchaseId), 'pending'),
  },
  'a purchase of coins whose only entry is lost with its key': {
    kind: 'purchase_without_entry',
    mended: ofPurchase(({ id }) => redis.del(ledger(id), bucket(id))),
  },
  'a purchase of coins whose owner was changed': { kind: 'wrong_owner', mended: ofPurchase(owned) },
  'a pending purchase of coins whose owner was changed': { kind: 'wrong_owner', mended: ofPurchase(owned, 'pending') },
  'a purchase of coins without its owner': { kind: 'unreadable_record', lasting: ofPurchase(({ record }) => redis.hdel(record, 'owner')) },
  'a purchase of coins that another account lists as well': {
    kind: 'foreign_listed',
    async mended() {
      const [{ purchaseId }, other] = [await boughtCoins('purchased'), await accountWith([5])];
      await redis.zadd(`{${other}}:product-purchases`, 0, purchaseId);
      return `account ${other}`;
    },
  },
  'a purchase of coins in the queue that does not exist': {
    kind: 'lost_purchase',
    lasting: queuedAlone('product-purchases:due', 'A'.repeat(22), `coin-purchase ${'A'.repeat(22)}`),
  },
};
