import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { opensAccount } from '../../src/accounts/prologues.ts';
import { ScriptLink } from '../../src/redis/script-link.ts';
import { defineScript } from '../../src/redis/script.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { startRedis } from '../own-redis.ts';

const folder = mkdtempSync(join(tmpdir(), 'coinop-scripts-'));

function lua(name: string, text: string): URL {
  writeFileSync(join(folder, `${name}.lua`), text);
  return pathToFileURL(join(folder, `${name}.lua`));
}

/** Counts in `count`. With a fault it raises an error, or gives no answer. */
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

let own: Awaited<ReturnType<typeof startRedis>>;
let redis: Redis;
let link: ScriptLink;
let scripts: ScriptRunner;
const observed: string[] = [];

beforeAll(async () => {
  own = await startRedis();
  redis = new Redis({ path: (own.location as { socketPath: string }).socketPath });
  link = new ScriptLink(redis);
  await link.opened();
  scripts = new ScriptRunner(link, { now: Date.now, observe: (script) => observed.push(script) });
});

afterAll(async () => {
  link.disconnect();
  redis.disconnect();
  await own[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

beforeEach(async () => {
  await redis.flushall();
  await redis.config('RESETSTAT');
});

async function commands(): Promise<number> {
  const info = await redis.info('commandstats');
  return [...info.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

const count = (key: string, by = 1, fault = ''): Promise<string[]> => scripts.run(counting, { count: key }, { by, fault });

test('calls of one turn leave in one command, and each gets its own answer', async () => {
  await count('warm');
  await redis.config('RESETSTAT');
  const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => count(index % 2 === 0 ? 'a' : 'b', index)));
  expect(answers.map(([, counted]) => Number(counted))).toEqual([0, 1, 2, 4, 6, 9, 12, 16, 20, 25]);
  expect(await commands()).toBe(1);
  expect(observed.length).toBeGreaterThan(10);
});

test('more than 64 calls leave in commands of 64, in their order', async () => {
  await count('warm');
  await redis.config('RESETSTAT');
  const answers = await Promise.all(Array.from({ length: 200 }, () => count('a')));
  expect(answers.map(([, counted]) => Number(counted))).toEqual(Array.from({ length: 200 }, (_, index) => index + 1));
  expect(await commands()).toBe(4);
});

test('a call that fails in Lua or in Redis fails alone, with the error that it would get alone', async () => {
  await redis.set('text', 'x');
  const outcomes = await Promise.allSettled([count('a', 1), count('a', 1, 'own'), count('text', 1), count('a', 5), count('a', 0.5)]);
  expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as Error).message))).toEqual([
    ['counted', '1'],
    expect.stringMatching(/^ERR .*no such luck/),
    expect.stringMatching(/^(ERR|WRONGTYPE) .*integer/),
    ['counted', '6'],
    expect.stringMatching(/^ERR .*integer/),
  ]);
  const [mute, after] = await Promise.allSettled([count('a', 1, 'mute'), count('a', 1)]);
  expect([(mute as PromiseRejectedResult).reason.message, after]).toEqual([
    'a script gave no answer',
    { status: 'fulfilled', value: ['counted', '7'] },
  ]);
  await expect(count('a', 1, 'own')).rejects.toThrow(/^ERR .*no such luck/);
  await redis.lpush('list', 'x');
  await expect(count('list')).rejects.toThrow(/^WRONGTYPE/);
});

test('a batch runs once where Redis has lost the script', async () => {
  await count('a');
  await redis.script('FLUSH');
  const answers = await Promise.all(Array.from({ length: 5 }, () => count('a')));
  expect(answers.map(([, counted]) => counted)).toEqual(['2', '3', '4', '5', '6']);
});

test('a batch that Redis refuses before it runs fails whole, and writes nothing', async () => {
  await redis.config('SET', 'maxmemory', '1');
  try {
    for (const outcome of await Promise.allSettled([count('a'), count('b')])) {
      expect((outcome as PromiseRejectedResult).reason.message).toMatch(/^OOM/);
    }
  } finally {
    await redis.config('SET', 'maxmemory', '0');
  }
  expect(await redis.exists('a', 'b')).toBe(0);
});

test('a script whose prologue has arguments does not run without a caller, and takes no other call with it', async () => {
  const opening = defineScript({
    file: lua('opening', `-- KEYS count\n-- ARGV -\n-- Prologue prologue-open.lua\n-- Answers done\nreturn {'done'}`),
    keys: ['count'],
    args: [],
    answers: ['done'],
    prologue: opensAccount,
  });
  const [refused, counted] = await Promise.allSettled([scripts.run(opening, { count: 'a' }, {}), count('a')]);
  expect((refused as PromiseRejectedResult).reason.message).toMatch(/opening\.lua runs for a caller only/);
  expect(counted).toEqual({ status: 'fulfilled', value: ['counted', '1'] });
});
