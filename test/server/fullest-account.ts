import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { CallerScripts } from '../../src/accounts/caller-scripts.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { accountKey } from '../../src/accounts/account-keys.ts';
import { halfSipHash } from '../../src/features/coins/key-hash.ts';
import { bucketOf, ledgerKeys } from '../../src/features/coins/ledger-layout.ts';
import { coinKeys } from '../../src/features/coins/model.ts';
import { KEY_SECRET } from '../../src/features/coins/secret-keys.ts';
import { codeOf, roomKeys, SEATS_KEPT_SECONDS } from '../../src/features/rooms/model.ts';
import { MoveFinisher } from '../../src/features/guest-moves/finisher.ts';
import { moveKeys } from '../../src/features/guest-moves/model.ts';
import { freezeGuest, openMove } from '../../src/features/guest-moves/step-scripts.ts';
import { subscriptionKeys } from '../../src/features/purchases/subscription/model.ts';
import { purchaseHash } from '../../src/features/purchases/core/purchase-ids.ts';
import { holdings } from '../../src/holdings.ts';
import { operatorFor } from '../../src/server/identity/caller.ts';
import { openFullRoom } from './full-room.ts';
import { testConfig } from '../environment.ts';

/** How full the account gets. */
export interface Fullness {
  /** Rooms in which the account took a seat. It has left every second one. Each has 64 players. */
  readonly rooms: number;
  /** Guests that moved in: at most 500. Fifty have a ledger that is too long to be filed, and each has three purchases. */
  readonly guests: number;
  readonly boards: number;
  /** Entries of the account's own ledger, beside those of the guests. */
  readonly entries: number;
}

export const FULLEST: Fullness = { rooms: 600, guests: 500, boards: 128, entries: 1_000 };

/** The target: a service with the sandbox store or without a store, without limits, and its single Redis. */
export interface Filled {
  readonly url: string;
  readonly redis: Redis;
}

export interface FullestAccount {
  readonly installId: string;
  readonly accountId: string;
  readonly guestIds: readonly string[];
  /** The codes of all its rooms. */
  readonly codes: readonly string[];
  readonly games: readonly string[];
}

/**
 * Entries of a guest whose ledger is filed with the account's, at most (`is_small` of ledger.lua), and of one whose ledger is not. More
 * entries only make more pages.
 */
const FILED_ENTRIES = 10;
const LARGE_ENTRIES = 101;
const LARGE_GUESTS = 50;
export const PURCHASES_OF_GUEST = 3;
const MOVED_AT_ONCE = 25;

const DAY_MS = 86_400_000;

/**
 * Makes an account that is as full as one can be. The installId names it, also after the guests have moved in: the
 * script that takes a guest in does not ask how the account began.
 *
 * Data that takes one request is made by a request. Data that would take thousands is written in the same format, and the guests move by
 * the scripts of the journal. `npm run audit` finds no fault in the result.
 */
export async function fillFullestAccount(installId: string, filled: Filled, fullness: Fullness = FULLEST): Promise<FullestAccount> {
  const accountId = accountIdOf(installId);
  await fillLedger(accountId, fullness.entries, filled.redis);
  const games = Array.from({ length: fullness.boards }, (_, index) => `fullest-${index}`);
  for (const game of games) await post(filled, `/v1/highscores/${game}`, { installId, score: 1, name: 'Ada' });
  const guestIds = await moveGuestsIn(accountId, installId, fullness.guests, filled.redis);
  const codes = await takeSeats(accountId, installId, guestIds, fullness.rooms, filled);
  return { installId, accountId, guestIds, codes, games };
}

async function post({ url }: Filled, path: string, body: object) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  // oxlint-disable-next-line no-explicit-any
  const reply = (await response.json()) as any;
  if (response.status !== 200) throw new Error(`${path}: ${JSON.stringify(reply)}`);
  return reply;
}

/** Writes a ledger of credits with its index, as `apply.lua` would. The entries are a minute apart. */
async function fillLedger(accountId: string, entries: number, redis: Redis, firstMinute = entries): Promise<void> {
  const hash = halfSipHash(Buffer.from((await redis.get(KEY_SECRET))!, 'hex'));
  const now = Date.now();
  const pipeline = redis.pipeline().hset(accountKey(accountId), 'createdAt', now - firstMinute * 60_000);
  const [texts, buckets] = [[] as string[], new Map<number, (string | number)[]>()];
  for (let seq = 1; seq <= entries; seq++) {
    const key = `${accountId}-${seq}`;
    texts.push(`${seq}:${seq} c1 ${(now - (firstMinute - seq) * 60_000).toString(36)} ${key}`);
    const bucket = bucketOf(hash(key), entries);
    const pairs = buckets.get(bucket) ?? [];
    pairs.push(hash(key), seq);
    buckets.set(bucket, pairs);
  }
  for (let start = 0; start < entries; start += 1000) pipeline.rpush(coinKeys.ledger(accountId), ...texts.slice(start, start + 1000));
  for (const [bucket, pairs] of buckets) pipeline.hset(ledgerKeys.bucket(accountId, bucket), ...pairs);
  await pipeline.exec();
}

