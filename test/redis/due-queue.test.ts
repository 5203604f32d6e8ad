import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { DueQueue } from '../../src/redis/due-queue.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { sleep } from '../harness.ts';
import { startRedis } from '../own-redis.ts';

const LEASE_MS = 10_000;

let own: Awaited<ReturnType<typeof startRedis>>;
let redis: Redis;
let scripts: ScriptRunner;
let now: number;
let done: string[];
let queues: DueQueue[];

beforeAll(async () => {
  own = await startRedis();
  redis = new Redis({ path: (own.location as { socketPath: string }).socketPath });
  scripts = new ScriptRunner({ call: (command, words) => redis.call(command, ...words) }, { now: Date.now, observe: () => {} });
});

afterAll(async () => {
  redis.disconnect();
  await own[Symbol.asyncDispose]();
});

beforeEach(async () => {
  await redis.flushall();
  [now, done, queues] = [1_000_000, [], []];
});

afterEach(() => Promise.all(queues.map((queue) => queue.close())));

/** A queue whose work takes the member out, as the scripts of features do. */
const finish = async (member: string): Promise<void> => {
  done.push(member);
  await redis.zrem('due', member);
};

function open(work: (member: string) => Promise<void> = finish): DueQueue {
  const queue = new DueQueue({ key: 'due', work, leaseMs: LEASE_MS, scripts, log: pino({ level: 'silent' }), now: () => now });
  queues.push(queue);
  return queue;
}

test('work is done once it is due, and not before', async () => {
  await redis.zadd('due', now, 'due', now + 1, 'later');
  open();
  await expect.poll(() => done).toEqual(['due']);
  now += 1;
  await expect.poll(() => done).toEqual(['due', 'later']);
});

test('more work than is taken at a time is done in one go, each piece once', async () => {
  const members = Array.from({ length: 40 }, (_, index) => `member-${index}`);
  await redis.zadd('due', ...members.flatMap((member) => [now, member]));
  open();
  await expect.poll(() => done.length).toBe(40);
  expect(done.toSorted()).toEqual(members.toSorted());
});

test('two processes share the work: none of it is done twice', async () => {
  const members = Array.from({ length: 60 }, (_, index) => `member-${index}`);
  await redis.zadd('due', ...members.flatMap((member) => [now, member]));
  open();
  open();
  await expect.poll(() => done.length).toBe(60);
  expect(new Set(done).size).toBe(60);
});

test('work that fails is due again after its lease', async () => {
  await redis.zadd('due', now, 'failing');
  let tries = 0;
  open(async (member) => {
    if (++tries === 1) throw new Error('the app store is away');
    await finish(member);
  });
  await expect.poll(() => tries).toBe(1);
  expect(await redis.zscore('due', 'failing')).toBe(String(now + LEASE_MS));
  now += LEASE_MS;
  await expect.poll(() => done).toEqual(['failing']);
});

test('a close waits for the work under way, and takes no more', async () => {
  const begun = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  await redis.zadd('due', now, 'slow');
  const queue = open(async (member) => {
    begun.resolve();
    await mayEnd.promise;
    await finish(member);
  });
  await begun.promise;
  await redis.zadd('due', now, 'next');
  const closed = queue.close();
  mayEnd.resolve();
  await closed;
  expect(done).toEqual(['slow']);
  // Longer than a queue leaves between two looks: nothing is to happen within it.
  await sleep(700);
  expect(done).toEqual(['slow']);
});
