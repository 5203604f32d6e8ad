import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { DueQueue, type DueQueueOptions } from '../../src/redis/due-queue.ts';
import { Queue, queueKeyOf } from '../../src/redis/queue.ts';
import { CLUSTER_QUEUE_TAGS } from '../../src/redis/slots.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { sleep } from '../harness.ts';
import { startRedis, type OwnRedis } from '../own-redis.ts';

const LEASE_MS = 10_000;

let own: OwnRedis;
let redis: Redis;
let scripts: ScriptRunner;
let commands: number;
let now: number;
let done: string[];
let queues: DueQueue[];

beforeAll(async () => {
  own = await startRedis();
  ({ redis } = own);
});

afterAll(() => own[Symbol.asyncDispose]());

beforeEach(async () => {
  await redis.flushall();
  [now, done, queues, commands] = [1_790_000_000_000, [], [], 0];
  const call = (command: string, words: (string | number)[]): Promise<unknown> => {
    commands++;
    return redis.call(command, ...words);
  };
  scripts = new ScriptRunner({ call }, { now: Date.now, observe: () => {} });
});

afterEach(() => Promise.all(queues.map((queue) => queue.close())));

const finish = async (member: string): Promise<undefined> => void done.push(member);

function open(work: DueQueueOptions['work'] = finish, more: Partial<DueQueueOptions> = {}): DueQueue {
  const log = pino({ level: 'silent' });
  const queue = new DueQueue({ name: 'due', work, leaseMs: LEASE_MS, scripts, log, now: () => now, pollIntervalMs: 50, ...more });
  queues.push(queue);
  return queue;
}

/** Work that waits until the test releases it. */
function heldWork(next: () => number | undefined = () => undefined) {
  const begun = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const work = async (member: string): Promise<number | undefined> => {
    begun.resolve();
    await mayEnd.promise;
    done.push(member);
    return next();
  };
  return { work, begun: begun.promise, end: () => mayEnd.resolve() };
}

const dueAt = async (member: string): Promise<number | undefined> => {
  const score = await redis.zscore('due', member);
  return score === null ? undefined : Number(score);
};

test('work is done once it is due, and not before', async () => {
  await redis.zadd('due', now, 'due', now + 1, 'later');
  open();
  await expect.poll(() => done).toEqual(['due']);
  now += 1;
  await expect.poll(() => done).toEqual(['due', 'later']);
  await expect.poll(() => redis.exists('due')).toBe(0);
});

const membersOf = (count: number): string[] => Array.from({ length: count }, (_, index) => `member-${index}`);
const addDue = (members: readonly string[]) => redis.zadd('due', ...members.flatMap((member) => [now, member]));

test('a poll takes no more members than its bound, and else all that are due', async () => {
  await addDue(membersOf(40));
  open(finish, { pollIntervalMs: 1500, atOnce: 7, mostAPoll: 20 });
  // A look without a limit would go from 14 to 21.
  await expect.poll(() => done.length, { interval: 5 }).toBe(20);
  await expect.poll(() => done.length).toBe(40);
  await addDue(membersOf(60));
  open(finish, { pollIntervalMs: 1000 });
  await expect.poll(() => done.length).toBe(100);
});

test('long work does not delay the work that is due behind it', async () => {
  const slow = heldWork();
  await redis.zadd('due', now - 1, 'slow', ...Array.from({ length: 40 }, (_, index) => [now, `quick-${index}`]).flat());
  open((member) => (member === 'slow' ? slow.work(member) : finish(member)), { atOnce: 4 });
  await expect.poll(() => done.length).toBe(40);
  await redis.zadd('due', now, 'later');
  await expect.poll(() => done.at(-1)).toBe('later');
  slow.end();
  await expect.poll(() => done.at(-1)).toBe('slow');
  await expect.poll(() => redis.exists('due')).toBe(0);
});

test('two processes share the work: none of it is done twice', async () => {
  await addDue(membersOf(60));
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
    return finish(member);
  });
  await expect.poll(() => tries).toBe(1);
  expect(await dueAt('failing')).toBe(now + LEASE_MS);
  now += LEASE_MS;
  await expect.poll(() => done).toEqual(['failing']);
});

test('a close waits for the work under way, and takes no more', async () => {
  const held = heldWork();
  await redis.zadd('due', now, 'slow');
  const queue = open(held.work);
  await held.begun;
  const closed = queue.close();
  await redis.zadd('due', now, 'next');
  held.end();
  await closed;
  expect(done).toEqual(['slow']);
  // Longer than the pause of a queue between two looks: nothing may happen in this time.
  await sleep(200);
  expect(done).toEqual(['slow']);
  expect(await dueAt('slow')).toBeUndefined();
});

