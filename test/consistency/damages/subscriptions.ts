import { expect } from 'vitest';
import { accountKey } from '../../../src/accounts/account-keys.ts';
import { subscriptionKeys } from '../../../src/features/purchases/subscription/model.ts';
import { freshId } from '../../harness.ts';
import { accountWith, bought, moved, ofAccount, ofCoins, queuedAlone, redis, type Damages } from './data.ts';

type Bought = Awaited<ReturnType<typeof bought>>;

/** Damages a purchase, which is the subject. */
function ofPurchase(damage: (purchase: Bought) => Promise<unknown>) {
  return async (): Promise<string> => {
    const purchase = await bought();
    await damage(purchase);
    return `purchase ${purchase.hash}`;
  };
}

const change = (hash: string, field: string, value: string) => redis.hset(subscriptionKeys.purchase(hash), field, value);
const leaveQueue = (hash: string) => redis.zrem('purchases:due', hash);
const dropLines = (id: string) => redis.hdel(accountKey(id), 'purchases');

export const subscriptionDamages: Damages = {
  'a purchase in the queue that does not exist': {
    kind: 'lost_purchase',
    lasting: queuedAlone('purchases:due', 'no-purchase', 'purchase no-purchase'),
  },
  'a running purchase that is not in the queue': { kind: 'document_without_queue', mended: ofPurchase(({ hash }) => leaveQueue(hash)) },
  'a running purchase that its queue has for a time beyond all calendars': {
    kind: 'document_without_queue',
    mended: ofPurchase(({ hash }) => redis.zadd('purchases:due', 'XX', '1e300', hash)),
  },
  'a purchase whose end is no time': {
    kind: 'unreadable_record',
    lasting: ofPurchase(({ hash }) => change(hash, 'expiresAt', '9'.repeat(20))),
  },
  'a purchase in a state that no store has': {
    kind: 'unreadable_record',
    lasting: ofPurchase(({ hash }) => change(hash, 'state', 'nonsense')),
  },
  'a purchase that others have to follow and that is not in the queue': {
    kind: 'document_without_queue',
    mended: ofPurchase(async ({ hash }) => {
      await change(hash, 'todo', 'line');
      await leaveQueue(hash);
    }),
  },
  'a purchase that was replaced and stays in the queue': {
    kind: 'queue_without_document',
    async mended() {
      const { hash, id } = await bought();
      await change(hash, 'retiredBy', 'another');
      await dropLines(id);
      return 'queue purchases:due';
    },
  },
  'a purchase whose account has no line of it': { kind: 'purchase_without_line', mended: ofAccount(bought, ({ id }) => dropLines(id)) },
  'one of two purchases whose account has no line of it': {
    kind: 'purchase_without_line',
    async mended() {
      const installId = freshId();
      await bought(installId);
      const { hash, id } = await bought(installId);
      const lines = (await redis.hget(accountKey(id), 'purchases'))!.split('\n');
      expect(lines).toHaveLength(2);
      await redis.hset(accountKey(id), { purchases: lines.find((line) => !line.startsWith(hash))! });
      return `account ${id}`;
    },
  },
  'a purchase whose line was lost in the move of its guest': {
    kind: 'purchase_without_line',
    mended: ofAccount(
      async () => ({ id: (await moved(bought)).target }),
      ({ id }) => dropLines(id),
    ),
  },
  'a purchase whose account is lost': { kind: 'lost_account', lasting: ofAccount(bought, ({ id }) => redis.del(accountKey(id))) },
  'a line of a purchase that does not exist': {
    kind: 'lost_purchase',
    lasting: ofPurchase(async ({ hash }) => {
      await redis.del(subscriptionKeys.purchase(hash));
      await leaveQueue(hash);
    }),
  },
  'a line of a purchase that another one replaced': {
    kind: 'line_without_purchase',
    lasting: ofAccount(bought, async ({ hash }) => {
      await change(hash, 'retiredBy', 'another');
      await leaveQueue(hash);
    }),
  },
  'a line of the purchase of another account': {
    kind: 'line_without_purchase',
    lasting: ofCoins([5], async (id) => {
      const owner = (await bought()).id;
      await redis.hset(accountKey(id), 'purchases', (await redis.hget(accountKey(owner), 'purchases'))!);
    }),
  },
  'a line that says more than the purchase': {
    kind: 'line_differs',
    mended: ofAccount(bought, ({ hash }) => change(hash, 'state', 'canceled')),
  },
  'a subscription whose owner was changed': {
    kind: 'wrong_owner',
    mended: ofPurchase(async ({ hash }) => change(hash, 'owner', await accountWith([5]))),
  },
};
