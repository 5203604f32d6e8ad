import { describe, expect, test, vi } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { GrantPace } from '../../src/operator/grant-pace.ts';
import { forFile, freshId, request, signIn } from '../harness.ts';
import { makeServerKey } from '../server-keys.ts';
import { historyOf, signInToStore } from '../store.ts';
import { openDesk } from './parts.ts';

/** `POST /v1/admin/coins/grant-many`. */

const { service, bearer, id, read, change, newest, account } = await forFile(openDesk());

/** Grants 20 coins to each account. */
const grant = (accounts: readonly string[], key: string, more: object = {}) =>
  change('/coins/grant-many', { entries: accounts.map((each) => ({ account: each, coins: 20 })), key, reason: 'outage', ...more });
const results = async (...call: Parameters<typeof grant>) => (await grant(...call)).body.results;
const shown = async (accountId: string) => (await read(`/accounts/${accountId}`)).body;
const isGranted = ({ outcome }: { outcome: string }): boolean => outcome === 'granted';

test('the log of an account has only those bulk grants that gave it coins', async () => {
  const [one, other] = [(await account(1)).accountId, (await account(1)).accountId];
  const [both, second] = [freshId('both'), freshId('second')];
  await grant([one, other], both);
  await grant([other], second);
  expect((await read(`/log?account=${one}`)).body.entries).toMatchObject([{ what: { key: both } }]);
  expect((await read(`/log?account=${other}`)).body.entries).toMatchObject([{ what: { key: second } }, { what: { key: both } }]);
});

test('an account gets the coins once per key, and its entry has operator and reason', async () => {
  const [{ accountId, installId }, other] = [await account(100), await account(5)];
  expect(await results([accountId, other.accountId], 'comp-1')).toEqual([
    { account: accountId, outcome: 'granted', balanceAfterCoins: 120 },
    { account: other.accountId, outcome: 'granted', balanceAfterCoins: 25 },
  ]);
  const what = { accounts: 2, coins: 40, key: 'comp-1' };
  expect(await newest()).toMatchObject([
    { by: `key:${id}`, action: 'coins grant', what, why: 'outage', outcome: { word: 'done', granted: 2 } },
  ]);
  await service.post('/v1/coins/debit', { installId, coins: 50, key: 'hat' });
  expect(await results([accountId], 'comp-1')).toEqual([{ account: accountId, outcome: 'replayed', balanceAfterCoins: 120 }]);
  // A dry run also reports the replay, and that another sum would be refused.
  expect(await results([accountId], 'comp-1', { dryRun: true })).toEqual([{ account: accountId, outcome: 'replayed' }]);
  const more = { entries: [{ account: accountId, coins: 21 }], dryRun: true };
  expect(await results([], 'comp-1', more)).toEqual([{ account: accountId, outcome: 'refused', code: 'key_reused' }]);
  const { history, balanceCoins } = await shown(accountId);
  expect([balanceCoins, history[1]]).toMatchObject([70, { type: 'grant', coins: 20, key: 'comp-1', by: `key:${id}`, reason: 'outage' }]);
  const own = (await historyOf(service, await signIn(service, installId)))[1];
  expect(own).toEqual({ id: '2', type: 'grant', coins: 20, balanceAfterCoins: 120, key: 'comp-1', at: expect.any(String) });
});

test('an account whose ledger or standing is damaged is refused, and the others of the call get their coins', async () => {
  const accounts = await Promise.all([account(1), account(1), account(1), account(1)]);
  const [one, ledger, standing, other] = accounts.map(({ accountId }) => accountId) as [string, string, string, string];
  const { redis } = service.service;
  await redis.set(`{${ledger}}:ledger`, 'x');
  await redis.hset(`{${standing}}:moves`, 'a', 'b');
  const refused = { outcome: 'refused', code: 'internal' };
  for (const [outcome, more] of [
    ['granted', { dryRun: true }],
    ['granted', {}],
    ['replayed', {}],
  ] as const)
    expect(await results([one, ledger, standing, other], 'some broken', more)).toMatchObject([{ outcome }, refused, refused, { outcome }]);
  expect(await Promise.all([one, other].map(async (id) => (await shown(id)).balanceCoins))).toEqual([21, 21]);
  for (const key of [`{${ledger}}:ledger`, `{${standing}}:moves`]) await redis.del(key);
});