describe('an entry written ahead of an act', () => {
  let queue: Queue;
  beforeEach(() => void (queue = new Queue('due', scripts)));
  /** Members and times. */
  const entries = () => redis.zrange('due', '0', '-1', 'WITHSCORES');

  test('is removed after the act, and the member gets its next time', async () => {
    const ahead = await queue.ahead('member', now + 500);
    expect(await entries()).toEqual([ahead.entry, String(now + 500)]);
    for (const inMs of [70_000, 60_000, 80_000]) {
      await queue.settle('member', inMs === 70_000 ? ahead : await queue.ahead('member', now + 500), now + inMs);
      expect(await entries()).toEqual(['member', String(now + inMs)]);
    }
    await queue.settle('member', await queue.ahead('member', now + 500), undefined);
    expect(await entries()).toEqual([]);
  });

  test('keeps the earlier time of a member that something else has made due since', async () => {
    for (const [before, inMs, expected] of [
      [undefined, 80_000, 60_000],
      [70_000, 80_000, 60_000],
      [70_000, 50_000, 50_000],
      [70_000, undefined, 60_000],
    ] as const) {
      await redis.del('due');
      if (before !== undefined) await queue.bring('member', now + before);
      const ahead = await queue.ahead('member', now + 500);
      await queue.bring('member', now + 60_000);
      await queue.settle('member', ahead, inMs === undefined ? undefined : now + inMs);
      expect(await entries()).toEqual(['member', String(now + expected)]);
    }
  });

  test('makes the member due again if its work ran between the writing ahead and the act, and found nothing', async () => {
    await redis.zadd('due', now, 'member');
    const { entry } = await queue.ahead('member', now + 500);
    open();
    await expect.poll(() => dueAt('member')).toBeUndefined();
    expect(done).toEqual(['member']);
    expect(await redis.zrange('due', '0', '-1')).toEqual([entry]);
    now += 500;
    await expect.poll(() => done).toEqual(['member', 'member']);
    await expect.poll(() => redis.exists('due')).toBe(0);
  });

  test('belongs to one act: another act of the same member has its own', async () => {
    const [one, other] = await Promise.all([queue.ahead('member', now + 500), queue.ahead('member', now + 500)]);
    await queue.settle('member', other, undefined);
    expect(await redis.zrange('due', '0', '-1')).toEqual([one.entry]);
  });

  test('takes its member out of the queue if the work says so, and the member was not made due since', async () => {
    await queue.bring('member', now + 70_000);
    await queue.ahead('member', now);
    const done = open();
    await expect.poll(() => redis.exists('due')).toBe(0);
    await done.close();

    await queue.bring('member', now + 70_000);
    await queue.ahead('member', now);
    const held = heldWork();
    const working = open(held.work);
    await held.begun;
    await queue.bring('member', now + 60_000);
    held.end();
    await working.close();
    expect(await entries()).toEqual(['member', String(now + 60_000)]);
  });

  test('that is written again during its work stays', async () => {
    const held = heldWork();
    const working = open(held.work);
    await queue.ahead('member', now, 'act');
    await held.begun;
    await queue.ahead('member', now + 500, 'act');
    held.end();
    await working.close();
    expect(await entries()).toEqual(['member#act', String(now + 500)]);
  });

  test('and its member are worked on once if they come due together', async () => {
    await queue.ahead('member', now);
    await queue.bring('member', now);
    open();
    await expect.poll(() => redis.exists('due')).toBe(0);
    expect(done).toEqual(['member']);
  });
});

test('a member that an act made due during its work stays', async () => {
  const held = heldWork();
  await redis.zadd('due', now, 'member');
  const queue = open(held.work);
  await held.begun;
  await queue.bring('member', now + 300);
  held.end();
  await queue.close();
  // The work may have read its document before the act.
  expect(await dueAt('member')).toBe(now + 300);
});

test('work whose lease ran out makes its member due earlier, never later', async () => {
  const next = { at: now + 200_000 };
  for (const inMs of [200_000, 50_000]) {
    next.at = now + inMs;
    const held = heldWork(() => next.at);
    await redis.zadd('due', now, 'member');
    // This process takes no other work meanwhile, so the member is left to the other process.
    const slow = open(held.work, { atOnce: 1 });
    await held.begun;
    now += LEASE_MS;
    const other = open(async () => now + 70_000);
    await expect.poll(() => dueAt('member')).toBe(now + 70_000);
    await other.close();
    held.end();
    await slow.close();
    expect(await dueAt('member')).toBe(Math.min(next.at, now + 70_000));
  }
});

describe('with the sorted sets of a Cluster', () => {
  beforeEach(() => void Object.defineProperty(scripts, 'queueTags', { value: CLUSTER_QUEUE_TAGS }));
  const members = membersOf(300);

  test('members spread over all tags, and a poll is one turn of calls', async () => {
    const queue = new Queue('due', scripts);
    await Promise.all(members.map((member) => queue.bring(member, now)));
    expect((await redis.keys('*')).length).toBeGreaterThan(60);
    // Redis knows the script from here on.
    await queue.take('{due:0}', { now: 0, leaseMs: 1, limit: 1 });
    commands = 0;
    const idle = open(finish, { name: 'other', pollIntervalMs: 300 });
    await expect.poll(() => commands, { interval: 5 }).toBeGreaterThan(0);
    await idle.close();
    // 65 sorted sets: two commands of at most 64 calls.
    expect(commands).toBe(2);
    open();
    await expect.poll(() => done.length).toBe(300);
    await expect.poll(() => redis.keys('{due:*')).toEqual([]);
  });

  test('a member of imported data is done, and then lies in the sorted set of its tag', async () => {
    await redis.zadd('due', now, 'old', now, 'last');
    open(async (member) => {
      done.push(member);
      return member === 'old' ? now + 70_000 : undefined;
    });
    await expect.poll(() => done.toSorted()).toEqual(['last', 'old']);
    await expect.poll(() => redis.exists('due')).toBe(0);
    expect(await redis.zscore(queueKeyOf('due', 'old', CLUSTER_QUEUE_TAGS), 'old')).toBe(String(now + 70_000));
  });

  test('a sorted set that cannot be read does not keep the others from being worked off', async () => {
    const queue = open();
    const broken = queueKeyOf('due', 'member-0', CLUSTER_QUEUE_TAGS);
    await redis.set(broken, 'no sorted set');
    const others = members.filter((member) => queueKeyOf('due', member, CLUSTER_QUEUE_TAGS) !== broken);
    await Promise.all(others.map((member) => queue.bring(member, now)));
    await expect.poll(() => done.toSorted()).toEqual(others.toSorted());
  });
});
