import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { accountKey, standingKey } from '../../src/accounts/account-keys.ts';
import type { Finding } from '../../src/consistency/auditor.ts';
import { halfSipHash } from '../../src/features/coins/key-hash.ts';
import { KEY_SECRET } from '../../src/features/coins/secret-keys.ts';
import { bucketName, ledgerKeys } from '../../src/features/coins/ledger-layout.ts';
import { coinKeys } from '../../src/features/coins/model.ts';
import { boardKeys } from '../../src/features/highscores/model.ts';
import { pairKeys } from '../../src/features/pairing/model.ts';
import { deviceHash, trialKeys } from '../../src/features/trial/model.ts';
import { sessionsKey } from '../../src/accounts/session-list.ts';
import { adviceOf, advisedKinds } from '../../src/commands/audit/advice.ts';
import { roomKeys } from '../../src/features/rooms/model.ts';
import { storeKeys } from '../../src/features/store/model.ts';
import { subscriptionKeys } from '../../src/features/subscription/model.ts';
import { purchaseHash } from '../../src/features/subscription/purchase-token.ts';
import { DATA_VERSION_KEY } from '../../src/redis/data-version.ts';
import { addEntry, damageEntry, entryOn } from '../board-entries.ts';
import { freshId, signIn, start, type TestService } from '../harness.ts';
import { startRedis, type OwnRedis } from '../own-redis.ts';
import { Watcher } from '../realtime/watcher.ts';
import { openFullRoom } from '../server/full-room.ts';
import { issue, signInToStore } from '../store.ts';
import { audited } from './audited.ts';

/** Real data, made by the service. Each damage below then changes some of it by hand. */

const HOUR_MS = 3_600_000;

/** Kinds whose commands delete: a second copy of an entry or of a key, a list's copy of a purchase, and what a deletion left. */
const MAY_DELETE = new Set(['broken_chain', 'wrong_sum', 'key_in_wrong_bucket', 'foreign_listed', 'deleted_account_left']);

const REDIS_CLI = new URL('../../.cache/redis/redis-cli', import.meta.url).pathname;

/** Words with an underscore in the same files that are no kinds of findings. */
const NO_KINDS = new Set(['sign_in_required']);

let own: OwnRedis;
let service: TestService;
let redis: Redis;

interface Damage {
  /** Resolves with the subject that the audit has to name. */
  readonly make: () => Promise<string>;
  /** The kind of the one finding. */
  readonly kind: string;
  /** The commands of its advice put it right. Left out: it has none, because nobody can know the right value without a backup. */
  readonly mends?: true;
}

/** An account with an entry for each of these coins, under the keys k1, k2, … @returns its account id */
async function accountWith(coins: readonly number[], installId = freshId()): Promise<string> {
  for (const [index, each] of coins.entries()) {
    const operation = each < 0 ? 'debit' : index % 2 === 0 ? 'credit' : 'purchase';
    const { status } = await service.post(`/v1/coins/${operation}`, { installId, coins: Math.abs(each), key: `k${index + 1}` });
    expect(status).toBe(200);
  }
  return accountIdOf(installId);
}

/** An account with 130 entries: more than one page, in five buckets. */
async function largeAccount(installId = freshId()): Promise<string> {
  return accountWith(Array<number>(130).fill(7), installId);
}

/** A store account into which a guest moved. */
async function moved(guest: (installId: string) => Promise<unknown>): Promise<{ guest: string; target: string }> {
  const installId = freshId();
  await guest(installId);
  const { body } = await signInToStore(service, freshId('subject'), { installId });
  expect(body.moved).toBe(true);
  return { guest: accountIdOf(installId), target: body.accountId };
}

/** Buys a subscription. @returns the hash of the purchase, and the account's id */
async function bought(installId = freshId()): Promise<{ hash: string; id: string }> {
  const { purchaseToken } = await issue(service, { kind: 'subscription' });
  const { body } = await service.post('/v1/subscription/purchase', { installId, purchaseToken });
  expect(body.subscribed).toBe(true);
  return { hash: purchaseHash(purchaseToken), id: accountIdOf(installId) };
}

/** A purchase of coins that is pending, or granted and consumed. */
async function boughtCoins(state: 'pending' | 'purchased', installId = freshId()) {
  const { purchaseToken } = await issue(service, { kind: 'purchase', state });
  return claimCoins(purchaseToken, installId);
}

async function claimCoins(purchaseToken: string, installId: string) {
  const { body } = await service.post('/v1/purchases', { installId, store: 'google', purchaseToken });
  expect(body.ok).toBe(true);
  const { purchaseId } = body.purchase;
  const id = accountIdOf(installId);
  return { purchaseId, id, purchaseToken, record: `{product-purchase:${purchaseId}}`, subject: `coin-purchase ${purchaseId}` };
}

