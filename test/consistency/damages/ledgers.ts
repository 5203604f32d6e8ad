import { accountKey } from '../../../src/accounts/account-keys.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { accountWith, bucket, hashOf, HOUR_MS, largeAccount, ledger, redis, rewrite, type Damages } from './data.ts';

export const ledgerDamages: Damages = {
  'an entry that is missing': {
    async make() {
      const id = await accountWith([5, 6, 7, 8]);
      await redis.lrem(ledger(id), 1, (await redis.lindex(ledger(id), 1))!);
      return `account ${id}`;
    },
    kind: 'broken_chain',
  },
  'the newest entry that is missing': {
    async make() {
      const id = await accountWith([5, 6, 7]);
      await redis.rpop(ledger(id));
      return `account ${id}`;
    },
    kind: 'key_without_entry',
  },
  'the oldest entry that is missing': {
    async make() {
      const id = await accountWith([5, 6, 7]);
      await redis.lpop(ledger(id));
      return `account ${id}`;
    },
    kind: 'key_without_entry',
  },
  'an entry that stands twice': {
    async make() {
      const id = await accountWith([5, 6, 7]);
      await redis.rpush(ledger(id), (await redis.lindex(ledger(id), -1))!);
      return `account ${id}`;
    },
    kind: 'broken_chain',
    mends: true,
  },
  'two entries in the wrong order': {
    async make() {
      const id = await accountWith([5, 6, 7, 8]);
      const [second, third] = await redis.lrange(ledger(id), 1, 2);
      await redis.lset(ledger(id), 1, third!);
      await redis.lset(ledger(id), 2, second!);
      return `account ${id}`;
    },
    kind: 'broken_chain',
  },
  'a balance that is off by one': {
    make: async () => rewrite(await accountWith([5, 6, 7]), 2, (entry) => entry.replace(/^3:18 /, '3:19 ')),
    kind: 'wrong_sum',
  },
  'coins that are off by one': {
    make: async () => rewrite(await accountWith([5, 6, 7]), 1, (entry) => entry.replace(' p6 ', ' p7 ')),
    kind: 'wrong_sum',
  },
  'a balance below 0': {
    make: async () => rewrite(await accountWith([5]), 0, (entry) => entry.replace('1:5 c5 ', '1:-5 d-5 ')),
    kind: 'wrong_balance',
  },
  'a prize under a key that a caller may send': {
    make: async () => rewrite(await accountWith([5]), 0, (entry) => entry.replace('1:5 c5 ', '1:5 w5 ')),
    kind: 'wrong_operation',
  },
  'an entry of an unknown type': {
    make: async () => rewrite(await accountWith([5]), 0, (entry) => entry.replace(' c5 ', ' x5 ')),
    kind: 'wrong_operation',
  },
  'a grant that does not say which key made it': {
    make: async () => rewrite(await accountWith([5]), 0, (entry) => entry.replace(' c5 ', ' g5 ')),
    kind: 'wrong_origin',
  },
  'a client’s credit with the origin of a server key': {
    make: async () => rewrite(await accountWith([5]), 0, (entry) => entry.replace(/^(1:5 c5 \w+) /, '$1~kabcd1234 ')),
    kind: 'wrong_origin',
  },
  'an adjustment whose operator cannot be read': {
    make: async () => rewrite(await accountWith([5]), 0, (entry) => entry.replace(/^1:5 c5 (\w+) /, '1:5 a5 $1~onothing ')),
    kind: 'wrong_origin',
  },
  'a grant of no coins': {
    make: async () => rewrite(await accountWith([5]), 0, (entry) => entry.replace(/^1:5 c5 (\w+) /, '1:0 g0 $1~kabcd1234 ')),
    kind: 'wrong_operation',
  },
  'a text that is no entry': {
    make: async () => rewrite(await accountWith([5, 6]), 1, () => 'nonsense'),
    kind: 'unreadable_entry',
  },
  'a key that points at another entry': {
    async make() {
      const id = await accountWith([5, 6, 7]);
      await redis.hset(bucket(id), await hashOf('k1'), (await redis.hget(bucket(id), await hashOf('k2')))!);
      return `account ${id}`;
    },
    kind: 'key_points_elsewhere',
    mends: true,
  },
  'a key without an entry': {
    async make() {
      const id = await accountWith([5, 6, 7]);
      await redis.hset(bucket(id), await hashOf('k9'), 9);
      return `account ${id}`;
    },
    kind: 'key_without_entry',
  },
  'an entry that the index does not have': {
    async make() {
      const id = await accountWith([5, 6, 7]);
      await redis.hdel(bucket(id), await hashOf('k2'));
      return `account ${id}`;
    },
    kind: 'entry_without_key',
    mends: true,
  },
  'a key that two entries have, and the index leads to both': {
    async make() {
      const id = await accountWith([5, 6, 7]);
      await rewrite(id, 1, (entry) => entry.replace(/k2$/, 'k1'));
      await redis.hdel(bucket(id), await hashOf('k2'));
      await redis.hset(bucket(id), await hashOf('k1'), '1,2');
      return `account ${id}`;
    },
    kind: 'key_used_twice',
  },
  'a hash that leads to an entry twice': {
    async make() {
      const id = await accountWith([5, 6, 7]);
      await redis.hset(bucket(id), await hashOf('k2'), '2,2');
      return `account ${id}`;
    },
    kind: 'key_twice',
    mends: true,
  },
  'a key that two entries have': {
    make: async () => rewrite(await accountWith([5, 6, 7]), 1, (entry) => entry.replace(/k2$/, 'k1')),
    // The index still has k2, which now leads to an entry with the key k1.
    kind: 'key_points_elsewhere',
  },
  'a bucket with something else than a hash': {
    async make() {
      const id = await accountWith([5]);
      await redis.hset(bucket(id), 'k1', 1);
      return `account ${id}`;
    },
    kind: 'key_points_elsewhere',
  },
  'a hash that leads to no number': {
    async make() {
      const id = await accountWith([5]);
      await redis.hset(bucket(id), await hashOf('k1'), 'first');
      return `account ${id}`;
    },
    kind: 'key_points_elsewhere',
    mends: true,
  },
  'a key in the wrong bucket of a long ledger': {
    async make() {
      const id = await largeAccount();
      const [key, place] = Object.entries(await redis.hgetall(bucket(id, 2)))[0]!;
      await redis.hdel(bucket(id, 2), key);
      await redis.hset(bucket(id, 3), key, place);
      return `account ${id}`;
    },
    kind: 'key_in_wrong_bucket',
    mends: true,
  },
  'an entry that is missing on the second page of a ledger': {
    async make() {
      const id = await largeAccount();
      await redis.lrem(ledger(id), 1, (await redis.lindex(ledger(id), 128))!);
      return `account ${id}`;
    },
    kind: 'broken_chain',
  },
  'a key without an entry in a long ledger': {
    async make() {
      const id = await largeAccount();
      await redis.hset(bucket(id, 4), await hashOf('nothing'), 500);
      return `account ${id}`;
    },
    kind: 'key_without_entry',
  },
  'a bucket that is lost': {
    async make() {
      const id = await largeAccount();
      await redis.del(bucket(id, 3));
      return `account ${id}`;
    },
    kind: 'entry_without_key',
    mends: true,
  },
  'a bucket of nobody': {
    async make() {
      await redis.hset(bucket('nobody-at-all'), await hashOf('k1'), 1);
      return 'account nobody-at-all';
    },
    kind: 'lost_account',
  },
  'a bucket beyond the ledger': {
    async make() {
      const id = await accountWith([5]);
      await redis.hset(bucket(id, 1), await hashOf('k1'), 1);
      return `account ${id}`;
    },
    kind: 'orphan_bucket',
    mends: true,
  },
  'a ledger that is lost': {
    async make() {
      const id = await accountWith([5]);
      await redis.del(ledger(id));
      return `account ${id}`;
    },
    kind: 'lost_ledger',
  },
  'a ledger without an account': {
    async make() {
      const id = await accountWith([5]);
      await redis.del(accountKey(id));
      return `account ${id}`;
    },
    kind: 'lost_account',
  },
  'a ledger of the wrong type': {
    async make() {
      await redis.set('{wrong-type}:ledger', 'text');
      return 'key {wrong-type}:ledger';
    },
    kind: 'wrong_type',
  },
  'a counter of credits that never expires': {
    async make() {
      const id = await accountWith([5]);
      await redis.set(coinKeys.credited(id, Date.now()), 5);
      return `account ${id}`;
    },
    kind: 'wrong_counter',
    mends: true,
  },
  'an entry of a ledger that is older than the one before it': {
    make: async () =>
      rewrite(await accountWith([5, 6, 7]), 2, (entry) => entry.replace(/^(3:18 c7) \w+ /, `$1 ${(Date.now() - HOUR_MS).toString(36)} `)),
    kind: 'wrong_time',
  },
  'a sum that is wrong in the middle of a ledger': {
    make: async () => rewrite(await accountWith([5, 6, 7, 8]), 1, (entry) => entry.replace(/^2:11 /, '2:12 ')),
    kind: 'wrong_sum',
    mends: true,
  },
  'an entry far in the future': {
    make: async () =>
      rewrite(await accountWith([5, 6, 7]), 2, (entry) =>
        entry.replace(/^(3:18 c7) \w+ /, `$1 ${(Date.now() + 20 * 366 * 24 * HOUR_MS).toString(36)} `),
      ),
    kind: 'wrong_time',
  },
};
