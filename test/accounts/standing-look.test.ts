import { beforeEach, expect, test } from 'vitest';
import { standingKey } from '../../src/accounts/account-keys.ts';
import { CallerScripts } from '../../src/accounts/caller-scripts.ts';
import { follow, MOST_FOLLOWED, settled } from '../../src/accounts/standing-look.ts';
import { forFile } from '../harness.ts';
import { startRedis } from '../own-redis.ts';

const { redis } = await forFile(startRedis());
let scripts: CallerScripts;
beforeEach(async () => {
  await redis.flushall();
  scripts = new CallerScripts({ call: (command, words) => redis.call(command, ...words) }, { now: () => 5000 });
});

const key = standingKey('some-guest');
const FROZEN = '~move-1 some-account google 2026-11-22\n';

test('an unfinished move is finished or reverted before the answer', async () => {
  for (const [record, found] of [
    ['>some-account', { accountId: 'some-account', word: 'open' }],
    ['#1\n', { accountId: 'some-guest', word: 'open' }],
  ] as const) {
    await redis.set(key, FROZEN);
    scripts.helpMove = async (accountId) => void (await redis.set(standingKey(accountId), record));
    expect(await settled('some-guest', scripts)).toEqual(found);
  }
});

test('the look follows a moved account to the last account, which may be deleted', async () => {
  await redis.set(key, '>some-account');
  await redis.set(standingKey('some-account'), '=4000');
  expect(await settled('some-guest', scripts)).toEqual({ accountId: 'some-account', word: 'deleted' });
});

test('a circle of moved accounts gives store_unavailable', async () => {
  const acts: string[] = [];
  const act = async (id: string): Promise<string> => (acts.push(id), id === 'a' ? 'b' : 'a');
  await expect(follow('a', scripts, act, (target) => ({ target }))).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(acts).toHaveLength(MOST_FOLLOWED + 1);
});

const late = new Error('the move of the guest takes longer');
const away = Object.assign(new Error('gone'), { name: 'MaxRetriesPerRequestError' });
test.each([
  ['does not end', undefined, { code: 'store_unavailable' }],
  ['takes longer than a request may', late, { code: 'store_unavailable', details: { retryAfterMs: 1000 }, cause: late }],
  // With the error of Redis the outcome may be unknown.
  ['meets an outage of Redis', away, away],
])('a request that waits for a move that %s fails with the reason', async (_, error, failure) => {
  await redis.set(key, FROZEN);
  scripts.helpMove = async () => {
    if (error !== undefined) throw error;
  };
  await expect(settled('some-guest', scripts)).rejects.toMatchObject(failure);
});