/** A granted purchase whose record is changed. */
async function changedPurchase(fields: Record<string, string | number>): Promise<string> {
  const { record, subject } = await boughtCoins('purchased');
  await redis.hset(record, fields);
  return subject;
}

async function player(game: string, score = 10): Promise<string> {
  const installId = freshId();
  expect((await service.post(`/v1/highscores/${game}`, { installId, score, name: 'Ada' })).status).toBe(200);
  return accountIdOf(installId);
}

/** A room of two players with data and a private part, which is damaged then. @param damage gets its key */
async function room(damage: (key: string) => Promise<void>): Promise<string> {
  const [host, guest] = [freshId(), freshId()];
  const { code } = (await service.post('/v1/rooms', { installId: host, tags: { mode: 'duel' } })).body.room;
  const act = async (action: string, installId: string, body: object = {}) =>
    expect((await service.post(`/v1/rooms/${code}/${action}`, { installId, ...body })).status).toBe(200);
  await act('join', guest);
  await act('data', guest, { data: { x: 1 } });
  await act('private', host, { seats: { p2: ['hearts-7'] }, state: { round: 1 } });
  await damage(roomKeys.room(code));
  return `room ${code}`;
}

/** An account with one entry, of which a key expires. */
async function expiring(keyOf: (id: string) => string): Promise<string> {
  const key = keyOf(await accountWith([5]));
  await redis.expire(key, 100_000);
  return `key ${key}`;
}

/** An account with the trial of a device. @returns the hash of the deviceId */
async function linkedTrial(): Promise<{ id: string; device: string }> {
  const [installId, deviceId] = [freshId(), freshId()];
  await service.post('/v1/trial/touch', { deviceId });
  const cookies = await signIn(service, installId);
  expect((await service.post('/v1/trial/link', {}, { cookies, headers: { 'x-device-id': deviceId } })).status).toBe(200);
  return { id: accountIdOf(installId), device: deviceHash(deviceId) };
}

/** A pairing that an account has claimed, which is damaged then. @param damage gets its key */
async function pairing(damage: (key: string) => Promise<void>): Promise<string> {
  const { token } = (await service.post('/v1/pair/new')).body;
  expect((await service.post('/v1/pair/claim', { token, installId: freshId() })).status).toBe(200);
  await damage(pairKeys.pair(token));
  return `pairing ${token.slice(0, 6)}…`;
}

/** A pairing that was claimed, and whose browser fetched its session. */
async function paired(): Promise<{ id: string; token: string }> {
  const installId = freshId();
  const { token, secret } = (await service.post('/v1/pair/new', { session: 'token' })).body;
  await service.post('/v1/pair/claim', { token, installId });
  const { body } = await service.get(`/v1/pair/status?token=${token}`, { headers: { 'x-pair-secret': secret } });
  expect(body.sessionToken).toEqual(expect.any(String));
  return { id: accountIdOf(installId), token };
}

const ledger = (id: string): string => coinKeys.ledger(id);
const bucket = (id: string, number = 0): string => ledgerKeys.bucket(id, number);

/** The hash of an idempotency key, as the index holds it. */
async function hashOf(key: string): Promise<string> {
  return String(halfSipHash(Buffer.from((await redis.get(KEY_SECRET))!, 'hex'))(key));
}

/** Changes an entry of a ledger, counted from 0. */
async function rewrite(id: string, index: number, change: (entry: string) => string): Promise<string> {
  await redis.lset(ledger(id), index, change((await redis.lindex(ledger(id), index))!));
  return `account ${id}`;
}

