import { expect, test } from 'vitest';
import { accountsOn } from '../../board-entries.ts';
import { storeAccountIdOf } from '../../../src/accounts/ids.ts';
import { standingKey } from '../../../src/accounts/account-keys.ts';
import { redisFailure } from '../../../src/redis/script-runner.ts';
import { audited } from '../../consistency/audited.ts';
import { forFile, freshId } from '../../harness.ts';
import { balanceOf, historyOf, signInToStore } from '../../store.ts';
import { dyingAt, freshInstall, openMoving } from './mortal.ts';

/**
 * A process dies before each single script of a move. Then the queue, a request of the guest, or a second sign-in finishes
 * the move or takes it back.
 */

const { own, service, redis, movers } = await forFile(openMoving());

interface Case {
  readonly entries: number;
  readonly isRefused: boolean;
}

const helpers = ['the queue', 'a request of the guest', 'a second sign-in'] as const;

/** @returns false: the move ended before the process would have died */
async function crashAt(number: number, { entries, isRefused }: Case): Promise<boolean> {
  const helper = helpers[number % helpers.length]!;
  const [{ installId, accountId: guestId }, subject] = [freshInstall(), freshId('subject')];
  const targetId = storeAccountIdOf('sandbox', subject);
  const padding = 'x'.repeat(entries > 100 ? 200 : 0);
  const keys = Array.from({ length: entries }, (_, index) => `${guestId} ${index} ${padding}`);
  const mover = movers.mover();
  await Promise.all(keys.map((key) => movers.apply(guestId, 'c2', key, mover)));
  await service.post('/v1/entitlement/first-run', { installId });
  const { cookies } = await signInToStore(service, subject);
  if (isRefused) await movers.makeRich(targetId, 999_999_999_999);
  else await service.post('/v1/coins/credit', { coins: 5, key: 'own' }, { cookies });
  const game = freshId('game').toLowerCase();
  await service.post(`/v1/highscores/${game}`, { installId, score: 7, name: 'Ada' });
  const before = [await movers.contentOf(guestId), await movers.contentOf(targetId)];

  const dying = dyingAt(number);
  const begun = await movers.begin(guestId, targetId, movers.mover(dying.around)).catch(() => 'died' as const);
  const isOver = dying.calls() < number;

  if (helper === 'a request of the guest') {
    const { status } = await service.get('/v1/balance', { headers: { 'x-install-id': installId } });
    expect([200, 401]).toContain(status);
  } else if (helper === 'a second sign-in') {
    const { body } = await signInToStore(service, subject, { installId });
    expect(body.notMoved).toBe(isRefused ? 'balance_limit' : undefined);
  }
  await movers.drained();

  const what = `${entries} entries, ${isRefused ? 'refused' : 'accepted'}, before call ${number}, then ${helper}`;
  const record = await movers.recordOf(guestId);
  if (typeof begun === 'object') expect(begun.moved, what).toBe(!isRefused);
  if (record === null) {
    expect([await movers.contentOf(guestId), await movers.contentOf(targetId)], what).toEqual(before);
  } else {
    expect([record, isRefused], what).toEqual([`>${targetId}`, false]);
    const balance = 2 * entries + 5;
    expect(await balanceOf(service, { cookies }), what).toBe(balance);
    const replays = await Promise.all(keys.map((key) => movers.apply(targetId, 'c2', key, mover)));
    expect(replays, what).toEqual(keys.map((_, index) => ['replayed', String(2 * (index + 1)), String(balance)]));
    const history = (await historyOf(service, cookies)).map(({ type, key }) => (type === 'merge' ? type : key));
    expect(history, what).toEqual(['merge', 'merge', 'own', ...keys.toReversed()]);
    expect(await redis.keys(`{${guestId}}:*`), what).toEqual([`{${guestId}}:moves`]);
    expect(await accountsOn(redis, game), what).toEqual([targetId]);
  }
  return !isOver;
}

test.each([
  ['a small guest', { entries: 3, isRefused: false }],
  ['a guest with a ledger of several chunks', { entries: 620, isRefused: false }],
  ['a guest that the account refuses', { entries: 620, isRefused: true }],
] as const)('a process dies at each script of the move of %s', { timeout: 240_000 }, async (_, one) => {
  let number = 1;
  while (await crashAt(number, one)) number++;
  // Freeze, open, copy, accept, close and the scores are single scripts.
  expect(number).toBeGreaterThan(12);
  expect((await audited(own.location)).findings).toEqual([]);
});

test('a guest whose freeze was lost after it was accepted keeps what it has, and does not move twice', async () => {
  const [{ accountId: guestId }, { accountId: targetId }] = [freshInstall(), freshInstall()];
  await movers.apply(guestId, 'c5', 'before');
  const forgetful = movers.mover(async (script, call) => {
    const answer = await call();
    // A failover of the guest's primary takes the freeze back.
    if (script === 'guest-moves/add-guest-to-account') await redis.del(standingKey(guestId));
    return answer;
  });
  await movers.begin(guestId, targetId, forgetful);
  expect(await movers.apply(guestId, 'c2', 'after')).toEqual(['done', '7']);
  expect(await movers.begin(guestId, targetId)).toEqual({ moved: false, reason: 'not_a_guest' });
  expect(await movers.apply(guestId, 'c2', 'after')).toEqual(['replayed', '7', '7']);
  expect(await movers.apply(targetId, 'c1', 'own')).toEqual(['done', '6']);
  expect(await redis.keys('*:move:*:*')).toEqual([]);
  // Cleans up for the audit of the other tests.
  await redis.del(...(await redis.keys(`{${guestId}}:*`)), ...(await redis.keys(`{${targetId}}:*`)));
});

test('a move that cannot go on leaves the outcome unknown, because others finish it', async () => {
  const [{ accountId: guestId }, { accountId: targetId }] = [freshInstall(), freshInstall()];
  await movers.apply(guestId, 'c5', 'before');
  const cut = movers.mover((script, call) =>
    script === 'guest-moves/copy-guest-ledger' || script === 'guest-moves/add-guest-to-account'
      ? Promise.reject(new Error("Stream isn't writeable"))
      : call(),
  );
  const error = await movers.begin(guestId, targetId, cut).catch((found: unknown) => found);
  expect(redisFailure(error)).toBe('unknown');
  await movers.work();
  expect(await movers.apply(targetId, 'c1', 'own')).toEqual(['done', '6']);
});