test('results have the order of the entries, and no account is created, unbanned or restored', async () => {
  const [good, banned, gone, full, used] = [
    await account(100),
    await account(100),
    await account(100),
    await account(100),
    await account(),
  ];
  await change(`/accounts/${banned.accountId}/ban`);
  await change(`/accounts/${gone.accountId}/delete`);
  await change(`/accounts/${full.accountId}/adjust`, { coins: 1e12 - 100, key: 'full' });
  await service.post('/v1/coins/credit', { installId: used.installId, coins: 20, key: 'comp-2' });
  const never = freshId();
  const expected = [
    { account: banned.accountId, outcome: 'banned' },
    { account: gone.accountId, outcome: 'deleted' },
    { account: full.accountId, outcome: 'refused', code: 'balance_limit' },
    { account: used.accountId, outcome: 'refused', code: 'key_reused' },
    { account: accountIdOf(never), outcome: 'unknown' },
    { account: 'nobody', outcome: 'unknown' },
    { account: good.accountId, outcome: 'granted', balanceAfterCoins: 120 },
  ];
  const asked = expected.map((each) => each.account);
  expect(await results(asked, 'comp-2')).toEqual(expected);
  expect(await newest()).toMatchObject([{ outcome: { word: 'done', granted: 1, banned: 1, deleted: 1, unknown: 2, refused: 2 } }]);
  expect((await change('/find', { who: `install:${never}` })).body.error.code).toBe('account_not_found');
  expect((await shown(banned.accountId)).balanceCoins).toBe(100);
});

test('a guest and the account that it moved into get the coins once', async () => {
  const guest = await account(10);
  const { accountId } = (await signInToStore(service, freshId('user'), { installId: guest.installId })).body;
  expect(await results([guest.accountId, accountId, guest.accountId], 'comp-3')).toEqual([
    { account: guest.accountId, outcome: 'granted', balanceAfterCoins: 30, movedTo: accountId },
    { account: accountId, outcome: 'replayed', balanceAfterCoins: 30 },
    { account: guest.accountId, outcome: 'replayed', balanceAfterCoins: 30, movedTo: accountId },
  ]);
  // A grant that the guest got before its move is a replay for the account.
  const later = await account(10);
  await grant([later.accountId], 'comp-4');
  const moved = (await signInToStore(service, freshId('user'), { installId: later.installId })).body;
  for (const dryRun of [true, false])
    expect(await results([moved.accountId], 'comp-4', { dryRun })).toMatchObject([{ outcome: 'replayed' }]);
  expect((await shown(moved.accountId)).balanceCoins).toBe(30);
});

test('entries in concurrent calls are granted once each, and a dry run changes no data', async () => {
  const accounts = await Promise.all(Array.from({ length: 50 }, () => account(1)));
  // Each name after the first is a replay.
  const ids = Array.from({ length: 200 }, (_, index) => accounts[index % 50]!.accountId);
  expect((await results(ids, 'comp-5', { dryRun: true })).filter(isGranted)).toHaveLength(200);
  const outcomes = (await Promise.all([ids, ids.toReversed(), ids.slice(100)].map((part) => results(part, 'comp-5')))).flat();
  expect([outcomes.length, outcomes.filter(isGranted).length]).toEqual([500, 50]);
  for (const { accountId } of accounts.slice(0, 5))
    expect(await shown(accountId)).toMatchObject({ balanceCoins: 21, ledger: { entries: 2 } });
});

describe('a body', () => {
  const entries = (count: number) => Array.from({ length: count }, () => ({ account: accountIdOf(freshId()), coins: 20 }));

  test('may have 128 KiB with a key that may grant, and 16 KiB without one', async () => {
    const long = JSON.stringify({ entries: entries(1000), key: 'a', reason: 'test' }, null, 2);
    expect(long.length).toBeGreaterThan(70_000);
    const send = async (body: string, token?: string) =>
      (await request(service.url, '/v1/admin/coins/grant-many', { method: 'POST', ...(token !== undefined && { bearer: token }) }, body))
        .body;
    expect((await send(long, bearer)).ok).toBe(true);
    const { token } = await makeServerKey(service, ['coins']);
    for (const [body, key] of [[long], [long, token], [long.padEnd(128 * 1024 + 1), bearer]] as [string, string?][])
      expect((await send(body, key)).error.code).toBe('payload_too_large');
  });
});

test('10,000 grants may wait for their turns in a process', async () => {
  const pace = new GrantPace();
  for (let call = 0; call < 10; call++) expect(pace.begin(1000)).toBe(true);
  expect(pace.begin(1)).toBe(false);
  pace.end(1000);
  expect(pace.begin(1000)).toBe(true);
  const begin = vi.spyOn(GrantPace.prototype, 'begin').mockReturnValueOnce(false);
  const { body, headers } = await grant([(await account(1)).accountId], 'late');
  expect([body.error.code, body.error.retryAfterMs, headers.get('retry-after')]).toEqual(['rate_limited', 1000, '1']);
  begin.mockRestore();
});
