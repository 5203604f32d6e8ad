import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openConnections, type RedisConnections } from '../../../src/redis/redis-connections.ts';
import { ScriptRunner } from '../../../src/redis/script-runner.ts';
import { BadKey, KeyRing } from '../../../src/server/identity/key-ring.ts';
import { ServerKeyChanges, type NewKey } from '../../../src/server/identity/server-key-changes.ts';
import { startRedis, type OwnRedis } from '../../own-redis.ts';
import { eventually } from '../../realtime/watcher.ts';

/** The keys of a process, on a Redis that goes away, is emptied, or is restored to an older state. */

const RECORDS = '{server-keys}';

let own: OwnRedis;
let redis: Redis;
let open: RedisConnections[];
let rings: KeyRing[];
let logLines: string[];
let clock: number;
beforeEach(async () => {
  own = await startRedis();
  ({ redis } = own);
  [open, rings, logLines, clock] = [[], [], [], Date.now()];
});
afterEach(async () => {
  for (const ring of rings) ring.close();
  for (const connections of open) connections.disconnect();
  await own[Symbol.asyncDispose]();
});

const now = (): number => clock;

function newRing() {
  const log = pino({ level: 'debug' }, { write: (line: string) => void logLines.push(line) });
  const connections = openConnections(own.location, 0, log);
  open.push(connections);
  const scripts = new ScriptRunner(connections.scripts, { now });
  const ring = new KeyRing({ scripts, subscriber: connections.subscriber, log, now });
  rings.push(ring);
  return { ring, changes: new ServerKeyChanges(scripts, now), connections };
}

async function ringOn() {
  const made = newRing();
  await made.connections.opened();
  await eventually(() => made.ring.isKnown && made.connections.subscriber.hears(RECORDS));
  return made;
}

const problemOf = (ring: KeyRing, token: string): string => {
  const found = ring.find(token);
  return found instanceof BadKey ? found.problem : 'valid';
};

test('a person who is signed in to the console has no key that could have ended', async () => {
  const { ring } = await ringOn();
  expect(ring.problemOf({ id: 'person:0000000000000000', isPerson: true })).toBeUndefined();
  expect(ring.problemOf({ id: 'person:0000000000000000' })).toMatchObject({ problem: 'unknown' });
});

/** The ring then reads the keys only after messages and subscriptions. */
const withoutTimer = (ring: KeyRing): void => ring.close();

/** A ring that knows a new key. */
async function ringWithKey(key: Partial<NewKey> = {}) {
  const made = await ringOn();
  const { id, token } = await made.changes.create({ name: 'a', scopes: ['coins'], ...key });
  await eventually(() => problemOf(made.ring, token) === 'valid');
  return { ...made, id, token };
}

test('a change reaches the rings of other processes by a message, long before they read the keys again', async () => {
  const { changes } = await ringOn();
  const { ring: other } = await ringOn();
  withoutTimer(other);
  const { id, token } = await changes.create({ name: 'a', scopes: ['coins'], game: 'tetris' });
  await eventually(() => problemOf(other, token) === 'valid');
  expect(other.find(token)).toEqual({ id, name: 'a', scopes: ['coins'], game: 'tetris' });
  await changes.revoke(id);
  await eventually(() => problemOf(other, token) === 'revoked');
});

test('a ring that lost its subscription and the message learns of a revocation when it subscribes again', async () => {
  const { ring, id, token } = await ringWithKey();
  withoutTimer(ring);
  // The revocation comes between two subscriptions, so its message reaches no process.
  const revoked = JSON.stringify({ ...JSON.parse((await redis.hget(RECORDS, id))!), revokedAt: clock });
  await redis.multi().call('CLIENT', 'KILL', 'TYPE', 'pubsub').hset(RECORDS, id, revoked).exec();
  await eventually(() => problemOf(ring, token) === 'revoked');
});

test('a ring learns of a change without a message after a while', async () => {
  const { ring, id, token } = await ringWithKey();
  await redis.hdel(RECORDS, id);
  await eventually(() => problemOf(ring, token) === 'unknown');
});

describe('a key never comes back to life', () => {
  test('when Redis is emptied, and when an older state is restored after it: its revocation is written back', async () => {
    const { ring, changes, id, token } = await ringWithKey();
    const still = await changes.create({ name: 'b', scopes: ['coins'] });
    const before = await redis.hgetall(RECORDS);
    await changes.revoke(id);
    await eventually(() => problemOf(ring, token) === 'revoked');
    await redis.flushall();
    await ring.read();
    expect([problemOf(ring, token), problemOf(ring, still.token)]).toEqual(['unknown', 'unknown']);
    await redis.hset(RECORDS, before);
    await ring.read();
    expect([problemOf(ring, token), problemOf(ring, still.token)]).toEqual(['revoked', 'valid']);
    await eventually(async () => JSON.parse((await redis.hget(RECORDS, id))!).revokedAt === clock);
    expect(await redis.hget(RECORDS, still.id)).toBe(before[still.id]);
    expect(logLines.join('')).toContain('redis had forgotten the end of server keys: it was written back');
    // A process that starts now knows it from Redis.
    const { ring: later } = await ringOn();
    expect([problemOf(later, token), problemOf(later, still.token)]).toEqual(['revoked', 'valid']);
  });

  test('when a failover loses the end that a rotation gave it', async () => {
    const { ring, changes, ...old } = await ringWithKey({ expiresAt: clock + 100_000 });
    const before = (await redis.hget(RECORDS, old.id))!;
    const made = await changes.rotate(old.id, clock + 1000, undefined);
    await eventually(() => problemOf(ring, made.token) === 'valid');
    await redis.hset(RECORDS, old.id, before);
    await ring.read();
    clock += 999;
    expect(problemOf(ring, old.token)).toBe('valid');
    clock += 1;
    expect([problemOf(ring, old.token), problemOf(ring, made.token)]).toEqual(['expired', 'valid']);
    await eventually(async () => JSON.parse((await redis.hget(RECORDS, old.id))!).expiresAt === clock);
  });

  test('when its record is damaged: it is not valid then', async () => {
    const { ring, id, token } = await ringWithKey({ expiresAt: clock + 1000 });
    const text = (await redis.hget(RECORDS, id))!;
    for (const damaged of ['', '{', 'null', '[]', '{}', text.replace('"expiresAt":', '"expiresAt":"x","old":')]) {
      await redis.hset(RECORDS, id, damaged);
      await ring.read();
      await ring.read();
      expect([damaged, problemOf(ring, token)]).toEqual([damaged, 'unknown']);
    }
    expect(logLines.filter((line) => line.includes('a server key cannot be read'))).toHaveLength(6);
  });
});

test('while Redis is away the last keys stay, and a ring that never read any knows none', async () => {
  const { ring, token } = await ringWithKey();
  await own[Symbol.asyncDispose]();
  await ring.read();
  expect(problemOf(ring, token)).toBe('valid');
  const { ring: never } = newRing();
  await never.read();
  expect(never.isKnown).toBe(false);
});

test('the last use of a key is noted once a minute, by whichever process saw it last', async () => {
  const { ring, changes, id, token } = await ringWithKey();
  const { ring: other } = await ringOn();
  const isNoted = () => eventually(async () => (await changes.find(id)).usedAt === clock);
  expect(problemOf(other, token)).toBe('valid');
  await isNoted();
  clock += 59_000;
  expect(problemOf(ring, token)).toBe('valid');
  clock += 2000;
  expect(problemOf(other, token)).toBe('valid');
  await isNoted();
});