const damages: Record<string, Damage> = {
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
  'a guest whose record of the move is lost': {
    async make() {
      const { guest } = await moved((installId) => accountWith([5, 6], installId));
      await redis.set(accountKey(guest), 'x');
      await redis.del(accountKey(guest), standingKey(guest));
      return `account ${guest}`;
    },
    kind: 'lost_account',
    mends: true,
  },
  'a moved guest that still has coins': {
    async make() {
      const { guest, target } = await moved((installId) => accountWith([5, 6], installId));
      await redis.rpop(coinKeys.guestLedger(target, guest));
      return `account ${target}`;
    },
    // The guest's last entry is not the one that the record, the filed ledger and the account's ledger know.
    kind: 'half_move',
  },
  'a ledger of a guest with an entry that is missing': {
    async make() {
      const { guest, target } = await moved((installId) => largeAccount(installId));
      const copy = coinKeys.guestLedger(target, guest);
      await redis.lrem(copy, 1, (await redis.lindex(copy, 7))!);
      return `guest ${guest} of account ${target}`;
    },
    kind: 'broken_chain',
  },
  'a bucket of a guest that is lost': {
    async make() {
      const { guest, target } = await moved((installId) => largeAccount(installId));
      await redis.del(bucketName(coinKeys.guestLedger(target, guest), 2));
      return `guest ${guest} of account ${target}`;
    },
    kind: 'entry_without_key',
    mends: true,
  },
  'a bucket of a guest whose ledger is filed': {
    async make() {
      const { guest, target } = await moved((installId) => accountWith([5, 6], installId));
      await redis.hset(bucketName(coinKeys.guestLedger(target, guest), 0), await hashOf('k1'), 1);
      return `account ${target}`;
    },
    kind: 'orphan_bucket',
    mends: true,
  },
  'a ledger of a guest that is lost': {
    async make() {
      const { guest, target } = await moved((installId) => largeAccount(installId));
      await redis.del(coinKeys.guestLedger(target, guest));
      return `account ${target}`;
    },
    kind: 'half_move',
  },
  'a ledger of nobody that moved in': {
    async make() {
      const target = await accountWith([5]);
      await redis.rpush(coinKeys.guestLedger(target, 'stranger'), '1:5 c5 lzzzzzzz key');
      return `account ${target}`;
    },
    kind: 'lost_standing',
  },
  'a guest that moved, and whose ledger nobody is going to delete': {
    async make() {
      const { guest } = await moved((installId) => accountWith([5], installId));
      await redis.rpush(ledger(guest), '1:5 c5 lzzzzzzz key');
      return `account ${guest}`;
    },
    kind: 'document_without_queue',
    mends: true,
  },
  'a frozen guest whose move is not in the queue': {
    async make() {
      const guest = await accountWith([5]);
      await redis.set(standingKey(guest), '~some-move some-target sandbox 2026-11-22\n');
      return `account ${guest}`;
    },
    kind: 'document_without_queue',
    mends: true,
  },
  'a copy of a move that was refused, and whose guest has thawed': {
    async make() {
      const [guest, target] = [await accountWith([5]), await accountWith([5])];
      await redis.set(storeKeys.moveRecord(target, 'refused-move'), `refused ${guest} balance_limit`, 'EX', 600);
      await redis.rpush(storeKeys.stagedLedger(target, 'refused-move'), '1:5 c5 lzzzzzzz key');
      return `account ${target}`;
    },
    kind: 'orphan_staging',
    mends: true,
  },
  'a copy of a move that has no record': {
    async make() {
      const target = await accountWith([5]);
      await redis.rpush(storeKeys.stagedLedger(target, 'lost-move'), '1:5 c5 lzzzzzzz key');
      return `account ${target}`;
    },
    kind: 'orphan_staging',
    mends: true,
  },
  'a record of a move that never expires': {
    async make() {
      const target = await accountWith([5]);
      await redis.set(storeKeys.moveRecord(target, 'lasting-move'), 'open some-guest');
      return `account ${target}`;
    },
    kind: 'wrong_move_record',
    mends: true,
  },
  'a record of a move that cannot be read': {
    async make() {
      const target = await accountWith([5]);
      await redis.set(storeKeys.moveRecord(target, 'strange-move'), 'perhaps', 'EX', 600);
      return `account ${target}`;
    },
    kind: 'wrong_move_record',
  },
  'a moved guest whose standing is lost': {
    async make() {
      const { guest } = await moved((installId) => accountWith([5], installId));
      await redis.del(standingKey(guest));
      return `account ${guest}`;
    },
    kind: 'lost_account',
    mends: true,
  },
  'coins of a guest that never arrived': {
    async make() {
      const { target } = await moved((installId) => largeAccount(installId));
      await redis.del(ledger(target));
      return `account ${target}`;
    },
    kind: 'lost_ledger',
  },
  'a filed key that is lost': {
    async make() {
      const { target } = await moved((installId) => accountWith([5, 6], installId));
      await redis.hdel(coinKeys.guestKeys(target), 'k2');
      return `account ${target}`;
    },
    kind: 'filed_differs',
    mends: true,
  },
  'filed entries of an account without guests': {
    async make() {
      await redis.zadd('{without-guests}:ledger:guests', 1, '998000000000000001');
      return 'account without-guests';
    },
    kind: 'lost_account',
  },
  'a guest with scores whose move is not in the queue': {
    async make() {
      const { guest } = await moved((installId) => accountWith([5], installId));
      await redis.sadd(boardKeys.ofAccount(guest), 'unmoved');
      await addEntry(redis, 'unmoved', guest, 1);
      await redis.set(boardKeys.arrivals('unmoved'), Date.now() * 10);
      return `account ${guest}`;
    },
    kind: 'document_without_queue',
    mends: true,
  },
  'a score without a player': {
    async make() {
      const { playerId } = (await entryOn(redis, 'without-player', await player('without-player')))!;
      await redis.hdel(boardKeys.players('without-player'), playerId);
      await player('without-player');
      return 'board without-player';
    },
    kind: 'score_without_player',
  },
  'a player without a score': {
    async make() {
      const id = await player('without-score');
      await player('without-score');
      await redis.zrem(boardKeys.scores('without-score'), (await entryOn(redis, 'without-score', id))!.member);
      return 'board without-score';
    },
    kind: 'player_without_score',
  },
  'an entry that is hidden without a ban': {
    async make() {
      const { playerId, member } = (await entryOn(redis, 'hidden', await player('hidden')))!;
      await player('hidden');
      await redis.hset(boardKeys.players('hidden'), `!${playerId}`, (await redis.zscore(boardKeys.scores('hidden'), member))!);
      await redis.zrem(boardKeys.scores('hidden'), member);
      return 'board hidden';
    },
    kind: 'hidden_entry',
    mends: true,
  },
  'an entry of a banned account that a board shows': {
    async make() {
      const id = await player('shown');
      await redis.set(standingKey(id), '!0 1 -\n');
      return `account ${id}`;
    },
    kind: 'shown_entry',
    mends: true,
  },
  'a queue of bans with an account that is not banned': {
    async make() {
      await redis.zadd('bans:due', Date.now() + 3_600_000, 'nobody');
      return 'queue bans:due';
    },
    kind: 'queue_without_document',
    mends: true,
  },
  'a score with another name than its player': {
    async make() {
      const { playerId, text } = (await entryOn(redis, 'renamed', await player('renamed')))!;
      await redis.hset(boardKeys.players('renamed'), playerId, `${text}x`);
      return 'board renamed';
    },
    kind: 'entry_differs',
    mends: true,
  },
  'scores whose players are all lost': {
    async make() {
      const id = await player('playerless');
      await redis.del(boardKeys.players('playerless'));
      await redis.del(boardKeys.ofAccount(id));
      return 'board playerless';
    },
    kind: 'score_without_player',
  },
  'a player whose account does not name the board': {
    async make() {
      const id = await player('unnamed');
      await redis.del(boardKeys.ofAccount(id));
      return `account ${id}`;
    },
    kind: 'player_without_board',
    mends: true,
  },
  'an account that names a board on which it does not play': {
    async make() {
      const id = await player('played');
      await redis.sadd(boardKeys.ofAccount(id), 'never-played');
      return 'board never-played';
    },
    kind: 'lost_board',
    mends: true,
  },
  'an entry whose place is no number': {
    async make() {
      await damageEntry(redis, 'timeless', await player('timeless'));
      return 'board timeless';
    },
    kind: 'unreadable_entry',
  },
  'a counter of arrivals that is too low': {
    async make() {
      await player('arrivals', 1);
      await player('arrivals', 2);
      await redis.set(boardKeys.arrivals('arrivals'), 1);
      return 'board arrivals';
    },
    kind: 'wrong_arrivals',
    mends: true,
  },
  'a board without its secret': {
    async make() {
      await player('secretless');
      await redis.del(boardKeys.secret('secretless'));
      return 'board secretless';
    },
    kind: 'no_board_secret',
  },
  'a player under an id of another account': {
    async make() {
      const [own, other] = [await player('foreign'), await player('foreign')];
      const entry = (await entryOn(redis, 'foreign', own))!;
      await redis.hset(boardKeys.players('foreign'), entry.playerId, other + entry.text.slice(22));
      return 'board foreign';
    },
    kind: 'foreign_player',
    mends: true,
  },
  'a version of a board that is no number': {
    async make() {
      await player('versioned');
      await redis.set('{board:versioned}:version', 'newest');
      return 'board versioned';
    },
    kind: 'wrong_counter',
    mends: true,
  },
  'a move in the queue of a guest that did not move': {
    async make() {
      await redis.zadd('moves:due', Date.now() + HOUR_MS, 'some-guest some-target');
      return 'queue moves:due';
    },
    kind: 'queue_without_document',
    mends: true,
  },
  'a purchase in the queue that does not exist': {
    async make() {
      await redis.zadd('purchases:due', Date.now() + HOUR_MS, 'no-purchase');
      return 'purchase no-purchase';
    },
    kind: 'lost_purchase',
  },
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
  'a room of which a seated player has no account': {
    make: () => room(async (room) => void (await redis.hdel(room, 'p2:account'))),
    kind: 'broken_room',
  },
  'a room of which a seated player has no record': {
    make: () => room(async (room) => void (await redis.hdel(room, 'p2'))),
    kind: 'broken_room',
  },
  'a room with a player whose seat was never given': {
    make: () => room(async (room) => void (await redis.hset(room, 'given', 1))),
    kind: 'broken_room',
  },
  'a room that seats a player twice': {
    make: () => room(async (room) => void (await redis.hset(room, 'players', 'p1 p2 p2'))),
    kind: 'broken_room',
  },
  'a room of which the host is nobody': {
    make: () => room(async (room) => void (await redis.hset(room, 'hostId', 'p9'))),
    kind: 'broken_room',
  },
  'a room with private parts of a player who left': {
    make: () => room(async (room) => void (await redis.hset(room, 'p7:private', '3 {}'))),
    kind: 'broken_room',
  },
  'a room whose state is newer than the room': {
    make: () => room(async (room) => void (await redis.hset(room, 'stateSeq', 99))),
    kind: 'broken_room',
  },
  'a room whose private parts are newer than the room': {
    make: () => room(async (room) => void (await redis.hset(room, 'privateSeq', 99))),
    kind: 'broken_room',
  },
  'a room with more players than seats': {
    make: () => room(async (room) => void (await redis.hset(room, 'maxPlayers', 1))),
    kind: 'broken_room',
  },
  'a room that never expires': {
    make: () => room(async (room) => void (await redis.persist(room))),
    kind: 'broken_room',
  },
  'a room without a phase': {
    make: () => room(async (room) => void (await redis.hdel(room, 'phase'))),
    kind: 'broken_room',
  },
  'a room whose state is cut off': {
    make: () => room(async (room) => void (await redis.hset(room, 'state', '{"a":'))),
    kind: 'broken_room',
  },
  "a room whose player's data is cut off": {
    make: () => room(async (room) => void (await redis.hset(room, 'p2.data', '[1'))),
    kind: 'broken_room',
  },
  'a room whose player is cut off': {
    make: () => room(async (room) => void (await redis.hset(room, 'p2', '"ready":fal'))),
    kind: 'broken_room',
  },
  'an account that has two seats in a room': {
    make: () => room(async (room) => void (await redis.hset(room, 'p2:account', (await redis.hget(room, 'p1:account'))!))),
    kind: 'broken_room',
  },
  'a seat of which the set of its account is emptied': {
    async make() {
      const installId = freshId();
      const { code } = (await service.post('/v1/rooms', { installId })).body.room;
      const id = accountIdOf(installId);
      await redis.srem(roomKeys.seats(id, Date.now()), code);
      return `account ${id}`;
    },
    kind: 'seat_not_listed',
  },
  'a seat that was handed to an account which never took it': {
    async make() {
      const [installId, id] = [freshId(), await accountWith([5])];
      const { code } = (await service.post('/v1/rooms', { installId })).body.room;
      await redis.hset(roomKeys.room(code), 'p1:account', id);
      return `account ${id}`;
    },
    kind: 'seat_not_listed',
  },
  'an account that expires': {
    make: () => expiring(accountKey),
    kind: 'expires',
    mends: true,
  },
  'a ledger that expires': {
    make: () => expiring(ledger),
    kind: 'expires',
    mends: true,
  },
  'a bucket of a ledger that expires': {
    make: () => expiring(bucket),
    kind: 'expires',
    mends: true,
  },
  'a standing that expires': {
    async make() {
      const { guest } = await moved((installId) => accountWith([5], installId));
      await redis.expire(standingKey(guest), 100_000);
      return `key ${standingKey(guest)}`;
    },
    kind: 'expires',
    mends: true,
  },
  'a set of boards that expires': {
    async make() {
      const key = boardKeys.ofAccount(await player('expiring'));
      await redis.expire(key, 100_000);
      return `key ${key}`;
    },
    kind: 'expires',
    mends: true,
  },
  'a board that expires': {
    async make() {
      await player('ending');
      await redis.expire(boardKeys.scores('ending'), 100_000);
      return `key ${boardKeys.scores('ending')}`;
    },
    kind: 'expires',
    mends: true,
  },
  'a purchase that expires': {
    async make() {
      const { hash } = await bought();
      await redis.expire(subscriptionKeys.purchase(hash), 100_000);
      return `key ${subscriptionKeys.purchase(hash)}`;
    },
    kind: 'expires',
    mends: true,
  },
  'a trial of a device that expires': {
    async make() {
      const { device } = await linkedTrial();
      await redis.expire(trialKeys.device(device), 100_000);
      return `key ${trialKeys.device(device)}`;
    },
    kind: 'expires',
    mends: true,
  },
  'a trial of a device that was moved': {
    async make() {
      const { id, device } = await linkedTrial();
      await redis.hincrby(trialKeys.device(device), 'trialStartedAt', 86_400_000);
      return `account ${id}`;
    },
    kind: 'trial_differs',
  },
  'a trial of an account that was moved': {
    async make() {
      const { id } = await linkedTrial();
      await redis.hincrby(accountKey(id), 'trialStartedAt', 86_400_000);
      return `account ${id}`;
    },
    kind: 'trial_differs',
  },
  'a trial whose device is lost': {
    async make() {
      const { id, device } = await linkedTrial();
      await redis.del(trialKeys.device(device));
      return `account ${id}`;
    },
    kind: 'trial_differs',
    mends: true,
  },
  'a device whose start is no time': {
    async make() {
      const device = deviceHash(freshId());
      await redis.hset(trialKeys.device(device), 'trialStartedAt', 'today');
      return `device ${device}`;
    },
    kind: 'unreadable_record',
  },
  'a mark of an ended session without an end': {
    async make() {
      const installId = freshId();
      const cookies = await signIn(service, installId);
      await service.post('/v1/logout', {}, { cookies });
      const [key] = await redis.keys(`{${accountIdOf(installId)}}:out:*`);
      await redis.persist(key!);
      return `key ${key}`;
    },
    kind: 'never_expires',
    mends: true,
  },
  'a list of sessions without an end': {
    async make() {
      const { id } = await paired();
      await redis.persist(sessionsKey(id));
      return `key ${sessionsKey(id)}`;
    },
    kind: 'never_expires',
    mends: true,
  },
  'a pairing that never expires': {
    make: () => pairing(async (key) => void (await redis.persist(key))),
    kind: 'wrong_pairing',
    mends: true,
  },
  'a pairing whose status nobody writes': {
    make: () => pairing(async (key) => void (await redis.hset(key, 'status', 'granted'))),
    kind: 'wrong_pairing',
  },
  'a claimed pairing whose claimant changed': {
    make: () => pairing(async (key) => void (await redis.hset(key, 'claimant', await accountWith([5])))),
    kind: 'wrong_pairing',
  },
  'a claimed pairing whose claimant is lost': {
    make: () => pairing(async (key) => void (await redis.hdel(key, 'claimant', 'winner'))),
    kind: 'wrong_pairing',
  },
  'a pairing that gave its session, and whose claimant changed on both fields': {
    async make() {
      const { token } = await paired();
      const other = await accountWith([5]);
      await redis.hset(pairKeys.pair(token), { claimant: other, winner: other });
      return `pairing ${token.slice(0, 6)}…`;
    },
    kind: 'wrong_pairing',
  },
  'an entry of a ledger that is older than the one before it': {
    make: async () =>
      rewrite(await accountWith([5, 6, 7]), 2, (entry) => entry.replace(/^(3:18 c7) \w+ /, `$1 ${(Date.now() - HOUR_MS).toString(36)} `)),
    kind: 'wrong_time',
  },
  'an account and a guest that were deleted, whose tombstones and index are gone': {
    async make() {
      const { guest, target } = await moved((installId) => accountWith([5, 6], installId));
      await redis.del(
        ...(await redis.keys(`{${target}}:*`)).filter((key) => !key.includes(':move:')),
        ...(await redis.keys(`{${guest}}:*`)),
      );
      return `account ${target}`;
    },
    kind: 'half_move',
  },
  'a room in the queue that never was': {
    async make() {
      await redis.zadd('rooms:due', Date.now() + 24 * HOUR_MS, 'BBBBB');
      return 'queue rooms:due';
    },
    kind: 'queue_without_document',
    mends: true,
  },
};

