import { beforeEach, expect, test } from 'vitest';
import { accountIdOf } from '../../../../src/accounts/ids.ts';
import { purchaseKeys } from '../../../../src/features/purchases/coins/model.ts';
import { purchaseIdOf } from '../../../../src/features/purchases/core/purchase-ids.ts';
import { memberOf } from '../../../../src/redis/queue.ts';
import { audited } from '../../../consistency/audited.ts';
import { forFile, freshId } from '../../../harness.ts';
import { openBooks, PACKAGE } from './books.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let now = 0;
const { own, books, process, coinsOf } = await forFile(openBooks(() => now));
beforeEach(async () => {
  now = Date.now();
  Object.assign(books, { isInCatalogue: true, isConfigured: true, isAway: false });
  await own.redis.del(purchaseKeys.noticesDue, ...(await own.redis.keys('{product-notice:*')));
});

const tell = (
  id: string,
  { notices }: Pick<ReturnType<typeof process>, 'notices'> = process(),
  { packageName = PACKAGE, mayBeNew = true, answersFirst = false } = {},
) => notices.noticed({ store: 'google', id, packageName }, { mayBeNew, answersFirst });

const isKept = async (token: string) => (await own.redis.exists(purchaseKeys.notice(purchaseIdOf('google', token)))) === 1;

/** Repeats the notification as the queue does, at each time at which it is due. @returns the milliseconds between the attempts */
async function repeat(token: string, most = 100): Promise<number[]> {
  const purchaseId = purchaseIdOf('google', token);
  const waits: number[] = [];
  let before = now;
  for (let attempts = 0; attempts < most; attempts++) {
    const held = (await own.redis.zrange(purchaseKeys.noticesDue, '0', '-1', 'WITHSCORES')) as string[];
    const due = held.flatMap((entry, index) =>
      index % 2 === 0 && memberOf(entry) === purchaseId ? [[entry, Number(held[index + 1])] as const] : [],
    );
    if (due.length === 0) return waits;
    now = Math.max(now, ...due.map(([, at]) => at));
    waits.push(now - before);
    before = now;
    const nextAt = await process().notices.check(purchaseId);
    await own.redis.zrem(purchaseKeys.noticesDue, ...due.map(([entry]) => entry));
    if (nextAt !== undefined) await own.redis.zadd(purchaseKeys.noticesDue, nextAt, purchaseId);
  }
  return waits;
}

/** A purchase that the store tells of, and that its API does not know until `known` is called. */
function early(installId: string): { token: string; known: () => void } {
  const token = books.sell({ buyer: accountIdOf(installId) });
  const sold = books.sold.get(token)!;
  books.sold.delete(token);
  return { token, known: () => void books.sold.set(token, sold) };
}

test('a purchase that the store does not know is asked for four times within ten minutes, and forgotten', async () => {
  const { token } = early(freshId());
  expect(await tell(token)).toBe(true);
  const waits = await repeat(token);
  expect([waits.length, waits.every((wait) => wait > 40_000), now - Date.now() < 10 * MINUTE]).toEqual([3, true, true]);
  expect(await isKept(token)).toBe(false);
  // The next notification begins anew.
  expect([await tell(token), await isKept(token)]).toEqual([true, true]);
});

test('a purchase of a product that the catalogue lacks is granted once the catalogue has it, within three days', async () => {
  const installId = freshId();
  const token = books.sell({ buyer: accountIdOf(installId) });
  books.isInCatalogue = false;
  expect(await tell(token)).toBe(true);
  await repeat(token, 20);
  expect([await isKept(token), await coinsOf(installId), now - Date.now() > 4 * HOUR]).toEqual([true, [], true]);
  books.isInCatalogue = true;
  await repeat(token);
  expect([await isKept(token), await coinsOf(installId), books.sold.get(token)!.isFinished]).toEqual([false, [100], true]);
});

