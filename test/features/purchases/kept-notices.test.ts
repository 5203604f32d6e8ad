import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { Bookings } from '../../../src/features/coins/bookings.ts';
import { CoinTotals } from '../../../src/features/coins/coin-totals.ts';
import { KeySecret } from '../../../src/features/coins/key-secret.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { KeptNotices } from '../../../src/features/purchases/kept-notices.ts';
import { purchaseIdOf, purchaseKeys } from '../../../src/features/purchases/model.ts';
import { PurchaseCounts } from '../../../src/features/purchases/purchase-counts.ts';
import { Purchases } from '../../../src/features/purchases/purchases.ts';
import { memberOf } from '../../../src/redis/queue.ts';
import type { ScriptConnection } from '../../../src/redis/script-runner.ts';
import { Metrics } from '../../../src/server/metrics.ts';
import { audited } from '../../consistency/audited.ts';
import { DyingScripts } from '../../dying-scripts.ts';
import { testConfig } from '../../environment.ts';
import { freshId, start, type TestService } from '../../harness.ts';
import { startRedis, type OwnRedis } from '../../own-redis.ts';
import { BookedStore, PACKAGE, UNIT_COINS } from './books.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let own: OwnRedis;
let service: TestService;
let keySecret: KeySecret;
let books: BookedStore;
let now: number;
/** Whether the catalogue has the product. */
let isSold: boolean;
let isConfigured: boolean;
beforeAll(async () => {
  own = await startRedis();
  // The service's queue would repeat a notification before the test does.
  service = await start({ redis: own.location, settings: { STORE: 'off' } });
  books = new BookedStore(() => now);
  keySecret = new KeySecret(service.service.connections.source, pino({ level: 'silent' }));
  await keySecret.read();
});
beforeEach(async () => {
  now = Date.now();
  [isSold, isConfigured, books.isAway] = [true, true, false];
  await own.redis.del(purchaseKeys.noticesDue, ...(await own.redis.keys('{product-notice:*')));
});
afterAll(async () => {
  keySecret?.close();
  await service?.[Symbol.asyncDispose]();
  await own?.[Symbol.asyncDispose]();
});

/** Another process on the same Redis and store. */
function process(): { notices: KeptNotices; purchases: Purchases; scripts: DyingScripts } {
  const connection: ScriptConnection = { call: (command, words) => own.redis.call(command, ...words) };
  const scripts = new DyingScripts(connection, () => now);
  const metrics = new Metrics();
  const counts = new PurchaseCounts(metrics);
  const log = pino({ level: 'silent' });
  const purchases = new Purchases({
    scripts,
    bookings: new Bookings({ scripts, keySecret, coinTotals: new CoinTotals(metrics), config: testConfig() }),
    catalogue: { productSoldAs: () => (isSold ? { productId: 'coins-100', coins: UNIT_COINS } : undefined) },
    get store() {
      const products = isConfigured ? books : undefined;
      return { name: 'booked', signIn: undefined, installs: undefined, subscriptions: undefined, products };
    },
    takesTests: true,
    counts,
    log,
    now: () => now,
  });
  return { notices: new KeptNotices({ scripts, purchases, counts, log, now: () => now }), purchases, scripts };
}

const tell = (token: string, { notices } = process()) => notices.noticed('google', token, PACKAGE, true);

const isKept = async (token: string) => (await own.redis.exists(purchaseKeys.notice(purchaseIdOf('google', token)))) === 1;

const coinsOf = (installId: string) => own.redis.llen(coinKeys.ledger(accountIdOf(installId)));

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
    const nextAt = await process().notices.look(purchaseId);
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
  isSold = false;
  expect(await tell(token)).toBe(true);
  await repeat(token, 20);
  expect([await isKept(token), await coinsOf(installId), now - Date.now() > 4 * HOUR]).toEqual([true, 0, true]);
  isSold = true;
  await repeat(token);
  expect([await isKept(token), await coinsOf(installId), books.sold.get(token)!.isFinished]).toEqual([false, 1, true]);
});

test.each([
  ['the catalogue never gets its product', () => (isSold = false)],
  ['the store does not answer', () => (books.isAway = true)],
  ['the settings of the store are missing', () => (isConfigured = false)],
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

test('only notifications that something was bought are kept, of the apps of the service', async () => {
  const { token } = early(freshId());
  const { notices } = process();
  expect(await notices.noticed('google', token, PACKAGE, false)).toBe(false);
  expect(await notices.noticed('google', token, 'com.other.app', true)).toBe(false);
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
  expect([await tell(books.sell({ buyer: accountIdOf(installId) })), await coinsOf(installId)]).toEqual([true, 1]);
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
      const work = dies === 'when it is told' ? tell(token, dying) : dying.notices.look(purchaseIdOf('google', token));
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
        await process().purchases.look(memberOf(entry));
        await own.redis.zrem(due, entry);
      }
      expect([dies, call, await coinsOf(installId), books.sold.get(token)!.isFinished]).toEqual([dies, call, 1, true]);
      if (dying.scripts.calls.length < call) break;
    }
  }
});

test('the audit finds kept notifications that no queue holds, and entries without a notification', async () => {
  const { token } = early(freshId());
  await tell(token);
  const purchaseId = purchaseIdOf('google', token);
  expect((await audited(own.location)).findings).toEqual([]);
  const far = now + 10 * HOUR;
  await own.redis.zadd(purchaseKeys.noticesDue, far, 'A'.repeat(22));
  await own.redis.zrem(purchaseKeys.noticesDue, purchaseId);
  const { findings } = await audited(own.location);
  expect(findings.map(({ kind, subject }) => [kind, subject]).toSorted()).toEqual([
    ['document_without_queue', `coin-purchase ${purchaseId}`],
    ['queue_without_document', `queue ${purchaseKeys.noticesDue}`],
  ]);
});
