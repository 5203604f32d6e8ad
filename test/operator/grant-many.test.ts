import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { GrantPace } from '../../src/operator/grant-pace.ts';
import { freshId, request, signIn, start, type TestReply, type TestService } from '../harness.ts';
import { makeServerKey } from '../server-keys.ts';
import { historyOf, signInToStore } from '../store.ts';

/** `POST /v1/admin/coins/grant-many`. */

let service: TestService;
let bearer: string;
let id: string;
beforeAll(async () => {
  service = await start({ settings: { ADMIN_API: 'on' } });
  ({ token: bearer, id } = await makeServerKey(service, ['admin']));
});
afterAll(() => service[Symbol.asyncDispose]());

const admin = (path: string, body: object): Promise<TestReply> => service.post(`/v1/admin${path}`, body, { bearer });

/** Grants 20 coins to each account. */
const grant = (accounts: readonly string[], key: string, more: object = {}): Promise<TestReply> =>
  admin('/coins/grant-many', { entries: accounts.map((account) => ({ account, coins: 20 })), key, reason: 'outage', ...more });

async function account(coins = 100): Promise<{ installId: string; accountId: string }> {
  const installId = freshId();
  await service.post('/v1/coins/credit', { installId, coins, key: 'first' });
  return { installId, accountId: accountIdOf(installId) };
}

const shown = async (accountId: string) => (await service.get(`/v1/admin/accounts/${accountId}`, { bearer })).body;
const newest = async () => (await service.get(`/v1/admin/log?limit=1&operator=key:${id}`, { bearer })).body.entries[0];

test('the log of an account has only those bulk grants that gave it coins', async () => {
  const [one, other] = [(await account()).accountId, (await account()).accountId];
  const [both, second] = [freshId('both'), freshId('second')];
  await grant([one, other], both);
  await grant([other], second);
  const keysOf = async (accountId: string) =>
    (await service.get(`/v1/admin/log?account=${accountId}`, { bearer })).body.entries.map(
      ({ what }: { what: { key: string } }) => what.key,
    );
  expect(await keysOf(one)).toEqual([both]);
  expect(await keysOf(other)).toEqual([second, both]);
});

test('an account gets the coins once per key, and its entry has operator and reason', async () => {
  const [{ accountId, installId }, other] = [await account(), await account(0 + 5)];
  const first = await grant([accountId, other.accountId], 'comp-1');
  expect([first.status, first.body.results]).toEqual([
    200,
    [
      { account: accountId, outcome: 'granted', balanceAfterCoins: 120 },
      { account: other.accountId, outcome: 'granted', balanceAfterCoins: 25 },
    ],
  ]);
  expect(await newest()).toMatchObject({
    by: `key:${id}`,
    action: 'coins grant',
    what: { accounts: 2, coins: 40, key: 'comp-1' },
    why: 'outage',
    outcome: { word: 'done', granted: 2 },
  });
  await service.post('/v1/coins/debit', { installId, coins: 50, key: 'hat' });
  expect((await grant([accountId], 'comp-1')).body.results).toEqual([{ account: accountId, outcome: 'replayed', balanceAfterCoins: 120 }]);
  // A dry run also reports the replay, and that another sum would be refused.
  expect((await grant([accountId], 'comp-1', { dryRun: true })).body.results).toEqual([{ account: accountId, outcome: 'replayed' }]);
  const more = { entries: [{ account: accountId, coins: 21 }], dryRun: true };
  expect((await grant([], 'comp-1', more)).body.results).toEqual([{ account: accountId, outcome: 'refused', code: 'key_reused' }]);
  const { history, balanceCoins } = await shown(accountId);
  expect([balanceCoins, history[1]]).toMatchObject([70, { type: 'grant', coins: 20, key: 'comp-1', by: `key:${id}`, reason: 'outage' }]);
  const own = (await historyOf(service, await signIn(service, installId)))[1];
  expect(own).toEqual({ id: '2', type: 'grant', coins: 20, balanceAfterCoins: 120, key: 'comp-1', at: expect.any(String) });
});

test('results have the order of the entries, and no account is created, unbanned or restored', async () => {
  const [good, banned, gone, full, used] = [await account(), await account(), await account(), await account(), await account()];
  await admin(`/accounts/${banned.accountId}/ban`, { reason: 'cheats' });
  await admin(`/accounts/${gone.accountId}/delete`, { reason: 'asked' });
  await admin(`/accounts/${full.accountId}/adjust`, { coins: 1e12 - 100, key: 'full', reason: 'test' });
  await service.post('/v1/coins/credit', { installId: used.installId, coins: 20, key: 'comp-2' });
  const never = freshId();
  const asked = [banned, gone, full, used].map(({ accountId }) => accountId);
  const { body } = await grant([...asked, accountIdOf(never), 'nobody', good.accountId], 'comp-2');
  expect(body.results).toEqual([
    { account: asked[0], outcome: 'banned' },
    { account: asked[1], outcome: 'deleted' },
    { account: asked[2], outcome: 'refused', code: 'balance_limit' },
    { account: asked[3], outcome: 'refused', code: 'key_reused' },
    { account: accountIdOf(never), outcome: 'unknown' },
    { account: 'nobody', outcome: 'unknown' },
    { account: good.accountId, outcome: 'granted', balanceAfterCoins: 120 },
  ]);
  expect((await newest()).outcome).toEqual({ word: 'done', granted: 1, banned: 1, deleted: 1, unknown: 2, refused: 2 });
  expect((await admin('/find', { who: `install:${never}` })).body.error.code).toBe('account_not_found');
  expect((await shown(banned.accountId)).balanceCoins).toBe(100);
});