test.each([
  ['the catalogue never gets its product', () => (books.isInCatalogue = false)],
  ['the store does not answer', () => (books.isAway = true)],
  ['the settings of the store are missing', () => (books.isConfigured = false)],
])('a purchase is given up after three days, when the store has refunded it, if %s', async (_, fail) => {
  const { token, known } = early(freshId());
  expect(await tell(token)).toBe(true);
  known();
  fail();
  const waits = await repeat(token, 1000);
  const passed = now - Date.now();
  expect([await isKept(token), passed > 72 * HOUR, passed < 74 * HOUR]).toEqual([false, true, true]);
  expect(Math.max(...waits)).toBeLessThanOrEqual(HOUR);
});

test('a store whose notifications are answered first is asked by the queue', async () => {
  const installId = freshId();
  const token = books.sell({ buyer: accountIdOf(installId) });
  books.isAway = true;
  expect([await tell(token, process(), { answersFirst: true }), await isKept(token)]).toEqual([true, true]);
  books.isAway = false;
  expect([await repeat(token), await isKept(token), await coinsOf(installId)]).toEqual([[0], false, [100]]);
});

test('only notifications that something was bought are kept, of the apps of the service', async () => {
  const { token } = early(freshId());
  const { notices } = process();
  expect(await tell(token, { notices }, { mayBeNew: false })).toBe(false);
  expect(await tell(token, { notices }, { packageName: 'com.other.app' })).toBe(false);
  expect(await isKept(token)).toBe(false);
});

test('no new notification is kept while ten thousand wait, and recorded purchases and kept notifications are told of all the same', async () => {
  const [kept, refused] = [early(freshId()).token, early(freshId()).token];
  const recorded = books.sell({ buyer: accountIdOf(freshId()) });
  expect([await tell(kept), await tell(recorded)]).toEqual([true, true]);
  await own.redis.zadd(purchaseKeys.noticesDue, ...Array.from({ length: 10_000 }, (_, index) => [9e15, `invented-${index}`]).flat());
  await expect(tell(refused)).rejects.toMatchObject({ code: 'store_unavailable', details: { retryAfterMs: 60_000 } });
  expect(await isKept(refused)).toBe(false);
  expect([await tell(kept), await tell(recorded)]).toEqual([true, true]);
  // A purchase that the store knows needs no place.
  const installId = freshId();
  expect([await tell(books.sell({ buyer: accountIdOf(installId) })), await coinsOf(installId)]).toEqual([true, [100]]);
});

test('a notification that was answered is not lost, and books once, whichever call its process dies before', async () => {
  for (const dies of ['when it is told', 'when it repeats'] as const) {
    for (let call = 1; ; call++) {
      const installId = freshId();
      const { token, known } = early(installId);
      const dying = process();
      if (dies === 'when it repeats') {
        await tell(token);
        known();
        now += 2 * MINUTE;
      }
      dying.scripts.dieBefore(call, false);
      const work = dies === 'when it is told' ? tell(token, dying) : dying.notices.check(purchaseIdOf('google', token));
      const isAnswered = await work.then(
        () => true,
        () => false,
      );
      known();
      await repeat(token);
      // Pub/Sub sends a notification again that was not answered.
      if (!isAnswered && dies === 'when it is told') await tell(token);
      const { due } = purchaseKeys;
      for (const entry of await own.redis.zrange(due, '0', '-1')) {
        await process().purchases.check(memberOf(entry));
        await own.redis.zrem(due, entry);
      }
      expect([dies, call, await coinsOf(installId), books.sold.get(token)!.isFinished]).toEqual([dies, call, [100], true]);
      if (dying.scripts.calls.length < call) break;
    }
  }
});

test('the audit finds kept notifications that no queue holds, and entries without a notification', async () => {
  const { token } = early(freshId());
  await tell(token);
  const purchaseId = purchaseIdOf('google', token);
  // Other tests of this file have booked coins in the future.
  const found = async () => (await audited(own.location)).findings.filter(({ kind }) => kind !== 'wrong_time');
  expect(await found()).toEqual([]);
  const far = now + 10 * HOUR;
  await own.redis.zadd(purchaseKeys.noticesDue, far, 'A'.repeat(22));
  await own.redis.zrem(purchaseKeys.noticesDue, purchaseId);
  expect((await found()).map(({ kind, subject }) => [kind, subject]).toSorted()).toEqual([
    ['document_without_queue', `coin-purchase ${purchaseId}`],
    ['queue_without_document', `queue ${purchaseKeys.noticesDue}`],
  ]);
});
