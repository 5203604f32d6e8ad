import { expect, test } from 'vitest';
import { storeAccountIdOf } from '../../../src/accounts/ids.ts';
import { addedTo, mergedInto } from '../../../src/features/guest-moves/model.ts';
import { audited } from '../../consistency/audited.ts';
import { forFile, freshId } from '../../harness.ts';
import { balanceOf, historyOf, signInToStore } from '../../store.ts';
import { callerOf, dyingAt, freshInstall, openMoving } from '../guest-moves/mortal.ts';

/**
 * A process dies at each single script of a merge, or of an added sign-in. Then the queue, a request of the merged account, or its next
 * sign-in finishes the move or takes it back.
 */

const { own, service, redis, movers } = await forFile(openMoving());

const helpers = ['the queue', 'a request', 'a sign-in'] as const;

/** @returns false: the merge ended before the process would have died */
async function mergeDyingAt(number: number, isRefused: boolean): Promise<boolean> {
  const helper = helpers[number % helpers.length]!;
  const [subject, other] = [freshId('subject'), freshId('subject')];
  const [targetId, mergedId] = [storeAccountIdOf('sandbox', subject), storeAccountIdOf('sandbox', other)];
  const { cookies } = await signInToStore(service, subject);
  const guests = [freshInstall(), freshInstall()];
  const keys = guests.map(({ accountId }, guest) => Array.from({ length: guest === 0 ? 2 : 104 }, (_, index) => `${accountId} ${index}`));
  const mover = movers.mover();
  await Promise.all(guests.flatMap(({ accountId }, guest) => keys[guest]!.map((key) => movers.apply(accountId, 'c2', key, mover))));
  for (const { installId } of guests) await signInToStore(service, other, { installId });
  const merged = await signInToStore(service, other);
  await service.post('/v1/coins/credit', { coins: 3, key: 'own' }, merged);
  if (isRefused) await movers.makeRich(targetId, 999_999_999_999);
  await movers.drained();
  const before = [await movers.contentOf(mergedId), await movers.contentOf(targetId)];

  const dying = dyingAt(number);
  const begun = await movers
    .mover(dying.around)
    .moves.begin(callerOf(mergedId), mergedInto(targetId), mergedId)
    .catch(() => 'died' as const);
  const isOver = dying.calls() < number;
  if (helper === 'a request') expect([200, 401]).toContain((await service.get('/v1/balance', merged)).status);
  if (helper === 'a sign-in') await signInToStore(service, other);
  await movers.drained();

  const what = `${isRefused ? 'refused' : 'accepted'}, before call ${number}, then ${helper}`;
  const record = await movers.recordOf(mergedId);
  if (typeof begun === 'object') expect(begun.moved, what).toBe(!isRefused);
  if (!record!.startsWith('>')) {
    expect([await movers.contentOf(mergedId), await movers.contentOf(targetId)], what).toEqual(before);
  } else {
    expect([record, isRefused], what).toEqual([`>${targetId}`, false]);
    expect(await balanceOf(service, { cookies }), what).toBe(2 * 106 + 3);
    for (const key of keys.flat()) expect((await movers.apply(targetId, 'c2', key, mover))[0], what).toBe('replayed');
    expect((await movers.apply(targetId, 'c3', 'own', mover))[0], what).toBe('replayed');
    expect(
      (await historyOf(service, cookies)).reduce((sum, { coins }) => sum + coins, 0),
      what,
    ).toBe(2 * 106 + 3);
    for (const { accountId } of guests) expect(await movers.recordOf(accountId), what).toBe(`>${targetId}`);
    expect(
      (await redis.keys(`{${mergedId}}:*`)).filter((key) => !/:move:[^:]+$|:out:/.test(key)),
      what,
    ).toEqual([`{${mergedId}}:moves`]);
    const { body } = await signInToStore(service, other);
    expect([body.accountId, body.created], what).toEqual([targetId, false]);
  }
  return !isOver;
}

test.each([false, true])('a process dies at each script of a merge: refused %s', { timeout: 240_000 }, async (isRefused) => {
  let number = 1;
  while (await mergeDyingAt(number, isRefused)) number++;
  expect(number).toBeGreaterThan(14);
  await expect.poll(async () => (await audited(own.location)).findings).toEqual([]);
});

test('a process dies at each script of an added sign-in: it opens one account', { timeout: 240_000 }, async () => {
  let isOver = false;
  for (let number = 1; !isOver; number++) {
    const [subject, added] = [freshId('subject'), freshId('subject')];
    const [targetId, signInId] = [storeAccountIdOf('sandbox', subject), storeAccountIdOf('sandbox', added)];
    await signInToStore(service, subject);
    const dying = dyingAt(number);
    await movers
      .mover(dying.around)
      .moves.begin(callerOf(signInId), addedTo(targetId, 'sandbox'), signInId)
      .catch(() => {});
    isOver = dying.calls() < number;
    const opened = await Promise.all([signInToStore(service, added), signInToStore(service, added)]);
    await movers.drained();
    opened.push(await signInToStore(service, added));
    const ids = new Set(opened.map(({ body }) => body.accountId));
    expect([ids.size, ids.has(targetId) || ids.has(signInId)], `before call ${number}`).toEqual([1, true]);
  }
  await expect.poll(async () => (await audited(own.location)).findings).toEqual([]);
});
