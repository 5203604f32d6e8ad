import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { freshId, start, type TestService } from '../harness.ts';
import { pair } from '../features/sessions/paired.ts';
import { startRedis, type OwnRedis } from '../own-redis.ts';
import { makeServerKey } from '../server-keys.ts';
import { signInToStore } from '../store.ts';

/** `accounts list`. */

const DAY = 86_400_000;
let own: OwnRedis;
let service: TestService;
let bearer: string;
beforeAll(async () => {
  own = await startRedis();
  service = await start({ redis: own.location, settings: { ADMIN_API: 'on' } });
  ({ token: bearer } = await makeServerKey(service, ['admin'], { role: 'support' }));
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await own[Symbol.asyncDispose]();
});

interface Listed {
  readonly accountId: string;
}

async function page(query: string) {
  const { body } = await service.get(`/v1/admin/accounts?${query}`, { bearer });
  expect([query, body.error?.code ?? '']).toEqual([query, body.error === undefined ? '' : 'invalid_request']);
  return body;
}

/** All pages. */
async function list(query = ''): Promise<{ accounts: Listed[]; pages: number; looked: number }> {
  const accounts: Listed[] = [];
  let [pages, looked] = [0, 0];
  for (let cursor = ''; ;) {
    const body = await page(`${query}${cursor === '' ? '' : `&cursor=${cursor}`}`);
    accounts.push(...body.accounts);
    pages++;
    looked += body.looked;
    if (body.nextCursor === undefined) return { accounts, pages, looked };
    cursor = body.nextCursor;
  }
}

const idsOf = async (query: string): Promise<Set<string>> => new Set((await list(query)).accounts.map(({ accountId }) => accountId));

async function account(coins = 10): Promise<{ installId: string; accountId: string }> {
  const installId = freshId();
  await service.post('/v1/coins/credit', { installId, coins, key: 'first' });
  return { installId, accountId: accountIdOf(installId) };
}

test('accounts are listed with kind, ban, debt and days, and can be filtered by them', async () => {
  const [plain, banned, debtor, active] = [await account(), await account(20), await account(30), await account(40)];
  await service.post(`/v1/admin/accounts/${banned.accountId}/ban`, { reason: 'cheats' }, { bearer });
  const [ledger] = await own.redis.keys(`{${debtor.accountId}}:ledger`);
  const line = (await own.redis.lindex(ledger!, -1))!;
  await own.redis.lset(ledger!, -1, line.replace(/^1:30 /, '1:-30 '));
  const { body: signedIn } = await signInToStore(service, freshId('sub'));
  const today = new Date(service.now()).toISOString().slice(0, 10);
  const at = expect.any(String);
  const { accounts } = await list();
  const shownOf = (id: string) => accounts.find(({ accountId }) => accountId === id);
  expect(shownOf(plain.accountId)).toEqual({
    accountId: plain.accountId,
    kind: 'guest',
    state: 'open',
    createdAt: at,
    lastSeenOn: today,
    balanceCoins: 10,
  });
  expect(shownOf(banned.accountId)).toMatchObject({ state: 'banned', balanceCoins: 20 });
  expect(shownOf(debtor.accountId)).toMatchObject({ balanceCoins: 0, debtCoins: 30 });
  expect(shownOf(signedIn.accountId)).toMatchObject({ kind: 'store' });
  expect(await idsOf('banned=true')).toEqual(new Set([banned.accountId]));
  expect(await idsOf('debt=true')).toEqual(new Set([debtor.accountId]));
  expect(await idsOf('kind=store')).toEqual(new Set([signedIn.accountId]));
  expect((await idsOf('banned=false&debt=false&kind=guest')).has(plain.accountId)).toBe(true);
  service.advance(3 * DAY);
  await pair(service, { installId: active.installId });
  const tomorrow = new Date(service.now() - DAY).toISOString().slice(0, 10);
  expect(await idsOf(`seenFrom=${tomorrow}&createdTo=${tomorrow}`)).toEqual(new Set([active.accountId]));
  expect((await idsOf(`seenTo=${tomorrow}`)).has(active.accountId)).toBe(false);
  expect(await idsOf(`createdFrom=${tomorrow}`)).toEqual(new Set());
  await own.redis.lset(ledger!, -1, line);
});

test('a moved guest and a deleted account are not listed', async () => {
  const { installId, accountId } = await account();
  const { body } = await signInToStore(service, freshId('sub'), { installId });
  const ids = await idsOf('');
  expect([ids.has(accountId), ids.has(body.accountId)]).toEqual([false, true]);
});

test('a long list comes in pages of bounded work with each account once, and an empty page has a cursor to the next one', async () => {
  const made = new Set<string>();
  const pipeline = own.redis.pipeline();
  for (let number = 0; number < 800; number++) {
    const id = accountIdOf(freshId());
    made.add(id);
    pipeline.hset(`{${id}}:account`, 'createdAt', service.now());
  }
  await pipeline.exec();
  const { accounts, pages } = await list('limit=100');
  const listed = accounts.map(({ accountId }) => accountId).filter((id) => made.has(id));
  expect([new Set(listed).size, listed.length]).toEqual([800, 800]);
  expect(pages).toBeGreaterThan(3);
  const none = await list('createdTo=2001-01-01');
  expect(none.accounts).toEqual([]);
  expect(none.looked).toBeGreaterThanOrEqual(800);
});

test('a cursor or a filter of another form is refused', async () => {
  for (const query of ['cursor=x', 'cursor=7.0', 'debt=yes', 'createdFrom=yesterday', 'limit=101'])
    expect([query, (await page(query)).error.code]).toEqual([query, 'invalid_request']);
});
