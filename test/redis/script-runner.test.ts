import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { ScriptLink } from '../../src/redis/script-link.ts';
import { refuse } from '../../src/errors.ts';
import { defineScript } from '../../src/redis/script.ts';
import { slotOf } from '../../src/redis/slots.ts';
import { afterWrites, redisFailure, ScriptRunner, type ShardMap } from '../../src/redis/script-runner.ts';
import { sleep } from '../harness.ts';
import { lua } from '../lua-files.ts';
import { startRedis, type OwnRedis } from '../own-redis.ts';

/** Counts in `count`. With a fault the script raises an error, or gives no answer. */
const counting = defineScript({
  file: lua(
    'counting',
    `-- KEYS count
-- ARGV by, fault
-- Answers counted(count)
if fault == 'own' then error('no such luck') end
if fault == 'mute' then return nil end
local count = redis.call('INCRBY', count, by)
return {'counted', tostring(count)}`,
  ),
  keys: ['count'],
  args: ['by', 'fault'],
  answers: ['counted'],
});

let own: OwnRedis;
let redis: Redis;
let link: ScriptLink;
let scripts: ScriptRunner;

beforeAll(async () => {
  own = await startRedis();
  ({ redis } = own);
  link = new ScriptLink(redis);
  await link.opened();
  scripts = new ScriptRunner(link, { now: Date.now });
});

afterAll(async () => {
  link.disconnect();
  await own[Symbol.asyncDispose]();
});

beforeEach(() => redis.flushall());

const count = (key: string, by = 1, fault = ''): Promise<string[]> => scripts.run(counting, { count: key }, { by, fault });

test.each([
  [10, 1],
  [200, 4],
])('%i calls of one turn leave in %i command, at most 64 in one, and each gets its own answer in their order', async (calls, expected) => {
  await count('warm');
  await redis.config('RESETSTAT');
  const answers = await Promise.all(Array.from({ length: calls }, () => count('a')));
  expect(answers.map(([, counted]) => Number(counted))).toEqual(Array.from({ length: calls }, (_, index) => index + 1));
  const stats = [...(await redis.info('commandstats')).matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)];
  expect(stats.reduce((sum, [, number]) => sum + Number(number), 0)).toBe(expected);
});

test('a call that fails in Lua or in Redis fails alone, with the error that it would get alone', async () => {
  await redis.set('text', 'x');
  const outcomesOf = async (...calls: Promise<string[]>[]) =>
    (await Promise.allSettled(calls)).map((outcome) =>
      outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as Error).message,
    );
  expect(await outcomesOf(count('a', 1), count('a', 1, 'own'), count('text', 1), count('a', 5), count('a', 0.5))).toEqual([
    ['counted', '1'],
    expect.stringMatching(/^ERR .*no such luck/),
    expect.stringMatching(/^(ERR|WRONGTYPE) .*integer/),
    ['counted', '6'],
    expect.stringMatching(/^ERR .*integer/),
  ]);
  expect(await outcomesOf(count('a', 1, 'mute'), count('a', 1))).toEqual(['a script gave no answer', ['counted', '7']]);
  expect(await outcomesOf(count('a', 1, 'own'))).toEqual([expect.stringMatching(/^ERR .*no such luck/)]);
  await redis.lpush('list', 'x');
  expect(await outcomesOf(count('list'))).toEqual([expect.stringMatching(/^WRONGTYPE/)]);
});

