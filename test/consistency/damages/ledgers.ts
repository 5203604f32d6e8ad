import { accountKey } from '../../../src/accounts/account-keys.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import {
  bucket,
  entryAt,
  hashOf,
  HOUR_MS,
  largeAccount,
  ledger,
  ofAccount,
  ofCoins,
  redis,
  rewrite,
  rewritten,
  type Damages,
} from './data.ts';

/** Leads a key to entries. */
const lead = async (id: string, key: string, entries: string | number, number = 0) =>
  redis.hset(bucket(id, number), await hashOf(key), entries);

const ofLarge = (damage: (id: string) => Promise<unknown>) =>
  ofAccount(
    async () => ({ id: await largeAccount() }),
    ({ id }) => damage(id),
  );

export const ledgerDamages: Damages = {
  'an entry that is missing': {
    kind: 'broken_chain',
    lasting: ofCoins([5, 6, 7, 8], async (id) => redis.lrem(ledger(id), 1, await entryAt(id, 1))),
  },
  'the newest entry that is missing': { kind: 'key_without_entry', lasting: ofCoins([5, 6, 7], (id) => redis.rpop(ledger(id))) },
  'the oldest entry that is missing': { kind: 'key_without_entry', lasting: ofCoins([5, 6, 7], (id) => redis.lpop(ledger(id))) },
  'an entry that stands twice': {
    kind: 'broken_chain',
    mended: ofCoins([5, 6, 7], async (id) => redis.rpush(ledger(id), await entryAt(id, -1))),
  },
  'two entries in the wrong order': {
    kind: 'broken_chain',
    lasting: ofCoins([5, 6, 7, 8], async (id) => {
      const second = await entryAt(id, 1);
      await redis.lset(ledger(id), 1, await entryAt(id, 2));
      await redis.lset(ledger(id), 2, second);
    }),
  },
  'a balance that is off by one': { kind: 'wrong_sum', lasting: rewritten([5, 6, 7], 2, /^3:18 /, '3:19 ') },
  'coins that are off by one': { kind: 'wrong_sum', lasting: rewritten([5, 6, 7], 1, ' p6 ', ' p7 ') },
  'a sum that is wrong in the middle of a ledger': { kind: 'wrong_sum', mended: rewritten([5, 6, 7, 8], 1, /^2:11 /, '2:12 ') },
  'a balance below 0': { kind: 'wrong_balance', lasting: rewritten([5], 0, '1:5 c5 ', '1:-5 d-5 ') },
  'a prize under a key that a caller may send': { kind: 'wrong_operation', lasting: rewritten([5], 0, '1:5 c5 ', '1:5 w5 ') },
  'an entry of an unknown type': { kind: 'wrong_operation', lasting: rewritten([5], 0, ' c5 ', ' x5 ') },
  'a grant of no coins': { kind: 'wrong_operation', lasting: rewritten([5], 0, /^1:5 c5 (\w+) /, '1:0 g0 $1~kabcd1234 ') },
  'a grant that does not say which key made it': { kind: 'wrong_origin', lasting: rewritten([5], 0, ' c5 ', ' g5 ') },
  'a client’s credit with the origin of a server key': {
    kind: 'wrong_origin',
    lasting: rewritten([5], 0, /^(1:5 c5 \w+) /, '$1~kabcd1234 '),
  },
  'an adjustment whose operator cannot be read': {
    kind: 'wrong_origin',
    lasting: rewritten([5], 0, /^1:5 c5 (\w+) /, '1:5 a5 $1~onothing '),
  },
  'a text that is no entry': { kind: 'unreadable_entry', lasting: rewritten([5, 6], 1, /.*/, 'nonsense') },
  'an entry of a ledger that is older than the one before it': {
    kind: 'wrong_time',
    lasting: rewritten([5, 6, 7], 2, /^(3:18 c7) \w+ /, `$1 ${(Date.now() - HOUR_MS).toString(36)} `),
  },
  'an entry far in the future': {
    kind: 'wrong_time',
    lasting: rewritten([5, 6, 7], 2, /^(3:18 c7) \w+ /, `$1 ${(Date.now() + 7320 * 24 * HOUR_MS).toString(36)} `),
  },
  'an entry of tomorrow': {
    kind: 'wrong_time',
    lasting: rewritten([5, 6, 7], 2, /^(3:18 c7) \w+ /, `$1 ${(Date.now() + 24 * HOUR_MS).toString(36)} `),
  },
  'a key that points at another entry': { kind: 'key_points_elsewhere', mended: ofCoins([5, 6, 7], (id) => lead(id, 'k1', 2)) },
  'a hash that leads to no number': { kind: 'key_points_elsewhere', mended: ofCoins([5], (id) => lead(id, 'k1', 'first')) },
  'a bucket with something else than a hash': {
    kind: 'key_points_elsewhere',
    lasting: ofCoins([5], (id) => redis.hset(bucket(id), 'k1', 1)),
  },
  // The index still has k2, which now leads to an entry with the key k1.
  'a key that two entries have': { kind: 'key_points_elsewhere', lasting: rewritten([5, 6, 7], 1, /k2$/, 'k1') },
  'a key that two entries have, and the index leads to both': {
    kind: 'key_used_twice',
    lasting: ofCoins([5, 6, 7], async (id) => {
      await rewrite(id, 1, (entry) => entry.replace(/k2$/, 'k1'));
      await redis.hdel(bucket(id), await hashOf('k2'));
      await lead(id, 'k1', '1,2');
    }),
  },
  'a hash that leads to an entry twice': { kind: 'key_twice', mended: ofCoins([5, 6, 7], (id) => lead(id, 'k2', '2,2')) },
  'a key without an entry': { kind: 'key_without_entry', lasting: ofCoins([5, 6, 7], (id) => lead(id, 'k9', 9)) },
  'a key without an entry in a long ledger': { kind: 'key_without_entry', lasting: ofLarge((id) => lead(id, 'nothing', 500, 4)) },
  'an entry that the index does not have': {
    kind: 'entry_without_key',
    mended: ofCoins([5, 6, 7], async (id) => redis.hdel(bucket(id), await hashOf('k2'))),
  },
  'a bucket that is lost': { kind: 'entry_without_key', mended: ofLarge((id) => redis.del(bucket(id, 3))) },
  'a key in the wrong bucket of a long ledger': {
    kind: 'key_in_wrong_bucket',
    mended: ofLarge(async (id) => {
      const [key, place] = Object.entries(await redis.hgetall(bucket(id, 2)))[0]!;
      await redis.hdel(bucket(id, 2), key);
      await redis.hset(bucket(id, 3), key, place);
    }),
  },
  'an entry that is missing on the second page of a ledger': {
    kind: 'broken_chain',
    lasting: ofLarge(async (id) => redis.lrem(ledger(id), 1, await entryAt(id, 128))),
  },
  'a bucket of nobody': {
    kind: 'lost_account',
    lasting: async () => {
      await lead('nobody-at-all', 'k1', 1);
      return 'account nobody-at-all';
    },
  },
  'a bucket beyond the ledger': { kind: 'orphan_bucket', mended: ofCoins([5], (id) => lead(id, 'k1', 1, 1)) },
  'a ledger that is lost': { kind: 'lost_ledger', lasting: ofCoins([5], (id) => redis.del(ledger(id))) },
  'a ledger without an account': { kind: 'lost_account', lasting: ofCoins([5], (id) => redis.del(accountKey(id))) },
  'a counter of credits that is no number': {
    kind: 'wrong_counter',
    mended: ofCoins([5], (id) => redis.set(coinKeys.credited(id, Date.now()), 'five', 'EX', 600)),
  },
};