beforeAll(async () => {
  own = await startRedis();
  service = await start({ redis: own.location });
  ({ redis } = own);
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await own[Symbol.asyncDispose]();
});

test('data that only the service has written has no drift', { timeout: 60_000 }, async () => {
  await accountWith([5, 6, -7, 8]);
  await largeAccount();
  await accountWith([5, 6], 'with a blank key'.replaceAll(' ', '-'));
  await moved((installId) => accountWith([5, -5], installId));
  await moved((installId) => largeAccount(installId));
  await moved(async (installId) => service.post('/v1/account/resolve', { installId }));
  await moved(async (installId) => {
    for (const game of ['clean', 'other']) await service.post(`/v1/highscores/${game}`, { installId, score: 3, name: 'Ä' });
  });
  for (let index = 0; index < 20; index++) await player('clean', index % 7);
  await bought();
  await moved((guest) => bought(guest));
  // One purchase that leaves a guest for another one, and one that replaces it.
  const { purchaseToken } = await issue(service, { kind: 'subscription' });
  for (const buyer of [freshId(), freshId()]) await service.post('/v1/subscription/purchase', { installId: buyer, purchaseToken });
  const { purchaseToken: upgrade } = await issue(service, { kind: 'subscription', linkedPurchaseToken: purchaseToken });
  await service.post('/v1/subscription/purchase', { installId: freshId(), purchaseToken: upgrade });
  // An account keeps at most ten lines.
  const collector = freshId();
  for (let index = 0; index < 12; index++) await bought(collector);
  const installId = freshId();
  const { body } = await service.post('/v1/rooms', { installId });
  const watcher = await Watcher.open(service.url, `/v1/rooms/${body.room.code}/live`);
  watcher.send({ type: 'hello', installId });
  await expect.poll(() => redis.zcard('rooms:due')).toBe(1);
  const post = (path: string, fields: object) => service.post(path, fields);
  await openFullRoom(async (path, fields) => (await post(path, fields)).body, redis, freshId());
  // All players have left, and one was kicked.
  const { code } = (await post('/v1/rooms', { installId })).body.room;
  const other = freshId();
  await post(`/v1/rooms/${code}/join`, { installId: other });
  await post(`/v1/rooms/${code}/kick`, { installId, playerId: 'p2' });
  await post(`/v1/rooms/${code}/leave`, { installId });
  await service.post('/v1/pair/new');
  await paired();
  await pairing(async () => {});
  await linkedTrial();
  // Two guests with seats in one room move into one account, which then holds both.
  const subject = freshId('subject');
  const [first, second] = [freshId(), freshId()];
  const shared = (await post('/v1/rooms', { installId: first })).body.room.code;
  await post(`/v1/rooms/${shared}/join`, { installId: second });
  const sessions = [];
  for (const guest of [first, second]) sessions.push((await signInToStore(service, subject, { installId: guest })).cookies);
  await service.post(`/v1/rooms/${shared}/ready`, {}, { cookies: sessions[1]! });
  await redis.set('something-else:12', 'x');

  const { findings, counts } = await audited(own.location);
  expect(findings).toEqual([]);
  expect(counts.unknown).toEqual({ 'something-else:n': 1 });
  expect(counts.checked).toMatchObject({ boards: 2, purchases: 16, rooms: 4, 'queue entries': 16 });
  expect(counts.checked['entries']).toBe(4 + 130 + 2 + 2 + (131 + 1));
  watcher.close();
});