/** A connection that records its commands, and replies when the test tells it to. */
function connection() {
  const waiting: { resolve: (reply: unknown) => void; reject: (error: Error) => void }[] = [];
  const sent: string[] = [];
  const call = (command: string): Promise<unknown> => {
    sent.push(command);
    return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
  };
  return { call, sent, reply: (reply: unknown) => waiting.shift()!.resolve(reply), fail: (error: Error) => waiting.shift()!.reject(error) };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('barriers of one turn share one PING, which leaves after all of them, and fail with its connection', async () => {
  const { call, sent, reply, fail } = connection();
  const runner = new ScriptRunner({ call }, { now: Date.now });
  const done: string[] = [];
  void runner.barrier('key').then(() => done.push('first'));
  void Promise.resolve()
    .then(() => Promise.resolve())
    .then(() => runner.barrier('key'))
    .then(() => done.push('of a later microtask'));
  await turn();
  expect([sent, done]).toEqual([['PING'], []]);
  // A barrier that begins after the PING has left does not share it.
  const lost = Promise.allSettled([runner.barrier('key'), runner.barrier('key')]);
  await turn();
  expect(sent).toEqual(['PING', 'PING']);
  reply('PONG');
  await turn();
  expect(done).toEqual(['first', 'of a later microtask']);
  fail(new Error('Connection is closed.'));
  expect((await lost).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const next = runner.barrier('key');
  await turn();
  reply('PONG');
  await next;
});

test('answers that arrive together are handled in the order in which Redis ran the calls, even if a script was sent again', async () => {
  const { call, reply, fail } = connection();
  const runner = new ScriptRunner({ call }, { now: Date.now });
  const order: string[] = [];
  const run = (script: typeof counting, what: string): void =>
    void runner.run(script, { count: 'a' }, { by: 1, fault: '' }).then(() => order.push(what));
  run(counting, 'first');
  run(counting, 'second');
  run({ ...counting, name: 'other' }, 'third');
  await turn();
  // Redis has lost the first script, and its repetition runs after the other script.
  fail(new Error('NOSCRIPT No matching script.'));
  await turn();
  reply([['counted', '1']]);
  reply([
    ['counted', '2'],
    ['counted', '3'],
  ]);
  await turn();
  expect(order).toEqual(['third', 'first', 'second']);
});

describe('on a Cluster', () => {
  /** A Cluster whose primaries give the answers that a test sets. The slot of `{b}` may have another primary than the rest. */
  class FakeMap implements ShardMap {
    asked = 0;
    answer: () => unknown = () => new Error('ELSEWHERE');
    awaySince: number | undefined;
    isApart = false;
    hasPrimaries = true;
    readonly #one = this.#shard();
    readonly #other = this.#shard();
    refreshes = 0;

    #shard() {
      const call = async (): Promise<unknown> => {
        this.asked++;
        return [await this.answer()];
      };
      const map = this;
      return {
        scripts: { call },
        durable: { call },
        place: () => '{a}',
        get awaySince() {
          return map.awaySince;
        },
      };
    }

    shardOf(slot: number) {
      if (!this.hasPrimaries) return undefined;
      return this.isApart && slot === slotOf('{b}') ? this.#other : this.#one;
    }

    servedSince(): number {
      return performance.now() - 1000;
    }

    refresh(): void {
      this.refreshes++;
    }
  }

  let map: FakeMap;
  let runner: ScriptRunner;
  beforeEach(() => {
    map = new FakeMap();
    runner = new ScriptRunner(map, { now: Date.now });
  });
  const run = (key: string): Promise<string[]> => runner.run(counting, { count: key }, { by: 1, fault: '' });

  test('a call that is refused is sent again for 1.8 s', async () => {
    const begunAt = performance.now();
    await expect(run('{a}')).rejects.toThrow('ELSEWHERE');
    expect(performance.now() - begunAt).toBeGreaterThan(1700);
    expect(map.asked).toBeGreaterThan(3);
    expect(map.refreshes).toBe(map.asked);
  });

  test('a call fails at once if the primary has been away for long, or if the slot has had none for long', async () => {
    map.awaySince = performance.now() - 1000;
    await expect(run('{a}')).rejects.toThrow('ELSEWHERE');
    map.hasPrimaries = false;
    await expect(run('{a}')).rejects.toThrow('CLUSTERDOWN');
    expect([map.asked, map.refreshes]).toEqual([1, 2]);
  });

  test('once a primary has not answered for half a second, at most 500 calls wait for it', async () => {
    map.answer = () => new Promise(() => {});
    map.isApart = true;
    for (let number = 0; number < 499; number++) void run('{a}');
    await sleep(550);
    void run('{a}');
    expect(redisFailure(await run('{a}').catch((error: unknown) => error))).toBe('not_applied');
    map.answer = () => ['counted', '7'];
    expect(await run('{b}')).toEqual(['counted', '7']);
  });
});

test('a script that does not run after others of its request leaves the outcome unknown', async () => {
  const refused = new Error("Stream isn't writeable");
  expect(redisFailure(refused)).toBe('not_applied');
  expect(redisFailure(await afterWrites(Promise.reject(refused)).catch((error: unknown) => error))).toBe('unknown');
  const away = refuse('store_unavailable', { retryAfterMs: 1000 });
  await expect(afterWrites(Promise.reject(away))).rejects.toMatchObject({ details: { retryAfterMs: 1000, outcome: 'unknown' } });
  const other = refuse('bad_token');
  await expect(afterWrites(Promise.reject(other))).rejects.toBe(other);
});

test('a process that was held up does not take Redis for silent', async () => {
  const { now } = performance;
  const lost = vi.fn();
  link.on('close', lost);
  const asked = link.call('EVAL', ["local busy = redis.call('TIME')[1] + 2 while redis.call('TIME')[1] + 0 < busy do end return 1", 0]);
  vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + 10_000);
  expect(await asked).toBe(1);
  expect(lost).not.toHaveBeenCalled();
  link.off('close', lost);
  vi.restoreAllMocks();
});
