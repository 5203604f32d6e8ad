import { expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { COUNTERS_TAG, dayNumber } from '../../../src/redis/counters.ts';
import { numberKeys } from '../../../src/features/numbers/model.ts';
import { audited } from '../../consistency/audited.ts';
import { forFile, freshId } from '../../harness.ts';
import { deskOf } from '../../operator/parts.ts';
import { makeServerKey } from '../../server-keys.ts';
import { deleteAccount, signInToStore } from '../../store.ts';
import { openCoinShop } from '../purchases/coins/store.ts';
import { until } from '../purchases/subscription/shop.ts';

/** The numbers of a day are compared with a book that the test keeps beside the service. */

const DAY_MS = 86_400_000;

const shop = await forFile(openCoinShop({ settings: { ADMIN_API: 'on', LEDGER_RETENTION_DAYS: '30' } }));
const { service, redis, location } = shop;
const desk = await deskOf(service);
const { token: ofServer } = await makeServerKey(service, ['coins']);

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);
const numbers = async (query = ''): Promise<{ since?: string; days: any[] }> => (await desk.read(`/numbers${query}`)).body;
const today = async () => (await numbers()).days.at(-1);
const book = async (installId: string, operation: 'credit' | 'purchase' | 'debit', coins: number, key: string): Promise<void> => {
  expect((await service.post(`/v1/coins/${operation}`, { installId, coins, key })).status).toBe(200);
};
const auditedDays = async (now = service.now): Promise<unknown> => {
  const { findings, counts } = await audited(location, { now });
  return [findings, counts.checked['compared days']];
};

test('the numbers of a day are those of a book kept beside the service, and the audit finds no difference', async () => {
  expect(await numbers()).toMatchObject({ days: { length: 90 } });
  expect((await numbers()).since).toBeUndefined();
  const [player, buyer, guest, quitter] = Array.from({ length: 4 }, () => freshId());
  await book(player!, 'credit', 100, 'a');
  await book(player!, 'credit', 100, 'a');
  await book(player!, 'purchase', 30, 'b');
  await book(player!, 'debit', 45, 'c');
  expect((await service.post('/v1/coins/debit', { installId: player, coins: 1000, key: 'd' })).body.error.code).toBe('insufficient_coins');
  await book(guest!, 'credit', 7, 'a');
  await book(quitter!, 'credit', 50, 'a');
  await book(quitter!, 'debit', 20, 'b');
  await service.post('/v1/coins/credit', { installId: player, coins: 11, key: 'server' }, { bearer: ofServer });
  const accountId = accountIdOf(player!);
  await desk.change(`/accounts/${accountId}/adjust`, { coins: 9, key: 'more' });
  await desk.change(`/accounts/${accountId}/adjust`, { coins: -4, key: 'less' });
  const { purchaseToken } = await shop.issue({ quantity: 2 });
  expect((await shop.buy(buyer!, purchaseToken)).body.purchase.coins).toBe(1000);
  expect((await shop.buy(buyer!, purchaseToken)).body.replayed).toBe(true);
  await shop.issue({ purchaseToken, refundedQuantity: 1, notify: true });
  await until(async () => (await shop.balance(buyer!)) === 500);
  await signInToStore(service, freshId('subject'), { installId: guest! });
  await deleteAccount(service, { installId: quitter! });
  await expect.poll(() => redis.zcard('deletions:due')).toBe(0);
  const { code } = (await service.post('/v1/rooms', { installId: player })).body.room;
  await service.post(`/v1/rooms/${code}/join`, { installId: buyer });
  await service.post(`/v1/rooms/${code}/start`, { installId: player });
  await expect.poll(async () => (await today()).activeAccounts, { timeout: 15_000 }).toBe(4);
  expect(await today()).toEqual({
    day: dayOf(service.now()),
    coinsIn: { credit: 157, purchase: 30, merge: 7, grant: 11, adjust: 9, topup: 1000 },
    coinsOut: { debit: 65, merge: 7, adjust: 4, refund: 500 },
    newAccounts: 5,
    activeAccounts: 4,
    movedAccounts: 1,
    deletedAccounts: 1,
    rooms: 1,
    matches: 1,
    prizes: 0,
    products: [{ store: 'google', productId: 'coins-500', sold: 1, boughtCoins: 1000, refundedCoins: 500 }],
  });
  expect((await numbers()).since).toBe(dayOf(service.now()));
  // The entries of the deleted account do not exist any more, but its coins stay counted.
  expect(await redis.hmget(numberKeys.counters(COUNTERS_TAG, dayNumber(service.now())), 'x+c', 'x-d')).toEqual(['50', '20']);
  expect(await auditedDays()).toEqual([[], 1]);
});

test('entries that retention deletes stay counted on their day', async () => {
  const installId = freshId();
  await book(installId, 'credit', 12, 'a');
  await book(installId, 'debit', 5, 'b');
  const [before] = (await numbers()).days.slice(-1);
  service.advance(31 * DAY_MS);
  await book(installId, 'credit', 3, 'c');
  const after = (await numbers()).days;
  expect(after.find(({ day }) => day === before.day)).toEqual(before);
  expect(after.at(-1)).toMatchObject({ day: dayOf(service.now()), coinsIn: { credit: 3 }, coinsOut: {} });
  expect(await redis.hmget(numberKeys.counters(COUNTERS_TAG, dayNumber(service.now()) - 31), 'x+c', 'x-d')).toEqual(['62', '25']);
  expect(await auditedDays()).toEqual([[], 2]);
});