test('a purchase whose line has still to follow, and an entry of a purchase that was not recorded, are no drift', async () => {
  const { hash, id } = await bought();
  await redis.hset(subscriptionKeys.purchase(hash), { todo: 'line', act: 'some-act' });
  await redis.hdel(accountKey(id), 'purchases');
  await redis.zrem('purchases:due', hash);
  await redis.zadd('purchases:due', Date.now() + 60_000, `${hash}#some-act`, Date.now() + 60_000, 'not-recorded#another-act');
  expect((await audited(own.location)).findings).toEqual([]);
});

test('two keys with the same hash are no drift', async () => {
  const seen = new Map<string, string>();
  let one: string | undefined;
  let other = '';
  const hash = halfSipHash(Buffer.from((await redis.get(KEY_SECRET))!, 'hex'));
  while (one === undefined) {
    other = `key-${seen.size}`;
    one = seen.get(String(hash(other)));
    seen.set(String(hash(other)), other);
  }
  const installId = freshId();
  for (const key of [one, 'between', other]) await service.post('/v1/coins/credit', { installId, coins: 1, key });
  expect(await redis.hget(bucket(accountIdOf(installId)), await hashOf(one))).toBe('1,3');
  expect((await audited(own.location)).findings).toEqual([]);
});

describe('the secret of the ledgers', () => {
  test.each([
    ['is missing', 'no_key_secret', (client: Redis) => client.del(KEY_SECRET)],
    ['is no secret', 'bad_key_secret', (client: Redis) => client.set(KEY_SECRET, 'abc')],
    ['has the wrong type', 'wrong_type', (client: Redis) => client.del(KEY_SECRET).then(() => client.lpush(KEY_SECRET, 'abc'))],
  ] as const)('that %s is one finding, however many ledgers there are (%s)', async (_, kind, damage) => {
    await using aside = await startRedis();
    await using writing = await start({ redis: aside.location });
    for (let count = 0; count < 60; count++) await writing.post('/v1/coins/credit', { installId: freshId(), coins: 5, key: 'k' });
    await damage(aside.redis);
    const { findings } = await audited(aside.location);
    expect(findings).toEqual([{ kind, subject: `key ${KEY_SECRET}`, text: expect.any(String) }]);
  });
});

