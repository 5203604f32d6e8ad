import { pino } from 'pino';
import { expect, test } from 'vitest';
import { standingKey } from '../../../../src/accounts/account-keys.ts';
import { accountIdOf } from '../../../../src/accounts/ids.ts';
import { purchaseKeys } from '../../../../src/features/purchases/coins/model.ts';
import { purchaseIdOf } from '../../../../src/features/purchases/core/purchase-ids.ts';
import type { CoinPurchases } from '../../../../src/features/purchases/coins/coin-purchases.ts';
import { PurchaseCounts } from '../../../../src/features/purchases/coins/purchase-counts.ts';
import { RefundQuestions } from '../../../../src/features/purchases/coins/refund-questions.ts';
import { testCoinsOf } from '../../../../src/features/purchases/coins/test-coins.ts';
import { Metrics } from '../../../../src/server/metrics.ts';
import { memberOf } from '../../../../src/redis/queue.ts';
import type { Refund } from '../../../../src/stores/store.ts';
import { forFile, freshId } from '../../../harness.ts';
import { deleteAccount } from '../../../store.ts';
import { seeded } from '../../../seeded.ts';
import { openBooks, PACKAGE, type BookedStore } from './books.ts';

const { own, service, books, process, coinsOf } = await forFile(openBooks());

const presentedBy = (installId: string) => ({ accountId: accountIdOf(installId), isOpen: false });

const show = (purchases: CoinPurchases, token: string, installId: string) =>
  purchases.claim('google', books.answerFor(token), presentedBy(installId)).catch((error: unknown) => error);

