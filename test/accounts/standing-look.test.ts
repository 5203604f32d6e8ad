import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { CallerScripts } from '../../src/accounts/caller-scripts.ts';
import { standingKey } from '../../src/accounts/account-keys.ts';
import { follow, MOST_FOLLOWED, runWhereItIs, settled, standingOf } from '../../src/accounts/standing-look.ts';
import { startRedis, type OwnRedis } from '../own-redis.ts';

let own: OwnRedis;
let redis: Redis;
let scripts: CallerScripts;
beforeAll(async () => {
  own = await startRedis();
  ({ redis } = own);
});
afterAll(() => own[Symbol.asyncDispose]());
beforeEach(async () => {
  await redis.flushall();
  scripts = new CallerScripts({ call: (command, words) => redis.call(command, ...words) }, { now: () => 5000 });
});

const key = standingKey('some-guest');
const FROZEN = '~move-1 some-account google 2026-11-22\n';

test.each([
  ['', { word: 'open' }],
  ['#3\n', { word: 'open' }],
  ['other-guest 3=\n', { word: 'open' }],
  ['!0 1 -\n', { word: 'banned', ban: { until: undefined } }],
  ['!5001 1 -\n#1\n', { word: 'banned', ban: { until: 5001 } }],
  ['!5000 1 -\n', { word: 'open' }],
  ['!5000 1 -\n#1\n', { word: 'open' }],
  [FROZEN, { word: 'moving' }],
  ['>some-account', { word: 'moved', target: 'some-account' }],
  ['=4000\n#1\n', { word: 'deleted' }],
  ['=4000', { word: 'deleted' }],
])('the standing %j is read', async (record, state) => {
  if (record !== '') await redis.set(key, record);
  expect(await standingOf('some-guest', scripts)).toEqual(state);
});

test('an unfinished move is finished or reverted before the answer', async () => {
  const helped: string[] = [];
  for (const [record, found] of [
    ['>some-account', { accountId: 'some-account', word: 'open' }],
    ['#1\n', { accountId: 'some-guest', word: 'open' }],
  ] as const) {
    await redis.set(key, FROZEN);
    scripts.helpMove = async (accountId) => {
      helped.push(accountId);
      await redis.set(key, record);
    };
    expect(await settled('some-guest', scripts)).toEqual(found);
  }
  expect(helped).toEqual(['some-guest', 'some-guest']);
});

test('the look follows a moved account to the last account, which may be deleted', async () => {
  await redis.set(key, '>some-account');
  await redis.set(standingKey('some-account'), '=4000');
  expect(await settled('some-guest', scripts)).toEqual({ accountId: 'some-account', word: 'deleted' });
});

test('a script that finds a moved account runs again for the target of the move, and answers for the target', async () => {
  const ran: string[] = [];
  const run = async (id: string): Promise<[word: 'done' | 'moved', ...figures: string[]]> => {
    ran.push(id);
    return id === 'some-guest' ? ['moved', 'some-account'] : ['done', '7'];
  };
  expect(await runWhereItIs('some-guest', scripts, run)).toEqual({ word: 'done', figures: ['7'], accountId: 'some-account' });
  expect(ran).toEqual(['some-guest', 'some-account']);
});

test('a move that does not end gives store_unavailable, and so does a circle of moved accounts', async () => {
  await redis.set(key, FROZEN);
  await expect(settled('some-guest', scripts)).rejects.toMatchObject({ code: 'store_unavailable' });
  const acts: string[] = [];
  const other = { a: 'b', b: 'a' } as Record<string, string>;
  const act = async (id: string): Promise<string> => (acts.push(id), other[id]!);
  await expect(follow('a', scripts, act, (target) => ({ target }))).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(acts).toHaveLength(MOST_FOLLOWED + 1);
});

test('a move that takes longer than a request may gives store_unavailable, with the reason for the log', async () => {
  await redis.set(key, FROZEN);
  scripts.helpMove = async () => {
    throw new Error('the move of the guest takes longer');
  };
  const refused = settled('some-guest', scripts);
  await expect(refused).rejects.toMatchObject({
    code: 'store_unavailable',
    details: { retryAfterMs: 1000 },
    cause: { message: 'the move of the guest takes longer' },
  });
});

test('a request that continues a move during an outage of Redis fails with the error of Redis, whose outcome may be unknown', async () => {
  await redis.set(key, FROZEN);
  const away = Object.assign(new Error('gone'), { name: 'MaxRetriesPerRequestError' });
  scripts.helpMove = async () => {
    throw away;
  };
  await expect(settled('some-guest', scripts)).rejects.toBe(away);
});