describe('the version of the data', () => {
  test('that is lost is drift', async () => {
    await using aside = await startRedis();
    await using writing = await start({ redis: aside.location });
    await writing.service.redis.del(DATA_VERSION_KEY);
    const { findings } = await audited(aside.location);
    expect(findings).toEqual([{ kind: 'wrong_version', subject: 'key data:version', text: expect.stringContaining('is missing') }]);
  });

  test('is not expected of an empty Redis', async () => {
    await using empty = await startRedis();
    expect((await audited(empty.location)).findings).toEqual([]);
  });
});

describe('the audit names', () => {
  const found = new Map<string, Finding[]>();
  const subjects = new Map<string, string>();
  beforeAll(async () => {
    for (const [name, { make }] of Object.entries(damages)) subjects.set(name, await make());
    for (const finding of (await audited(own.location)).findings)
      found.set(finding.subject, [...(found.get(finding.subject) ?? []), finding]);
  }, 120_000);

  test.each(Object.keys(damages))('%s', (name) => {
    const findings = found.get(subjects.get(name)!) ?? [];
    expect(findings.map(({ kind }) => kind)).toEqual([damages[name]!.kind]);
    expect(findings[0]!.text).toMatch(/^[A-Z].*\.$/);
    expect(adviceOf(findings[0]!)?.right).toEqual(expect.any(String));
  });

  test('nothing else', () => {
    const known = new Set(subjects.values());
    expect([...found].filter(([subject]) => !known.has(subject)).flatMap(([, findings]) => findings)).toEqual([]);
  });

  test('the commands of the advice put right what they promise, and change nothing about the rest', { timeout: 120_000 }, async () => {
    const advised = Object.keys(damages).map((name) => {
      const finding = found.get(subjects.get(name)!)![0]!;
      return { name, finding, commands: adviceOf(finding)!.commands ?? [] };
    });
    // Evidence is set aside. A copy of something else, or what a deletion has promised to erase, may be deleted.
    for (const { finding, commands } of advised)
      for (const command of commands)
        if (!MAY_DELETE.has(finding.kind)) expect(command).not.toMatch(/^redis-cli (?:DEL|UNLINK|SREM|ZREM|HDEL|LREM|FLUSH\w+) /);
    const lines = advised.flatMap(({ commands }) => commands);
    // As an operator pastes them.
    const folder = mkdtempSync(join(tmpdir(), 'coinop-mends-'));
    writeFileSync(join(folder, 'redis-cli'), `#!/bin/sh\nexec ${REDIS_CLI} -s ${own.location.socketPath} "$@"\n`, { mode: 0o755 });
    const env = { ...process.env, PATH: `${folder}:${process.env['PATH']}` };
    const { stdout, status } = spawnSync('sh', ['-c', lines.join('\n')], { env, encoding: 'utf8', timeout: 60_000 });
    rmSync(folder, { recursive: true });
    expect([status, stdout.match(/^.*ERR.*$|^WRONG.*$/gm)]).toEqual([0, null]);
    const left = async () => {
      const { findings } = await audited(own.location);
      return findings.map(({ kind, subject }) => `${kind} ${subject}`).toSorted();
    };
    const expected = advised.filter(({ name }) => damages[name]!.mends === undefined);
    // A running service does the work that is queued again.
    await expect
      .poll(left, { timeout: 60_000, interval: 1000 })
      .toEqual(expected.map(({ finding: { kind, subject } }) => `${kind} ${subject}`).toSorted());
  });

  test('each kind with an advice', () => {
    const all = readdirSync(new URL('../../src', import.meta.url), { recursive: true, encoding: 'utf8' });
    const kinds = all
      .filter((path) => /(?:auditor|check|version|cluster-scan)\.ts$/.test(path))
      .map((path) => readFileSync(new URL(`../../src/${path}`, import.meta.url), 'utf8'))
      .flatMap((text) => [...text.matchAll(/(?:kind: |[fF]ind\(\s*|\[\[?|\? |: )'([a-z]+(?:_[a-z]+)+)'/g)].map(([, kind]) => kind!))
      .filter((kind) => !NO_KINDS.has(kind));
    const known = new Set([...kinds, 'expires', 'never_expires', 'wrong_type']);
    expect([...known].toSorted()).toEqual([...advisedKinds].toSorted());
  });
});