test('a guest and the account that it moved into get the coins once', async () => {
  const guest = await account(10);
  const { accountId } = (await signInToStore(service, freshId('user'), { installId: guest.installId })).body;
  expect((await grant([guest.accountId, accountId, guest.accountId], 'comp-3')).body.results).toEqual([
    { account: guest.accountId, outcome: 'granted', balanceAfterCoins: 30, movedTo: accountId },
    { account: accountId, outcome: 'replayed', balanceAfterCoins: 30 },
    { account: guest.accountId, outcome: 'replayed', balanceAfterCoins: 30, movedTo: accountId },
  ]);
  // A grant that the guest got before its move is a replay for the account.
  const later = await account(10);
  await grant([later.accountId], 'comp-4');
  const moved = (await signInToStore(service, freshId('user'), { installId: later.installId })).body;
  for (const more of [{ dryRun: true }, {}])
    expect((await grant([moved.accountId], 'comp-4', more)).body.results).toMatchObject([{ outcome: 'replayed' }]);
  expect((await shown(moved.accountId)).balanceCoins).toBe(30);
});

test('entries in concurrent calls are granted once each, and a dry run changes no data', async () => {
  const accounts = await Promise.all(Array.from({ length: 50 }, () => account(1)));
  // Each name after the first is a replay.
  const ids = Array.from({ length: 200 }, (_, index) => accounts[index % 50]!.accountId);
  const dry = await grant(ids, 'comp-5', { dryRun: true });
  expect(dry.body.results).toHaveLength(200);
  expect(dry.body.results.every(({ outcome }: { outcome: string }) => outcome === 'granted')).toBe(true);
  const calls = await Promise.all([grant(ids, 'comp-5'), grant(ids.toReversed(), 'comp-5'), grant(ids.slice(100), 'comp-5')]);
  const outcomes = calls.flatMap(({ body }) => body.results.map(({ outcome }: { outcome: string }) => outcome));
  expect([outcomes.filter((word) => word === 'granted').length, outcomes.filter((word) => word === 'replayed').length]).toEqual([50, 450]);
  for (const { accountId } of accounts.slice(0, 5))
    expect(await shown(accountId)).toMatchObject({ balanceCoins: 21, ledger: { entries: 2 } });
});

describe('a body', () => {
  const entries = (count: number) => Array.from({ length: count }, () => ({ account: accountIdOf(freshId()), coins: 20 }));

  test('may have 128 KiB with a key that may grant, and 16 KiB without one', async () => {
    const long = JSON.stringify({ entries: entries(1000), key: 'a', reason: 'test' }, null, 2);
    expect(long.length).toBeGreaterThan(70_000);
    const send = (token: string | undefined, body: string) =>
      request(service.url, '/v1/admin/coins/grant-many', { method: 'POST', ...(token === undefined ? {} : { bearer: token }) }, body);
    expect((await send(bearer, long)).status).toBe(200);
    expect((await send(undefined, long)).body.error.code).toBe('payload_too_large');
    const { token } = await makeServerKey(service, ['coins']);
    expect((await send(token, long)).body.error.code).toBe('payload_too_large');
    expect((await send(bearer, long.padEnd(128 * 1024 + 1))).body.error.code).toBe('payload_too_large');
  });

  test('has 1 to 1,000 entries of 1 to 1,000,000 coins, a key and a reason', async () => {
    const valid = { entries: entries(1), key: 'a', reason: 'test' };
    for (const [wrong, path] of [
      [{ entries: [] }, 'entries'],
      [{ entries: entries(1001) }, 'entries'],
      [{ entries: [{ account: 'a', coins: 0 }] }, 'entries.0.coins'],
      [{ entries: [{ account: 'a', coins: 1_000_001 }] }, 'entries.0.coins'],
      [{ entries: [{ account: 'a', coins: 1.5 }] }, 'entries.0.coins'],
      [{ entries: [{ coins: 1 }] }, 'entries.0.account'],
      [{ key: '' }, 'key'],
      [{ reason: '' }, 'reason'],
    ] as const) {
      const { body } = await admin('/coins/grant-many', { ...valid, ...wrong });
      expect([body.error.code, body.error.issues[0].path]).toEqual(['invalid_request', path]);
    }
  });
});

test('10,000 grants may wait for their turns in a process', async () => {
  const pace = new GrantPace();
  for (let call = 0; call < 10; call++) expect(pace.begin(1000)).toBe(true);
  expect(pace.begin(1)).toBe(false);
  pace.end(1000);
  expect(pace.begin(1000)).toBe(true);
  const begin = vi.spyOn(GrantPace.prototype, 'begin').mockReturnValueOnce(false);
  const { status, body, headers } = await grant([(await account()).accountId], 'late');
  expect([status, body.error.code, body.error.retryAfterMs, headers.get('retry-after')]).toEqual([429, 'rate_limited', 1000, '1']);
  begin.mockRestore();
});
