import { pino } from 'pino';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { Journal } from '../../src/journal/journal.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { forFile } from '../harness.ts';
import { startRedis } from '../own-redis.ts';

const { redis } = await forFile(startRedis());
const NOW = 1_790_000_000_000;
const TAKE_OVER_MS = 10_000;
const lines: { reason: string; queue: string }[] = [];
const scripts = new ScriptRunner({ call: (command, words) => redis.call(command, ...words) }, { now: Date.now, observe: () => {} });
const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
const journal = new Journal({ name: 'work:due', takeOverMs: TAKE_OVER_MS, scripts, log, now: () => NOW });

beforeEach(async () => {
  await redis.flushall();
  lines.length = 0;
});

const queued = () => redis.zrange('work:due', '0', '-1', 'WITHSCORES');

describe('Journal.begin', () => {
  const throwing = (message: string) => () => Promise.reject(new Error(message));

  test('the queue holds the act from before the decision until its work is done', async () => {
    const seen: string[][] = [];
    const look = async () => void seen.push(await queued());
    const decide = async (act: string) => (await look(), act);
    const { decision, done } = await journal.begin('member', decide, async () => (await look(), undefined));
    await done;
    const entry = [`member#${decision}`, String(NOW + TAKE_OVER_MS)];
    expect(seen).toEqual([entry, entry]);
    expect(await queued()).toEqual([]);
  });

  test('the member is due again at the time with which the work after the decision resolves', async () => {
    const decide = async () => {};
    await (
      await journal.begin('member', decide, async () => NOW + 5)
    ).done;
    expect(await queued()).toEqual(['member', String(NOW + 5)]);
  });

  test('a decision that throws leaves the entry for the queue, and starts no work', async () => {
    const begun = journal.begin('member', throwing('the connection is lost'), throwing('must not follow'));
    await expect(begun).rejects.toThrow('the connection is lost');
    expect([await redis.zcard('work:due'), lines]).toEqual([1, []]);
  });

  test('failed work after a decision is logged and left to the queue; the caller gets the decision', async () => {
    const { decision, done } = await journal.begin('member', async () => 'decided', throwing('a room is away'));
    await done;
    expect([decision, await redis.zcard('work:due')]).toEqual(['decided', 1]);
    expect(lines).toMatchObject([{ reason: 'a room is away', queue: 'work:due', member: 'member' }]);
  });

  test('a decision that comes after its entry was due and taken is queued again', async () => {
    let time = NOW;
    const slow = new Journal({ name: 'work:due', takeOverMs: TAKE_OVER_MS, scripts, log, now: () => time });
    const queue = slow.takeOver(async () => undefined, 1000, log);
    onTestFinished(() => queue.close());
    const decide = async () => {
      time += TAKE_OVER_MS;
      await expect.poll(queued).toEqual([]);
    };
    await (
      await slow.begin('member', decide, throwing('a room is away'))
    ).done;
    expect(await queued()).toEqual(['member', String(NOW + 2 * TAKE_OVER_MS)]);
  });

  test('the queue finishes the unfinished work of a process once it is due', async () => {
    await journal.begin('member', throwing('killed'), async () => undefined).catch(() => {});
    await redis.zadd('work:due', NOW, (await redis.zrange('work:due', '0', '0'))[0]!);
    const done: string[] = [];
    const queue = journal.takeOver(async (member) => void done.push(member), 1000, log);
    await expect.poll(() => done).toEqual(['member']);
    await expect.poll(queued).toEqual([]);
    await queue.close();
  });
});
