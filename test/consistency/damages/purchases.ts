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

const differs = (damage: (purchase: Bought) => Promise<unknown>): Damage => ({
  kind: 'purchase_differs',
  mends: true,
  make: ofPurchase(damage),
});

const withFields = (fields: Record<string, number>): Damage => differs(({ record }) => redis.hset(record, fields));

/** As `withFields`, before the store refunds the purchase. */
const refunded = (fields: Record<string, number>): Damage =>
  differs(async (purchase) => {
    await redis.hset(purchase.record, fields);
    await refund(purchase);
  });

const owned = async ({ record }: Bought): Promise<unknown> => redis.hset(record, 'owner', await accountWith([5]));

export const purchaseDamages: Damages = {
  'a pending purchase of coins that is not in the queue': {
    kind: 'document_without_queue',
    mends: true,
    make: ofPurchase(({ purchaseId }) => redis.zrem('product-purchases:due', purchaseId), 'pending'),
  },
  'a purchase of coins that its account does not list': {
    kind: 'purchase_not_listed',
    mends: true,
    make: ofAccount(
      () => boughtCoins('purchased'),
      ({ id, purchaseId }) => redis.zrem(`{${id}}:product-purchases`, purchaseId),
    ),
  },
  'a granted purchase that was deleted and claimed again by another account': {
    kind: 'granted_twice',
    make: ofPurchase(async ({ record, purchaseToken }) => {
      await redis.del(record);
      await claimCoins(purchaseToken, freshId());
    }),
  },
  'a granted purchase that was deleted': { kind: 'lost_purchase', make: ofPurchase(({ record }) => redis.del(record)) },
  'a pending purchase of coins that was deleted': { kind: 'lost_purchase', make: ofPurchase(({ record }) => redis.del(record), 'pending') },
  'a purchase of coins whose granted coins were changed': withFields({ granted: 5000 }),
  'a purchase of coins whose unitCoins were changed': withFields({ unitCoins: 5000 }),
  'a purchase of coins whose granted coins and unitCoins were changed': withFields({ granted: 5000, unitCoins: 5000 }),
  'a purchase of coins whose granted units were changed': withFields({ grantedUnits: 3 }),
  'a purchase of coins whose taken coins were changed': withFields({ taken: 20 }),
  'a purchase of coins whose quantity was changed': withFields({ quantity: 3 }),
  'a purchase of coins whose refunded units were changed': withFields({ refunded: 1 }),
  'a purchase of coins whose number of entries was lowered': withFields({ entries: 0 }),
  'a purchase of coins whose granted coins were changed, and that was refunded then': refunded({ granted: 5000 }),
  // The refund took too many coins. An operator has to give them back.
  'a purchase of coins whose unitCoins were changed, and that was refunded then': { ...refunded({ unitCoins: 5000 }), mends: false },
  'a purchase of coins whose granted coins and unitCoins were changed, and that was refunded then': {
    ...refunded({ granted: 5000, unitCoins: 5000 }),
    mends: false,
  },
  'a purchase of coins whose number of entries was raised': {
    kind: 'purchase_without_entry',
    make: ofPurchase(({ record }) => redis.hset(record, 'entries', 2)),
  },
  'a purchase of coins whose only entry is lost with its key': {
    kind: 'purchase_without_entry',
    mends: true,
    make: ofPurchase(({ id }) => redis.del(ledger(id), bucket(id))),
  },
  'a purchase of coins whose owner was changed': { kind: 'wrong_owner', mends: true, make: ofPurchase(owned) },
  'a pending purchase of coins whose owner was changed': { kind: 'wrong_owner', mends: true, make: ofPurchase(owned, 'pending') },
  'a purchase of coins without its owner': { kind: 'unreadable_record', make: ofPurchase(({ record }) => redis.hdel(record, 'owner')) },
  'a purchase of coins that another account lists as well': {
    kind: 'foreign_listed',
    mends: true,
    async make() {
      const [{ purchaseId }, other] = [await boughtCoins('purchased'), await accountWith([5])];
      await redis.zadd(`{${other}}:product-purchases`, 0, purchaseId);
      return `account ${other}`;
    },
  },
  'a purchase of coins in the queue that does not exist': queuedAlone(
    'product-purchases:due',
    'A'.repeat(22),
    { kind: 'lost_purchase' },
    `coin-purchase ${'A'.repeat(22)}`,
  ),
};
