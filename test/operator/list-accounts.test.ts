import { expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { pair } from '../features/sessions/paired.ts';
import { forFile, freshId } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { signInToStore } from '../store.ts';
import { openDesk } from './parts.ts';

/** `accounts list`. */

const DAY = 86_400_000;
const own = await forFile(startRedis());
const { service, read, change, account } = await forFile(openDesk({ redis: own.location, role: 'support' }));

interface Listed {
  readonly accountId: string;
}

/** All pages. */
async function list(query = ''): Promise<{ accounts: Listed[]; pages: number; looked: number }> {
  const accounts: Listed[] = [];
  let [pages, looked] = [0, 0];
  for (let cursor = ''; ;) {
    const { status, body } = await read(`/accounts?${query}${cursor === '' ? '' : `&cursor=${cursor}`}`);
    expect(status).toBe(200);
    accounts.push(...body.accounts);
    [pages, looked] = [pages + 1, looked + body.looked];
    if (body.nextCursor === undefined) return { accounts, pages, looked };
    cursor = body.nextCursor;
  }
}

const idsOf = async (query: string): Promise<string[]> => [...new Set((await list(query)).accounts.map(({ accountId }) => accountId))];

test('accounts are listed with kind, ban, debt and days, and can be filtered by them', async () => {
  const [plain, banned, debtor, active] = [await account(10), await account(20), await account(30), await account(40)];
  await change(`/accounts/${banned.accountId}/ban`);
  const ledger = `{${debtor.accountId}}:ledger`;
  const line = (await own.redis.lindex(ledger, -1))!;
  await own.redis.lset(ledger, -1, line.replace(/^1:30 /, '1:-30 '));
  const { accountId: ofStore } = (await signInToStore(service, freshId('sub'))).body;
  const today = new Date(service.now()).toISOString().slice(0, 10);
  const { accounts } = await list();
  const shownOf = (id: string) => accounts.find(({ accountId }) => accountId === id);
  expect(shownOf(plain.accountId)).toEqual({
    ...{ accountId: plain.accountId, kind: 'guest', state: 'open', createdAt: expect.any(String), lastSeenOn: today, balanceCoins: 10 },
  });
  expect([banned.accountId, debtor.accountId, ofStore].map(shownOf)).toMatchObject([
    { state: 'banned', balanceCoins: 20 },
    { balanceCoins: 0, debtCoins: 30 },
    { kind: 'store' },
  ]);
  expect(await idsOf('banned=true')).toEqual([banned.accountId]);
  expect(await idsOf('debt=true')).toEqual([debtor.accountId]);
  expect(await idsOf('kind=store')).toEqual([ofStore]);
  expect(await idsOf('banned=false&debt=false&kind=guest')).toContain(plain.accountId);
  service.advance(3 * DAY);
  await pair(service, { installId: active.installId });
  const tomorrow = new Date(service.now() - DAY).toISOString().slice(0, 10);
  expect(await idsOf(`seenFrom=${tomorrow}&createdTo=${tomorrow}`)).toEqual([active.accountId]);
  expect(await idsOf(`seenTo=${tomorrow}`)).not.toContain(active.accountId);
  expect(await idsOf(`createdFrom=${tomorrow}`)).toEqual([]);
  await own.redis.lset(ledger, -1, line);
});

/** What another program, or a wrong command, did to the data of an account. */
const damages: readonly (readonly [string, (key: (name: string) => string) => Promise<unknown>])[] = [
  ['a ledger of another type', (key) => own.redis.multi().del(key('ledger')).set(key('ledger'), 'x').exec()],
  ['an entry in no known form', (key) => own.redis.rpush(key('ledger'), 'x')],
  ['a standing of another type', (key) => own.redis.hset(key('moves'), 'a', 'b')],
  ['a standing in no known form', (key) => own.redis.set(key('moves'), 'x')],
  ['sessions of another type', (key) => own.redis.multi().del(key('sessions')).set(key('sessions'), 'x').exec()],
  ['fields of another type', (key) => own.redis.multi().del(key('account')).set(key('account'), 'x').exec()],
];

test.each(damages)('%s hides no other account: the list has a row that names the audit, whatever the filter is', async (_, damage) => {
  const [broken, other] = [await account(10), await account(20)];
  await damage((name) => `{${broken.accountId}}:${name}`);
  const problem = expect.stringContaining('npm run audit');
  for (const query of ['', 'banned=false', 'kind=guest']) {
    const { accounts } = await list(query);
    const of = (id: string) => accounts.find(({ accountId }) => accountId === id);
    expect(of(broken.accountId)).toEqual({ accountId: broken.accountId, state: 'unreadable', problem });
    expect(of(other.accountId)).toMatchObject({ state: 'open', balanceCoins: 20 });
  }
  await own.redis.del(...(await own.redis.keys(`{${broken.accountId}}:*`)));
});

test('a moved guest is not listed', async () => {
  const { installId, accountId } = await account(10);
  const { body } = await signInToStore(service, freshId('sub'), { installId });
  const ids = await idsOf('');
  expect([ids.includes(accountId), ids.includes(body.accountId)]).toEqual([false, true]);
});

test('a long list comes in pages of bounded work with each account once, and an empty page has a cursor to the next one', async () => {
  const made = new Set(Array.from({ length: 800 }, () => accountIdOf(freshId())));
  const pipeline = own.redis.pipeline();
  for (const id of made) pipeline.hset(`{${id}}:account`, 'createdAt', service.now());
  await pipeline.exec();
  const { accounts, pages } = await list('limit=100');
  const listed = accounts.map(({ accountId }) => accountId).filter((id) => made.has(id));
  expect([new Set(listed).size, listed.length]).toEqual([800, 800]);
  expect(pages).toBeGreaterThan(3);
  const none = await list('createdTo=2001-01-01');
  expect([none.accounts, none.looked >= 800]).toEqual([[], true]);
});

test('a cursor or a filter of another form is refused', async () => {
  for (const query of ['cursor=x', 'cursor=7.0', 'debt=yes', 'createdFrom=yesterday', 'limit=101'])
    expect([query, (await read(`/accounts?${query}`)).body.error.code]).toEqual([query, 'invalid_request']);
});
