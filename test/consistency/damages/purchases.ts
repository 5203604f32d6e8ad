import { freshId } from '../../harness.ts';
import {
  accountWith,
  boughtCoins,
  bucket,
  changedPurchase,
  claimCoins,
  HOUR_MS,
  ledger,
  redis,
  refundedPurchase,
  type Damages,
} from './data.ts';

export const purchaseDamages: Damages = {
  'a pending purchase of coins that is not in the queue': {
    async make() {
      const { purchaseId } = await boughtCoins('pending');
      await redis.zrem('product-purchases:due', purchaseId);
      return `coin-purchase ${purchaseId}`;
    },
    kind: 'document_without_queue',
    mends: true,
  },
  'a purchase of coins that its account does not list': {
    async make() {
      const { purchaseId, id } = await boughtCoins('purchased');
      await redis.zrem(`{${id}}:product-purchases`, purchaseId);
      return `account ${id}`;
    },
    kind: 'purchase_not_listed',
    mends: true,
  },
  'a granted purchase that was deleted and claimed again by another account': {
    async make() {
      const { record, purchaseToken, subject } = await boughtCoins('purchased');
      await redis.del(record);
      await claimCoins(purchaseToken, freshId());
      return subject;
    },
    kind: 'granted_twice',
  },
  'a granted purchase that was deleted': {
    async make() {
      const { record, subject } = await boughtCoins('purchased');
      await redis.del(record);
      return subject;
    },
    kind: 'lost_purchase',
  },
  'a pending purchase of coins that was deleted': {
    async make() {
      const { record, subject } = await boughtCoins('pending');
      await redis.del(record);
      return subject;
    },
    kind: 'lost_purchase',
  },
  'a purchase of coins whose granted coins were changed': {
    make: () => changedPurchase({ granted: 5000 }),
    kind: 'purchase_differs',
    mends: true,
  },
  'a purchase of coins whose unitCoins were changed': {
    make: () => changedPurchase({ unitCoins: 5000 }),
    kind: 'purchase_differs',
    mends: true,
  },
  'a purchase of coins whose granted coins and unitCoins were changed': {
    make: () => changedPurchase({ granted: 5000, unitCoins: 5000 }),
    kind: 'purchase_differs',
    mends: true,
  },
  'a purchase of coins whose granted units were changed': {
    make: () => changedPurchase({ grantedUnits: 3 }),
    kind: 'purchase_differs',
    mends: true,
  },
  'a purchase of coins whose taken coins were changed': {
    make: () => changedPurchase({ taken: 20 }),
    kind: 'purchase_differs',
    mends: true,
  },
  'a purchase of coins whose quantity was changed': {
    make: () => changedPurchase({ quantity: 3 }),
    kind: 'purchase_differs',
    mends: true,
  },
  'a purchase of coins whose refunded units were changed': {
    make: () => changedPurchase({ refunded: 1 }),
    kind: 'purchase_differs',
    mends: true,
  },
  'a purchase of coins whose number of entries was lowered': {
    make: () => changedPurchase({ entries: 0 }),
    kind: 'purchase_differs',
    mends: true,
  },
  'a purchase of coins whose number of entries was raised': {
    make: () => changedPurchase({ entries: 2 }),
    kind: 'purchase_without_entry',
  },
  'a purchase of coins whose owner was changed': {
    make: async () => changedPurchase({ owner: await accountWith([5]) }),
    kind: 'wrong_owner',
    mends: true,
  },
  'a pending purchase of coins whose owner was changed': {
    async make() {
      const { record, subject } = await boughtCoins('pending');
      await redis.hset(record, 'owner', await accountWith([5]));
      return subject;
    },
    kind: 'wrong_owner',
    mends: true,
  },
  'a purchase of coins without its owner': {
    async make() {
      const { record, subject } = await boughtCoins('purchased');
      await redis.hdel(record, 'owner');
      return subject;
    },
    kind: 'unreadable_record',
  },
  'a purchase of coins whose only entry is lost with its key': {
    async make() {
      const { id, subject } = await boughtCoins('purchased');
      await redis.del(ledger(id), bucket(id));
      return subject;
    },
    kind: 'purchase_without_entry',
    mends: true,
  },
  'a purchase of coins that another account lists as well': {
    async make() {
      const { purchaseId } = await boughtCoins('purchased');
      const other = await accountWith([5]);
      await redis.zadd(`{${other}}:product-purchases`, 0, purchaseId);
      return `account ${other}`;
    },
    kind: 'foreign_listed',
    mends: true,
  },
  'a purchase of coins in the queue that does not exist': {
    async make() {
      await redis.zadd('product-purchases:due', Date.now() + HOUR_MS, 'A'.repeat(22));
      return `coin-purchase ${'A'.repeat(22)}`;
    },
    kind: 'lost_purchase',
  },
  'a purchase of coins whose granted coins were changed, and that was refunded then': {
    make: () => refundedPurchase({ granted: 5000 }),
    kind: 'purchase_differs',
    mends: true,
  },
  // The refund took too many coins. An operator has to give them back.
  'a purchase of coins whose unitCoins were changed, and that was refunded then': {
    make: () => refundedPurchase({ unitCoins: 5000 }),
    kind: 'purchase_differs',
  },
  'a purchase of coins whose granted coins and unitCoins were changed, and that was refunded then': {
    make: () => refundedPurchase({ granted: 5000, unitCoins: 5000 }),
    kind: 'purchase_differs',
  },
};
