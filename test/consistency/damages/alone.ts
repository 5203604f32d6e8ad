import { expect } from 'vitest';
import { KEY_SECRET } from '../../../src/features/coins/secret-keys.ts';
import { hookKeys } from '../../../src/features/webhooks/model.ts';
import { freshId } from '../../harness.ts';
import { accountWith, bought, boughtCoins, redis, service, type Damages } from './data.ts';

/** Damages of keys that all data shares. Each needs its own Redis. */
export const aloneDamages: Damages = {
  'a queue of subscriptions that is lost': {
    async make() {
      for (let count = 0; count < 4; count++) await bought();
      await redis.del('purchases:due');
      return 'queue purchases:due';
    },
    kind: 'lost_queue',
    mends: true,
  },
  'a queue of purchases of coins that is lost': {
    async make() {
      for (let count = 0; count < 4; count++) await boughtCoins('pending');
      await redis.del('product-purchases:due');
      return 'queue product-purchases:due';
    },
    kind: 'lost_queue',
    mends: true,
  },
  'an index of tombstones that is lost': {
    async make() {
      for (let count = 0; count < 4; count++) {
        const installId = freshId();
        await accountWith([5], installId);
        const { confirm } = (await service.post('/v1/account/delete', { installId })).body;
        expect((await service.post('/v1/account/delete', { installId, confirm })).status).toBe(200);
      }
      await expect.poll(async () => [await redis.zcard('deletions:due'), await redis.zcard('tombstones')]).toEqual([0, 4]);
      await redis.del('tombstones');
      return 'key tombstones';
    },
    kind: 'tombstone_without_index',
    mends: true,
  },
  'server keys that are all lost': {
    async make() {
      await redis.hset('{server-keys}:used', { abcd1234: Date.now(), efgh5678: Date.now() });
      return 'key {server-keys}';
    },
    kind: 'lost_server_keys',
  },
  'webhooks that are all lost': {
    async make() {
      for (const id of ['abcd1234', 'efgh5678']) await redis.lpush(hookKeys.delivered(id), '{}');
      return `key ${hookKeys.hooks}`;
    },
    kind: 'lost_webhooks',
  },
  'a secret of the ledgers that was changed': {
    async make() {
      for (let count = 0; count < 12; count++) await accountWith([5, 6, 7]);
      await boughtCoins('purchased');
      await redis.set(KEY_SECRET, 'f'.repeat((await redis.get(KEY_SECRET))!.length));
      return `key ${KEY_SECRET}`;
    },
    kind: 'changed_key_secret',
  },
};
