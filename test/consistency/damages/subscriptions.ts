import { expect } from 'vitest';
import { accountKey } from '../../../src/accounts/account-keys.ts';
import { subscriptionKeys } from '../../../src/features/subscription/model.ts';
import { freshId } from '../../harness.ts';
import { accountWith, bought, HOUR_MS, moved, redis, type Damages } from './data.ts';

export const subscriptionDamages: Damages = {
  'a purchase in the queue that does not exist': {
    async make() {
      await redis.zadd('purchases:due', Date.now() + HOUR_MS, 'no-purchase');
      return 'purchase no-purchase';
    },
    kind: 'lost_purchase',
  },
  'a running purchase that is not in the queue': {
    async make() {
      const { hash } = await bought();
      await redis.zrem('purchases:due', hash);
      return `purchase ${hash}`;
    },
    kind: 'document_without_queue',
    mends: true,
  },
  'a purchase that others have to follow and that is not in the queue': {
    async make() {
      const { hash } = await bought();
      await redis.hset(subscriptionKeys.purchase(hash), 'todo', 'line');
      await redis.zrem('purchases:due', hash);
      return `purchase ${hash}`;
    },
    kind: 'document_without_queue',
    mends: true,
  },
  'a purchase that was replaced and stays in the queue': {
    async make() {
      const { hash, id } = await bought();
      await redis.hset(subscriptionKeys.purchase(hash), 'retiredBy', 'another');
      await redis.hdel(accountKey(id), 'purchases');
      return 'queue purchases:due';
    },
    kind: 'queue_without_document',
    mends: true,
  },
  'a purchase whose account has no line of it': {
    async make() {
      const { id } = await bought();
      await redis.hdel(accountKey(id), 'purchases');
      return `account ${id}`;
    },
    kind: 'purchase_without_line',
    mends: true,
  },
  'one of two purchases whose account has no line of it': {
    async make() {
      const installId = freshId();
      await bought(installId);
      const { hash, id } = await bought(installId);
      const lines = (await redis.hget(accountKey(id), 'purchases'))!.split('\n');
      expect(lines).toHaveLength(2);
      await redis.hset(
        accountKey(id),
        'purchases',
        lines.find((line) => !line.startsWith(hash))!,
      );
      return `account ${id}`;
    },
    kind: 'purchase_without_line',
    mends: true,
  },
  'a purchase whose line was lost in the move of its guest': {
    async make() {
      const { target } = await moved((installId) => bought(installId));
      await redis.hdel(accountKey(target), 'purchases');
      return `account ${target}`;
    },
    kind: 'purchase_without_line',
    mends: true,
  },
  'a purchase whose account is lost': {
    async make() {
      const { id } = await bought();
      await redis.del(accountKey(id));
      return `account ${id}`;
    },
    kind: 'lost_account',
  },
  'a line of a purchase that does not exist': {
    async make() {
      const { hash } = await bought();
      await redis.del(subscriptionKeys.purchase(hash));
      await redis.zrem('purchases:due', hash);
      return `purchase ${hash}`;
    },
    kind: 'lost_purchase',
  },
  'a line of a purchase that another one replaced': {
    async make() {
      const { hash, id } = await bought();
      await redis.hset(subscriptionKeys.purchase(hash), 'retiredBy', 'another');
      await redis.zrem('purchases:due', hash);
      return `account ${id}`;
    },
    kind: 'line_without_purchase',
  },
  'a line of the purchase of another account': {
    async make() {
      const [{ id: owner }, id] = [await bought(), await accountWith([5])];
      await redis.hset(accountKey(id), 'purchases', (await redis.hget(accountKey(owner), 'purchases'))!);
      return `account ${id}`;
    },
    kind: 'line_without_purchase',
  },
  'a line that says more than the purchase': {
    async make() {
      const { hash, id } = await bought();
      await redis.hset(subscriptionKeys.purchase(hash), 'state', 'canceled');
      return `account ${id}`;
    },
    kind: 'line_differs',
    mends: true,
  },
  'a subscription whose owner was changed': {
    async make() {
      const { hash } = await bought();
      await redis.hset(subscriptionKeys.purchase(hash), 'owner', await accountWith([5]));
      return `purchase ${hash}`;
    },
    kind: 'wrong_owner',
    mends: true,
  },
};