/** Moves guests with purchases into the account, by the steps of a sign-in. */
async function moveGuestsIn(accountId: string, installId: string, count: number, redis: Redis): Promise<string[]> {
  const secret = (await redis.get(KEY_SECRET))!;
  const scripts = new CallerScripts({ call: (command, words) => redis.call(command, ...words) }, { now: Date.now });
  const finisher = new MoveFinisher({
    scripts,
    catalogue: { orderOf: () => 'desc' },
    config: testConfig(),
    holdings,
    keySecret: { text: secret, hashOf: halfSipHash(Buffer.from(secret, 'hex')), otherData: () => never('another secret') },
    log: pino({ level: 'silent' }),
    now: Date.now,
  });
  const guestIds = Array.from({ length: count }, (_, index) => accountIdOf(`${installId}-guest-${index}`));
  const moveIn = async (guestId: string, index: number): Promise<void> => {
    await fillLedger(guestId, index < LARGE_GUESTS ? LARGE_ENTRIES : FILED_ENTRIES, redis, 200 + 7 * index);
    await fillPurchases(guestId, redis);
    const moveId = `move-${index}`;
    const keys = { account: accountKey(guestId), ledger: coinKeys.ledger(guestId) };
    const args = { moveId, targetId: accountId, store: 'sandbox', day: '2026-01-01', fromPairing: 0, signInId: '', secret };
    await scripts.run(openMove, { record: moveKeys.record(accountId, moveId) }, { guestId, keptSeconds: 30 });
    const [word] = await scripts.runAs(operatorFor(guestId), freezeGuest, keys, args);
    const movedInto = await finisher.finish(guestId);
    if (word !== 'frozen' || movedInto !== accountId) never(`guest ${index}: ${word}`);
    await finisher.handOver(guestId, accountId, true);
  };
  for (let start = 0; start < count; start += MOVED_AT_ONCE)
    await Promise.all(guestIds.slice(start, start + MOVED_AT_ONCE).map((guestId, index) => moveIn(guestId, start + index)));
  return guestIds;
}

function never(what: string): never {
  throw new Error(`the fullest account could not be made: ${what}`);
}

/** Subscriptions of an account as `record-purchase.lua` and `put-line.lua` leave them. */
async function fillPurchases(accountId: string, redis: Redis): Promise<void> {
  const now = Date.now();
  const pipeline = redis.pipeline();
  const lines: string[] = [];
  for (let index = 0; index < PURCHASES_OF_GUEST; index++) {
    const token = `${accountId}-purchase-${index}`;
    const hash = purchaseHash(token);
    const line = { state: 'active', expiresAt: now + 30 * DAY_MS + index, willRenew: 1, checkedAt: now, productId: 'premium' };
    pipeline.hset(subscriptionKeys.purchase(hash), {
      ...{ token, packageName: 'com.example.app', owner: accountId, faults: 0, acknowledged: 1, dueAt: now + DAY_MS / 2, revision: now },
      ...line,
    });
    pipeline.zadd(subscriptionKeys.due, now + DAY_MS / 2, hash).sadd(subscriptionKeys.ofAccount(accountId), hash);
    lines.push([hash, ...Object.values(line)].join(' '));
  }
  await pipeline.hset(accountKey(accountId), 'purchases', lines.join('\n')).exec();
}

/**
 * Copies one full room many times. The account has the last seat in every second one, and has left the others; each guest has left three.
 */
async function takeSeats(
  accountId: string,
  installId: string,
  guestIds: readonly string[],
  count: number,
  filled: Filled,
): Promise<string[]> {
  const { redis } = filled;
  const room = await openFullRoom((path, body) => post(filled, path, body), redis, `${installId}-host`, installId);
  const source = roomKeys.room(room.code);
  // Reads of the account do not include players' data in rooms. 600 times 190 KB would delay the Redis of all test files.
  const kept = (await redis.hkeys(source)).filter((name) => /(?::tabs|:private|\.data)$|^kicked$/.test(name));
  await redis
    .multi()
    .hdel(source, ...kept)
    .hset(source, 'state', '{}')
    .exec();
  const lastId = (await redis.hget(source, 'players'))!.split(' ').at(-1)!;
  // Code number 1 and the following are as likely as any others to be the room's own.
  const codes = Array.from({ length: count + 1 }, (_, index) => codeOf(1_000_000 + 13 * index)).filter((code) => code !== room.code);
  codes.length = count;
  const pipeline = redis.pipeline();
  for (const [index, code] of codes.entries()) {
    const owner = index % 2 === 0 ? accountId : accountIdOf(`${installId}-other`);
    pipeline.copy(source, roomKeys.room(code)).hset(roomKeys.room(code), { code, [`${lastId}:account`]: owner });
  }
  // The players of the room have seats in its copies too.
  const seated = Object.entries(await redis.hgetall(source)).filter(([name]) => name.endsWith(':account'));
  const others = [...new Set([...seated.map(([, id]) => id), accountIdOf(`${installId}-other`)])].filter((id) => id !== accountId);
  const inAll = [accountId, ...others].map((id) => ({ id, entered: [room.code, ...codes] }));
  const sets = [...inAll, ...guestIds.map((id, index) => ({ id, entered: threeFrom(codes, index) }))];
  for (const { id, entered } of sets) {
    const key = roomKeys.seats(id, Date.now());
    if (entered.length > 0) pipeline.sadd(key, ...entered).expire(key, SEATS_KEPT_SECONDS);
  }
  await pipeline.exec();
  return codes;
}

function threeFrom(codes: readonly string[], index: number): string[] {
  const start = (index * 3) % Math.max(1, codes.length - 3);
  return codes.slice(start, start + 3);
}