test('a batch counts each kind of coins once, whatever the number of its calls', async () => {
  const installId = freshId();
  await book(installId, 'credit', 1, 'first');
  const before = (await today()).coinsIn.credit;
  await Promise.all(Array.from({ length: 50 }, (_, index) => book(installId, 'credit', 1 + index, `k${index}`)));
  expect((await today()).coinsIn.credit).toBe(before + 1275);
});

test('days are bounded, and a wrong span names its field', async () => {
  expect((await numbers('?from=2026-01-01&to=2026-01-03')).days.map(({ day }) => day)).toEqual(['2026-01-01', '2026-01-02', '2026-01-03']);
  const wrong = async (query: string) => (await desk.read(`/numbers?${query}`)).body.error;
  expect(await wrong('from=2026-01-02&to=2026-01-01')).toMatchObject({ code: 'invalid_request', field: 'from' });
  expect(await wrong('from=2025-01-01&to=2026-01-02')).toMatchObject({ code: 'invalid_request', field: 'from' });
  expect((await desk.read('/numbers/export?from=2025-01-01')).body.error).toMatchObject({ code: 'invalid_request', field: 'from' });
  expect(await wrong('from=yesterday')).toMatchObject({ code: 'invalid_request', field: 'from' });
});

test('the CSV has every type of entry, and the products', async () => {
  const csv = async (of: string) => (await desk.read(`/numbers/export?of=${of}`)).body.csv.split('\r\n') as string[];
  const days = await csv('days');
  expect(days.length).toBe(92);
  expect(days[0]).toBe(
    'day,in_credit,in_purchase,in_debit,in_merge,in_grant,in_adjust,in_topup,in_refund,in_prize,' +
      'out_credit,out_purchase,out_debit,out_merge,out_grant,out_adjust,out_topup,out_refund,out_prize,' +
      'newAccounts,activeAccounts,movedAccounts,deletedAccounts,rooms,matches,prizes',
  );
  const products = await csv('products');
  expect(products[0]).toBe('day,store,productId,sold,boughtCoins,refundedCoins');
  expect(products[1]).toMatch(/^\d{4}-\d\d-\d\d,google,coins-500,1,1000,500$/);
});

test('a counter that differs from the ledgers by one coin is a finding', async () => {
  const key = numberKeys.counters(COUNTERS_TAG, dayNumber(service.now()));
  await redis.hincrby(key, '+c', 1);
  const { findings } = await audited(location, { now: service.now });
  expect(findings).toMatchObject([{ kind: 'numbers_differ', subject: `day ${dayOf(service.now())}` }]);
  expect(findings[0]!.text).toMatch(/^On \S+ the counted coins differ from those of the ledgers: \+c (\d+) counted, \d+ in ledgers\.$/);
  await redis.hincrby(key, '+c', -1);
  expect(await auditedDays()).toMatchObject([[], 2]);
});

test('top lists have the accounts with the most coins, debts, growth and spent coins', async () => {
  const { accounts: before } = (await desk.read('/numbers/top?by=balance&limit=1')).body;
  const [rich, spender] = [freshId(), freshId()];
  for (let index = 0; index < 3; index++) await book(rich, 'credit', 900_000, `k${index}`);
  await book(spender, 'credit', 500_000, 'a');
  await book(spender, 'debit', 450_000, 'b');
  await book(spender, 'debit', 1, 'c');
  const top = async (query: string) => (await desk.read(`/numbers/top?${query}`)).body;
  expect(before[0].coins).toBeLessThan(2_700_000);
  expect(await top('by=balance&limit=1')).toMatchObject({ accounts: [{ accountId: accountIdOf(rich), coins: 2_700_000 }] });
  expect(await top('by=growth&limit=1')).toMatchObject({ accounts: [{ accountId: accountIdOf(rich), coins: 2_700_000 }] });
  expect(await top('by=spent&limit=1')).toMatchObject({ accounts: [{ accountId: accountIdOf(spender), coins: 450_001 }] });
  const debtor = freshId();
  const { purchaseToken } = await shop.issue({});
  await shop.buy(debtor, purchaseToken);
  await book(debtor, 'debit', 400, 'hat');
  await shop.issue({ purchaseToken, state: 'canceled', notify: true });
  await until(async () => (await service.get(`/v1/balance?installId=${debtor}`)).body.debtCoins === 400);
  expect(await top('by=debt')).toMatchObject({ accounts: [{ accountId: accountIdOf(debtor), coins: 400 }] });
  service.advance(8 * DAY_MS);
  expect((await top('by=growth')).accounts).toEqual([]);
  expect((await top('by=spent&days=9&limit=1')).accounts).toEqual([{ accountId: accountIdOf(spender), coins: 450_001 }]);
  expect((await top('by=balance&cursor=7.0')).error).toMatchObject({ code: 'invalid_request', field: 'cursor' });
});
