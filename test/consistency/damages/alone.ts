import { expect } from 'vitest';
import { KEY_SECRET } from '../../../src/features/coins/secret-keys.ts';
import { DATA_VERSION_KEY } from '../../../src/redis/data-version.ts';
import { hookKeys } from '../../../src/features/webhooks/model.ts';
import { freshId } from '../../harness.ts';
import { accountWith, bought, boughtCoins, redis, service, type Damages } from './data.ts';

/** Damages something of which there are several documents. */
function ofSeveral(count: number, made: () => Promise<unknown>, damage: () => Promise<unknown>, subject: string): () => Promise<string> {
  return async () => {
    for (let index = 0; index < count; index++) await made();
    await damage();
    return subject;
  };
}

/** Damages the secret of many ledgers, which is one finding. */
const ofSecret = (damage: () => Promise<unknown>) => ofSeveral(12, () => accountWith([5, 6, 7]), damage, `key ${KEY_SECRET}`);

async function deleteAccount(): Promise<void> {
  const installId = freshId();
  await accountWith([5], installId);
  const { confirm } = (await service.post('/v1/account/delete', { installId })).body;
  expect((await service.post('/v1/account/delete', { installId, confirm })).status).toBe(200);
  await expect.poll(() => redis.zcard('deletions:due')).toBe(0);
}

/** Damages of keys that all data shares. Each needs its own Redis. */
export const aloneDamages: Damages = {
  'a queue of subscriptions that is lost': {
    kind: 'lost_queue',
    mended: ofSeveral(4, bought, () => redis.del('purchases:due'), 'queue purchases:due'),
  },
  'a queue of purchases of coins that is lost': {
    kind: 'lost_queue',
    mended: ofSeveral(
      4,
      () => boughtCoins('pending'),
      () => redis.del('product-purchases:due'),
      'queue product-purchases:due',
    ),
  },
  'an index of tombstones that is lost': {
    kind: 'tombstone_without_index',
    mended: ofSeveral(4, deleteAccount, () => redis.del('tombstones'), 'key tombstones'),
  },
  'server keys that are all lost': {
    kind: 'lost_server_keys',
    async lasting() {
      await redis.hset('{server-keys}:used', { abcd1234: Date.now(), efgh5678: Date.now() });
      return 'key {server-keys}';
    },
  },
  'webhooks that are all lost': {
    kind: 'lost_webhooks',
    async lasting() {
      for (const id of ['abcd1234', 'efgh5678']) await redis.lpush(hookKeys.delivered(id), '{}');
      return `key ${hookKeys.hooks}`;
    },
  },
  'a secret of the ledgers that was changed': {
    kind: 'changed_key_secret',
    async lasting() {
      await boughtCoins('purchased');
      return ofSecret(() => redis.set(KEY_SECRET, 'f'.repeat(16)))();
    },
  },
  'a secret of the ledgers that is missing': { kind: 'no_key_secret', lasting: ofSecret(() => redis.del(KEY_SECRET)) },
  'a secret of the ledgers that is no secret': { kind: 'bad_key_secret', lasting: ofSecret(() => redis.set(KEY_SECRET, 'abc')) },
  'a version of the data that is lost': {
    kind: 'wrong_version',
    lasting: ofSeveral(
      1,
      () => accountWith([5]),
      () => redis.del(DATA_VERSION_KEY),
      `key ${DATA_VERSION_KEY}`,
    ),
  },
};
