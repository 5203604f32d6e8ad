import { expect } from 'vitest';
import { KEY_SECRET } from '../../../src/features/coins/secret-keys.ts';
import { COUNTERS_TAG, dayNumber } from '../../../src/redis/counters.ts';
import { DATA_VERSION_KEY } from '../../../src/redis/data/data-version.ts';
import { eventKeys } from '../../../src/features/events/model.ts';
import { numberKeys } from '../../../src/features/numbers/model.ts';
import { GIVEN_NAMES } from '../../../src/features/names/model.ts';
import { hookKeys } from '../../../src/features/webhooks/model.ts';
import { OPERATOR_LOG } from '../../../src/operator/operator-log.ts';
import { freshId } from '../../harness.ts';
import {
  accountWith,
  bannedForAnHour,
  bought,
  boughtCoins,
  deleteAccount,
  ofAccount,
  redis,
  renamed,
  service,
  told,
  type Damages,
} from './data.ts';

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

/** Makes a log of events of three chunks, of which the second is lost. The service drops the oldest chunk if that one is lost. */
async function loseChunk(): Promise<void> {
  await redis.rpush(eventKeys.chunk(2), (await redis.lindex(eventKeys.chunk(0), -1))!);
  await redis.zadd(eventKeys.chunks, 1, '1', 2, '2');
  await redis.hset(eventKeys.state, 'next', 2001, 'readable', 2001);
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
  'a queue of bans that is lost': {
    kind: 'lost_queue',
    mended: ofSeveral(4, bannedForAnHour, () => redis.del('bans:due'), 'queue bans:due'),
  },
  'an index of given names that is lost': {
    kind: 'name_differs',
    mended: ofSeveral(4, renamed, () => redis.del(GIVEN_NAMES), `key ${GIVEN_NAMES}`),
  },
  'a counter of a day that differs from the ledgers': {
    kind: 'numbers_differ',
    async mended() {
      await accountWith([5, -3]);
      const now = Date.now();
      await redis.hincrby(numberKeys.counters(COUNTERS_TAG, dayNumber(now)), '-d', 2);
      return `day ${new Date(now).toISOString().slice(0, 10)}`;
    },
  },
  'an event with a number that is off by three': {
    kind: 'wrong_event_number',
    lasting: ofAccount(told, ({ change }) => change(2, / 2 1:/, ' 5 1:')),
  },
  'a last event with a number that is off by three': {
    kind: 'wrong_event_number',
    lasting: ofAccount(told, ({ change }) => change(3, / 3 2:/, ' 6 2:')),
  },
  'an event with another balance than its entry': {
    kind: 'event_without_entry',
    lasting: ofAccount(told, ({ change }) => change(3, / 2:11 /, ' 2:12 ')),
  },
  'an entry of the operators’ log that cannot be read': {
    kind: 'unreadable_log',
    async lasting() {
      await redis.rpush(OPERATOR_LOG, 'nonsense');
      return `key ${OPERATOR_LOG}`;
    },
  },
  'a chunk of events that is lost': {
    kind: 'lost_events',
    lasting: ofSeveral(4, told, loseChunk, `key ${eventKeys.chunk(1)}`),
  },
  'a list of the chunks of events that is lost': {
    kind: 'chunk_not_listed',
    mended: ofSeveral(4, told, () => redis.del(eventKeys.chunks), `key ${eventKeys.chunks}`),
  },
  'an event that cannot be read': {
    kind: 'unreadable_event',
    lasting: ofSeveral(1, told, () => redis.lset(eventKeys.chunk(0), 1, 'nonsense'), `key ${eventKeys.chunk(0)}`),
  },
  'a state of the events that is set back': {
    kind: 'events_set_back',
    mended: ofSeveral(4, told, () => redis.hset(eventKeys.state, 'next', 3), `key ${eventKeys.state}`),
  },
  'a state of the events whose readable position is no number': {
    kind: 'events_set_back',
    mended: ofSeveral(4, told, () => redis.hset(eventKeys.state, 'readable', 'nonsense'), `key ${eventKeys.state}`),
  },
  'a state of the events that names an older event': {
    kind: 'events_set_back',
    lasting: ofSeveral(4, told, () => redis.hset(eventKeys.state, 'from:', '1795000000000000'), `key ${eventKeys.state}`),
  },
  'data that was emptied': {
    kind: 'no_data',
    lasting: ofSeveral(
      4,
      () => accountWith([5]),
      () => redis.flushall(),
      'all keys',
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
