import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Journal } from '../../src/journal/journal.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { startRedis, type OwnRedis } from '../own-redis.ts';

let own: OwnRedis;
let redis: Redis;
let journal: Journal;
const NOW = 1_790_000_000_000;
const TAKE_OVER_MS = 10_000;
const lines: { reason: string; queue: string }[] = [];

beforeAll(async () => {
  own = await startRedis();
  ({ redis } = own);
});
afterAll(() => own[Symbol.asyncDispose]());
beforeEach(async () => {
  await redis.flushall();
  const scripts = new ScriptRunner({ call: (command, words) => redis.call(command, ...words) }, { now: Date.now, observe: () => {} });
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  lines.length = 0;
  journal = new Journal({ name: 'work:due', takeOverMs: TAKE_OVER_MS, scripts, log, now: () => NOW });
});

const queued = () => redis.zrange('work:due', '0', '-1', 'WITHSCORES');

describe('Journal.begin', () => {
  test('the queue holds the act from before the decision until its work is done', async () => {
    const seen: string[][] = [];
    const { decision, done } = await journal.begin(
      'member',
      async (act) => {
        seen.push(await queued());
        return `decided by ${act}`;
      },
      async () => {
        seen.push(await queued());
        return undefined;
      },
    );
    await done;
    const act = decision.slice('decided by '.length);
    const entry = [`member#${act}`, String(NOW + TAKE_OVER_MS)];
    expect(seen).toEqual([entry, entry]);
    expect(await queued()).toEqual([]);
  });

  test('the member is due again at the time with which the work after the decision resolves', async () => {
    const { done } = await journal.begin(
      'member',
      async () => {},
      async () => NOW + 5,
    );
    await done;
    expect(await queued()).toEqual(['member', String(NOW + 5)]);
  });

  test('a decision that throws leaves the entry for the queue, and starts no work', async () => {
    const decide = () => Promise.reject(new Error('the connection is lost'));
    const begun = journal.begin('member', decide, () => Promise.reject(new Error('must not follow')));
    await expect(begun).rejects.toThrow('the connection is lost');
    expect(await redis.zcard('work:due')).toBe(1);
    expect(lines).toEqual([]);
  });

  test('failed work after a decision is logged and left to the queue; the caller gets the decision', async () => {
    const { decision, done } = await journal.begin(
      'member',
      async () => 'decided',
      () => Promise.reject(new Error('a room is away')),
    );
    await done;
    expect([decision, await redis.zcard('work:due')]).toEqual(['decided', 1]);
    expect(lines).toMatchObject([{ reason: 'a room is away', queue: 'work:due', member: 'member' }]);
  });
});

test('takeOver finishes the unfinished work of a process once it is due', async () => {
  await journal
    .begin(
      'member',
      () => Promise.reject(new Error('killed')),
      async () => undefined,
    )
    .catch(() => {});
  await redis.zadd('work:due', NOW, (await redis.zrange('work:due', '0', '0'))[0]!);
  const done: string[] = [];
  const queue = journal.takeOver(async (member) => void done.push(member), 1000, pino({ level: 'silent' }));
  await expect.poll(() => done).toEqual(['member']);
  await expect.poll(queued).toEqual([]);
  await queue.close();
});