/** A process handles these refunds from the store's list. */
async function noticed(listed: readonly Refund[], purchases: Partial<Pick<CoinPurchases, 'bring' | 'takeBackAll'>>): Promise<void> {
  books.listed = listed;
  await own.redis.del(purchaseKeys.asked('google'));
  const { scripts } = process();
  const counts = new PurchaseCounts(new Metrics());
  const work = {
    sellerOf: () => books,
    bring: (id: string) => purchases.bring!(id),
    takeBackAll: (id: string) => purchases.takeBackAll!(id),
  };
  const questions = new RefundQuestions({
    scripts,
    counts,
    purchases: work,
    store: 'google',
    mayWrite: () => true,
    now: Date.now,
    log: pino({ level: 'silent' }),
  });
  await expect.poll(() => counts.askedAt.get('google') ?? 0).toBeGreaterThan(0);
  await questions.close();
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

/** Checks the purchase, as the queue of another process would, until the queue no longer has it. */
async function survive(token: string): Promise<void> {
  const purchaseId = purchaseIdOf('google', token);
  const { purchases } = process();
  for (let reads = 0; reads < 5; reads++) {
    const entries = await own.redis.zrange(purchaseKeys.due, '0', '-1');
    const held = entries.filter((entry) => memberOf(entry) === purchaseId);
    if (held.length === 0) return;
    const nextAt = await purchases.check(purchaseId);
    await own.redis.zrem(purchaseKeys.due, ...held);
    if (nextAt !== undefined) return;
  }
}

interface Scenario {
  readonly sold: Parameters<BookedStore['sell']>[0];
  /** The steps before the act in which the process dies. */
  readonly isShown?: boolean;
  readonly changes?: { state?: 'purchased' | 'canceled'; refunded?: number };
  readonly coins: readonly number[];
}

const scenarios: Record<string, Scenario> = {
  'a first purchase': { sold: { quantity: 2 }, coins: [200] },
  'a test purchase': { sold: { quantity: 2, isTest: true }, coins: [200] },
  'a test purchase that is paid for': {
    sold: { state: 'pending', isTest: true },
    isShown: true,
    changes: { state: 'purchased' },
    coins: [100],
  },
  'a purchase that was partly refunded before': { sold: { quantity: 3, refunded: 1 }, coins: [200] },
  'a pending purchase that is paid for': { sold: { state: 'pending' }, isShown: true, changes: { state: 'purchased' }, coins: [100] },
  'a refund': { sold: { quantity: 2 }, isShown: true, changes: { refunded: 1 }, coins: [200, -100] },
  'a cancellation': { sold: { quantity: 2 }, isShown: true, changes: { state: 'canceled' }, coins: [200, -200] },
};

test.each(Object.entries(scenarios))('%s is booked once, whichever call its process dies before', async (_, scenario) => {
  const { sold, isShown = false, changes = {}, coins } = scenario;
  for (let call = 1, isOver = false; !isOver; call++) {
    const installId = freshId();
    const token = books.sell(sold);
    if (isShown) await show(process().purchases, token, installId);
    Object.assign(books.sold.get(token)!, changes);
    const { purchases, scripts } = process();
    scripts.dieBefore(call);
    await show(purchases, token, installId);
    isOver = scripts.calls.length < call;
    await survive(token);
    // Once the decision was made, the client is not needed.
    if (scripts.calls.slice(0, call - 1).includes('purchases/record')) expect([call, await coinsOf(installId)]).toEqual([call, coins]);
    // The client got no answer, so it sends the purchase again.
    expect([call, await show(process().purchases, token, installId)]).toMatchObject([call, { word: 'recorded' }]);
    expect([call, await coinsOf(installId), books.sold.get(token)!.isFinished]).toEqual([call, coins, true]);
    // However often the process died, the coins were reserved once.
    const reserved = await testCoinsOf([accountIdOf(installId)], Date.now(), process().scripts);
    expect([call, reserved]).toEqual([call, sold?.isTest === true ? sum(coins) : 0]);
  }
});

test('answers of the store that come late, twice and in any order end in the latest one', async () => {
  const random = seeded(32);
  for (let round = 0; round < 15; round++) {
    const installId = freshId();
    const token = books.sell({ quantity: 5, refunded: 0 });
    const at = Date.now();
    const answers = Array.from({ length: 6 }, (_, index) => {
      books.sold.get(token)!.refunded = Math.floor(random() * 6);
      books.sold.get(token)!.state = random() < 0.2 ? 'canceled' : 'purchased';
      return { answer: books.answerFor(token, at + index), kept: books.keptCoins(token) };
    });
    const { purchases } = process();
    const order = [...answers, ...answers].toSorted(() => random() - 0.5);
    for (const { answer } of order) await purchases.claim('google', answer, presentedBy(installId));
    expect([round, sum(await coinsOf(installId))]).toEqual([round, answers.at(-1)!.kept]);
  }
});

test('many processes that show, check and refund at once book what the books of the store say', async () => {
  const random = seeded(33);
  const installId = freshId();
  const token = books.sell({ quantity: 8, refunded: 0 });
  const processes = Array.from({ length: 4 }, () => process().purchases);
  await Promise.all(
    Array.from({ length: 60 }, async (_, index) => {
      books.sold.get(token)!.refunded = Math.floor(random() * 9);
      const purchases = processes[index % 4]!;
      await (random() < 0.5 ? purchases.check(purchaseIdOf('google', token)) : show(purchases, token, installId));
    }),
  );
  await show(process().purchases, token, installId);
  expect(sum(await coinsOf(installId))).toBe(books.keptCoins(token));
});

test('the record of a purchase of a deleted account keeps the token until the store was told of the grant, and nothing else', async () => {
  const installId = freshId();
  const token = books.sell({ buyer: accountIdOf(installId) });
  books.takesFinish = false;
  await show(process().purchases, token, installId);
  await deleteAccount(service, { installId });
  const purchaseId = purchaseIdOf('google', token);
  const fields = async () => own.redis.hgetall(purchaseKeys.purchase(purchaseId));
  await expect.poll(async () => (await fields())['owner']).toBe('-');
  expect(await process().purchases.check(purchaseId)).toBeGreaterThan(Date.now());
  const unfinished = await fields();
  expect([unfinished['id'], unfinished['buyer'], unfinished['orderId']]).toEqual([token, undefined, undefined]);
  books.takesFinish = true;
  expect(await process().purchases.check(purchaseId)).toBeUndefined();
  const kept = await fields();
  expect([kept['id'], kept['buyer'], kept['orderId'], kept['finished']]).toEqual([undefined, undefined, undefined, '1']);
  books.sold.get(token)!.refunded = 1;
  expect(await process().purchases.check(purchaseId)).toBeUndefined();
});

// Google leaves out fields that are 0: `refundableQuantity` of a purchase without a unit left.
test.each([
  ['its answers count no units', undefined],
  ['its later answers leave the count of 0 out', 0],
])('the list of the store decides a refund of all units if %s', async (_, refunded) => {
  const installId = freshId();
  const token = books.sell({ quantity: 2, refunded });
  const purchaseId = purchaseIdOf('google', token);
  const { purchases } = process();
  await show(purchases, token, installId);
  books.sold.get(token)!.refunded = undefined;
  await purchases.check(purchaseId);
  expect(await coinsOf(installId)).toEqual([200]);
  await purchases.takeBackAll(purchaseId);
  await purchases.check(purchaseId);
  expect(await coinsOf(installId)).toEqual([200, -200]);
});

test('the list reports a refund that it dates long before a check that found none', async () => {
  const token = books.sell();
  await show(process().purchases, token, freshId());
  books.sold.get(token)!.refunded = 1;
  const brought: string[] = [];
  await noticed([{ id: token, quantity: undefined, at: Date.now() - 3_600_000 }], { bring: async (id) => void brought.push(id) });
  expect(brought).toEqual([purchaseIdOf('google', token)]);
});

test('last units that were refunded some at a time are taken back by the list if answers leave the count of 0 out', async () => {
  const installId = freshId();
  const token = books.sell({ quantity: 3, refunded: 1 });
  const { purchases } = process();
  await show(purchases, token, installId);
  books.sold.get(token)!.refunded = undefined;
  const purchaseId = purchaseIdOf('google', token);
  await purchases.check(purchaseId);
  const at = Date.now();
  await noticed([{ id: token, quantity: 1, at }], purchases);
  expect(await coinsOf(installId)).toEqual([200]);
  await noticed([{ id: token, quantity: 2, at }], purchases);
  await purchases.check(purchaseId);
  expect(await coinsOf(installId)).toEqual([200, -200]);
});

test('a guest that moves while the store is asked gets its purchase booked for the account', async () => {
  const [installId, account] = [freshId(), accountIdOf(freshId())];
  const guest = accountIdOf(installId);
  const token = books.sell({ buyer: guest });
  await own.redis.set(standingKey(guest), `>${account}`);
  for (const isReplay of [false, true]) {
    const claimed = await show(process().purchases, token, installId);
    expect([isReplay, claimed]).toMatchObject([isReplay, { word: 'recorded', isGranting: !isReplay, document: { owner: account } }]);
  }
  expect(await show(process().purchases, token, freshId())).toEqual({ word: 'purchase_owned' });
  await own.redis.del(standingKey(guest));
});

test('a claim does not remove the notice of a refund that came after its check from the queue', async () => {
  const installId = freshId();
  const token = books.sell();
  const { purchases } = process();
  await show(purchases, token, installId);
  const seen = books.answerFor(token);
  books.sold.get(token)!.refunded = 1;
  expect(await purchases.noticed({ store: 'google', id: token, packageName: PACKAGE })).toEqual({ word: 'recorded' });
  await purchases.claim('google', seen, presentedBy(installId));
  await survive(token);
  expect(await coinsOf(installId)).toEqual([100, -100]);
});

test('a check by a clock far ahead does not hide later checks', async () => {
  const installId = freshId();
  const token = books.sell();
  const { purchases } = process();
  await purchases.claim('google', books.answerFor(token, Date.now() + 86_400_000), presentedBy(installId));
  books.sold.get(token)!.refunded = 1;
  await purchases.check(purchaseIdOf('google', token));
  expect(await coinsOf(installId)).toEqual([100, -100]);
});
