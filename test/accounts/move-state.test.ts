import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { CallerScripts } from '../../src/accounts/caller-scripts.ts';
import { movesKey } from '../../src/accounts/keys.ts';
import { moveOf, settledMoveOf } from '../../src/accounts/move-state.ts';
import { startRedis } from '../own-redis.ts';

let own: Awaited<ReturnType<typeof startRedis>>;
let redis: Redis;
let scripts: CallerScripts;
beforeAll(async () => {
  own = await startRedis();
  redis = new Redis({ path: (own.location as { socketPath: string }).socketPath });
});
afterAll(async () => {
  redis.disconnect();
  await own[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await redis.flushall();
  scripts = new CallerScripts({ call: (command, words) => redis.call(command, ...words) }, { now: Date.now });
});

const key = movesKey('some-guest');

test.each([
  ['', { word: 'stays' }],
  ['#3\n', { word: 'stays' }],
  ['other-guest 3=\n', { word: 'stays' }],
  ['~move-1 some-account google', { word: 'moving' }],
  ['>some-account', { word: 'moved', target: 'some-account' }],
])('the move record %j is read', async (record, state) => {
  if (record !== '') await redis.set(key, record);
  expect(await moveOf('some-guest', scripts)).toEqual(state);
});

test('a move under way is finished or undone before the answer', async () => {
  const helped: string[] = [];
  for (const [record, word] of [
    ['>some-account', 'moved'],
    ['', 'stays'],
  ] as const) {
    await redis.set(key, '~move-1 some-account google');
    scripts.helpMove = async (accountId) => {
      helped.push(accountId);
      await redis.set(key, record);
    };
    expect((await settledMoveOf('some-guest', scripts)).word).toBe(word);
  }
  expect(helped).toEqual(['some-guest', 'some-guest']);
});

test('a move that does not end is store_unavailable', async () => {
  await redis.set(key, '~move-1 some-account google');
  await expect(settledMoveOf('some-guest', scripts)).rejects.toMatchObject({ code: 'store_unavailable' });
});
