import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { runAdmin } from './console/command.ts';
import { freshId, isOnCluster, ownCluster, signIn, start, type TestReply, type TestService } from '../harness.ts';
import { withOrigin } from '../features/coins/with-origin.ts';
import { makeServerKey } from '../server-keys.ts';
import { issue, signInToStore } from '../store.ts';
import { logged } from './parts.ts';

/** The endpoints below /v1/admin. */

let service: TestService;
let bearer: string;
let id: string;
beforeAll(async () => {
  service = await start({ settings: { ADMIN_API: 'on' } });
  ({ token: bearer, id } = await makeServerKey(service, ['admin']));
});
afterAll(() => service[Symbol.asyncDispose]());

const look = (path: string, key = bearer): Promise<TestReply> => service.get(`/v1/admin${path}`, { bearer: key });
const change = (path: string, body: object, key = bearer): Promise<TestReply> => service.post(`/v1/admin${path}`, body, { bearer: key });

/** An account with these credits. */
async function account(...credits: number[]): Promise<{ installId: string; accountId: string }> {
  const installId = freshId();
  await service.post('/v1/login', { installId });
  for (const [index, coins] of credits.entries()) await service.post('/v1/coins/credit', { installId, coins, key: `c${index}` });
  return { installId, accountId: accountIdOf(installId) };
}

/** The newest entry of this file in the log. All test files share one Redis. */
const newest = async (): Promise<object> =>
  (await look('/log?limit=100')).body.entries.find(({ by }: { by: string }) => by === `key:${id}`);

describe('accounts', () => {
  test('are found by installId, accountId and store subject', async () => {
    const { installId, accountId } = await account(10);
    const found = { accountId, kind: 'guest', createdAt: expect.any(String) };
    expect((await change('/find', { who: installId })).body).toEqual({ ok: true, accounts: [{ ...found, foundBy: 'installId' }] });
    expect((await change('/find', { who: accountId })).body.accounts).toEqual([{ ...found, foundBy: 'accountId' }]);
    expect((await change('/find', { who: `install:${installId}` })).body.accounts).toEqual([{ ...found, foundBy: 'installId' }]);
    expect((await change('/find', { who: `account:${installId}` })).body.error.code).toBe('account_not_found');
    expect((await change('/find', { who: 'google:11024849' })).body.error.code).toBe('account_not_found');
    expect((await change('/find', { who: 'a' })).body.error.code).toBe('invalid_request');
  });

  test('an installId that equals an accountId does not hide that account', async () => {
    const { accountId } = await account(10);
    await service.post('/v1/login', { installId: accountId });
    expect((await change('/find', { who: accountId })).body.accounts).toMatchObject([
      { accountId, foundBy: 'accountId' },
      { accountId: accountIdOf(accountId), foundBy: 'installId' },
    ]);
  });

  test('show returns the best scores with their ranks, and reports that the scores of a banned account are hidden', async () => {
    const { accountId, installId } = await account();
    const other = await account();
    const game = freshId('game').toLowerCase();
    for (const score of [5, 9, 7]) await service.post(`/v1/highscores/${game}`, { installId, score, name: 'Ada' });
    await service.post(`/v1/highscores/${game}`, { installId: other.installId, score: 10, name: 'Bo' });
    const best = { game, playerId: expect.any(String), name: 'Ada', score: 9, at: expect.any(String) };
    const boards = async () => (await look(`/accounts/${accountId}`)).body.boards;
    expect(await boards()).toEqual({ count: 1, games: [game], scores: [{ ...best, rank: 2 }] });
    await change(`/accounts/${accountId}/ban`, { reason: 'cheats' });
    await expect.poll(boards).toEqual({ count: 1, games: [game], scores: [best] });
  });

  test('show returns balance, history, sessions, trial, subscription and entitlement', async () => {
    const { accountId } = await account(10, 20);
    const { status, body } = await look(`/accounts/${accountId}?at=${new Date(service.now() - 3_600_000).toISOString()}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      accountId,
      kind: 'guest',
      state: 'open',
      balanceCoins: 30,
      balanceAt: { balanceCoins: 0 },
      ledger: { entries: 2 },
      sessions: { signOutsEverywhere: 0 },
      trial: { active: false, state: 'none' },
      subscription: { subscribed: false, source: 'none' },
      entitlement: { state: 'none', access: false },
      purchases: [],
      boards: { count: 0, games: [], scores: [] },
      guests: [],
    });
    expect(body.history.map(({ coins }: { coins: number }) => coins)).toEqual([20, 10]);
    for (const path of ['', '/history', '/explain'])
      expect((await look(`/accounts/${accountIdOf(freshId())}${path}`)).body.error.code).toBe('account_not_found');
    expect((await look('/accounts/short')).body.error.code).toBe('invalid_request');
    expect((await look(`/accounts/${accountId}?at=yesterday`)).body.error.code).toBe('invalid_request');
  });

  test('the balance at a time is the balance of the last entry before it', async () => {
    const installId = freshId();
    const times: string[] = [];
    for (let coins = 1; coins <= 9; coins++) {
      await service.post('/v1/coins/credit', { installId, coins, key: `k${coins}` });
      times.push(new Date(service.now()).toISOString());
      service.advance(60_000);
    }
    const at = async (time: string) => (await look(`/accounts/${accountIdOf(installId)}?at=${time}`)).body.balanceAt.balanceCoins;
    expect(await Promise.all(times.map(at))).toEqual([1, 3, 6, 10, 15, 21, 28, 36, 45]);
    expect(await at('2020-01-01T00:00:00Z')).toBe(0);
    expect(await at('2999-01-01T00:00:00+02:00'.replace('+', '%2B'))).toBe(45);
  });

  test('history has the origin of adjustments, and pages', async () => {
    const { accountId } = await account(10, 20);
    const reply = await change(`/accounts/${accountId}/adjust`, { coins: -5, key: 't1', reason: 'bought twice' });
    expect(reply.body).toEqual({ ok: true, accountId, balanceAfterCoins: 25, logged });
    expect((await look(`/log?limit=1&operator=key:${id}`)).body.entries).toEqual([reply.body.logged]);
    const { body } = await look(`/accounts/${accountId}/history?limit=2`);
    expect(body.entries).toMatchObject([{ type: 'adjust', coins: -5, by: `key:${id}`, reason: 'bought twice' }, { coins: 20 }]);
    expect(body.entries[1]).not.toHaveProperty('by');
    const next = await look(`/accounts/${accountId}/history?limit=2&cursor=${body.nextCursor}`);
    expect(next.body.entries).toMatchObject([{ coins: 10 }]);
    expect(next.body).not.toHaveProperty('nextCursor');
  });

  test('history finds entries by type, key, origin and time, in parts', async () => {
    const { accountId, installId } = await account(1, 2, 3, 4, 5);
    await change(`/accounts/${accountId}/adjust`, { coins: 10, key: 't1', reason: 'one' });
    service.advance(60_000);
    const between = new Date(service.now() - 1000).toISOString();
    await change(`/accounts/${accountId}/adjust`, { coins: 20, key: 't2', reason: 'two' });
    await service.post('/v1/coins/debit', { installId, coins: 6, key: 'hat' });
    const coins = async (query: string) => {
      const { body } = await look(`/accounts/${accountId}/history?${query}`);
      return [body.entries.map((entry: { coins: number }) => entry.coins), body.nextCursor !== undefined];
    };
    expect(await coins('type=adjust')).toEqual([[20, 10], false]);
    expect(await coins('key=t1')).toEqual([[10], false]);
    expect(await coins(`origin=key:${id}`)).toEqual([[20, 10], false]);
    expect(await coins('origin=client&type=credit')).toEqual([[5, 4, 3, 2, 1], false]);
    expect(await coins(`from=${between}`)).toEqual([[-6, 20], false]);
    expect(await coins(`to=${between}&limit=2`)).toEqual([[10, 5], true]);
    expect((await look(`/accounts/${accountId}/history?type=none`)).body.error.code).toBe('invalid_request');
    const seen: number[] = [];
    for (let cursor = ''; ;) {
      const { body } = await look(`/accounts/${accountId}/history?type=credit&limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
      seen.push(...body.entries.map((entry: { coins: number }) => entry.coins));
      if (body.nextCursor === undefined) break;
      cursor = body.nextCursor;
    }
    expect(seen).toEqual([5, 4, 3, 2, 1]);
  });

  test('adjust keeps a balance between 0 and 10^12, reports the figures in a refusal, and takes effect once per key', async () => {
    const { accountId } = await account(30);
    const adjust = (coins: number, key: string) => change(`/accounts/${accountId}/adjust`, { coins, key, reason: 'test' });
    const below = await adjust(-31, 'a');
    expect(below.body.error).toMatchObject({ code: 'insufficient_coins', balanceCoins: 30 });
    expect(below.body.error.message).toBe('The account has 30 coins: -31 would leave -1, and an adjustment takes no balance below 0.');
    const above = await adjust(1e12, 'a');
    expect(above.body.error.message).toBe(
      'The account has 30 coins: 1000000000000 would make 1000000000030, and a balance is never above 1000000000000.',
    );
    expect(above.body.error.code).toBe('balance_limit');
    expect(await newest()).toMatchObject({ action: 'accounts adjust', outcome: { word: 'refused', code: 'balance_limit' } });
    expect((await adjust(-30, 'a')).body.balanceAfterCoins).toBe(0);
    expect((await adjust(-30, 'a')).body).toMatchObject({ replayed: true, balanceAfterCoins: 0 });
    expect((await adjust(-29, 'a')).body.error.code).toBe('key_reused');
    for (const coins of [0, 1.5, 1e12 + 1, '5', null]) expect((await adjust(coins as number, 'b')).status).toBe(400);
    const unknown = await change(`/accounts/${accountIdOf(freshId())}/adjust`, { coins: 1, key: 'a', reason: 'test' });
    expect(unknown.body.error.code).toBe('account_not_found');
  });

  test('an account with a debt shows it everywhere, and an adjustment that forgives it is logged', async () => {
    const { accountId } = await account(30);
    const { bookings } = await withOrigin(service);
    const before = new Date(service.now()).toISOString();
    service.advance(60_000);
    await bookings.book(accountId, { type: 'refund', coins: -50, key: ['google', 'a'], refusesBanned: false });
    const shown = await look(`/accounts/${accountId}?at=${new Date(service.now()).toISOString()}`);
    expect(shown.body).toMatchObject({ balanceCoins: 0, debtCoins: 20, balanceAt: { balanceCoins: 0, debtCoins: 20 } });
    expect(shown.body.history[0]).toMatchObject({ type: 'refund', coins: -50, balanceAfterCoins: -20, key: 'refund·google·a' });
    expect((await look(`/accounts/${accountId}?at=${before}`)).body.balanceAt).toEqual({ at: before, balanceCoins: 30 });
    expect((await look(`/accounts/${accountId}/explain`)).body.because).toContain(
      'The account owes 20 coins: they were bought, spent and refunded. Coins that come in pay the debt first.',
    );
    const adjust = (coins: number, key: string) => change(`/accounts/${accountId}/adjust`, { coins, key, reason: 'a mistake of ours' });
    const below = await adjust(-1, 'a');
    expect(below.body.error).toMatchObject({ code: 'insufficient_coins', balanceCoins: 0, debtCoins: 20 });
    expect(below.body.error.message).toBe('The account has -20 coins: -1 would leave -21, and an adjustment takes no balance below 0.');
    expect((await adjust(15, 'b')).body).toEqual({ ok: true, accountId, balanceAfterCoins: 0, debtCoins: 5, logged });
    expect(await newest()).toMatchObject({ action: 'accounts adjust', outcome: { word: 'done', balanceAfterCoins: 0, debtCoins: 5 } });
    expect((await adjust(5, 'c')).body).toEqual({ ok: true, accountId, balanceAfterCoins: 0, logged });
  });

  test('sign-out ends all sessions at once', async () => {
    const { accountId, installId } = await account();
    const cookies = await signIn(service, installId);
    expect((await service.get('/v1/session', { cookies })).body.authenticated).toBe(true);
    const { body } = await change(`/accounts/${accountId}/sign-out`, { reason: 'lost phone' });
    expect(body).toEqual({ ok: true, accountId, signOutsEverywhere: 1, logged });
    expect((await service.get('/v1/session', { cookies })).body.authenticated).toBe(false);
    expect((await look(`/accounts/${accountId}`)).body.sessions.signOutsEverywhere).toBe(1);
    expect(await service.get('/v1/session', { cookies: await signIn(service, installId) })).toMatchObject({
      body: { authenticated: true },
    });
    const unknown = await change(`/accounts/${accountIdOf(freshId())}/sign-out`, { reason: 'lost phone' });
    expect(unknown.body.error.code).toBe('account_not_found');
  });

  test('explain names the source of the access', async () => {
    const { accountId, installId } = await account();
    const deviceId = freshId('device');
    const headers = { 'x-device-id': deviceId };
    await service.post('/v1/trial/touch', { deviceId });
    expect((await service.post('/v1/trial/link', {}, { headers, cookies: await signIn(service, installId) })).status).toBe(200);
    const { body } = await look(`/accounts/${accountId}/explain`);
    const { body: entitlement } = await service.get(`/v1/entitlement?installId=${installId}`);
    expect(body.entitlement).toMatchObject({ state: 'trial', access: true, expiresAt: entitlement.expiresAt });
    expect(body.because).toEqual([
      'There is no purchase that the app store confirmed.',
      expect.stringMatching(/^A trial of 7 days \(TRIAL_DAYS\) is linked: it began at .* UTC and ends at .* UTC\.$/),
      expect.stringMatching(/^So it is on trial, and has access until .* UTC\.$/),
    ]);
  });
});

describe('accounts that are banned or deleted', () => {
  test('a ban refuses every call of the account at once, and unban ends the ban', async () => {
    await using other = await start();
    const { accountId, installId } = await account(10);
    const credit = (at: TestService, key: string) => at.post('/v1/coins/credit', { installId, coins: 1, key });
    const until = new Date(service.now() + 3_600_000).toISOString();
    expect((await change(`/accounts/${accountId}/ban`, { reason: 'cheats', until })).body).toEqual({ ok: true, accountId, until, logged });
    for (const each of [service, other]) expect((await credit(each, 'a')).body.error).toMatchObject({ code: 'account_banned', until });
    expect((await look(`/accounts/${accountId}`)).body).toMatchObject({
      state: 'banned',
      balanceCoins: 10,
      ban: { until, reason: 'cheats', since: expect.any(String) },
      history: [{ coins: 10 }],
    });
    expect((await look(`/accounts/${accountId}/history`)).body.entries).toHaveLength(1);
    const adjusted = await change(`/accounts/${accountId}/adjust`, { coins: 1, key: 'b', reason: 'test' });
    expect(adjusted.body.error.code).toBe('account_banned');
    expect((await look(`/accounts/${accountId}/explain`)).body.because.at(-1)).toBe(
      `But the account is banned until ${until}: all calls of its owner are refused.`,
    );
    // A sign-out does not end the ban.
    expect((await change(`/accounts/${accountId}/sign-out`, { reason: 'test' })).body.signOutsEverywhere).toBe(1);
    expect((await credit(service, 'a')).body.error.code).toBe('account_banned');
    expect((await change(`/accounts/${accountId}/unban`, { reason: 'appeal' })).body).toEqual({
      ok: true,
      accountId,
      wasBanned: true,
      logged,
    });
    expect((await change(`/accounts/${accountId}/unban`, { reason: 'appeal' })).body.wasBanned).toBe(false);
    expect((await credit(other, 'a')).body.balanceAfterCoins).toBe(11);
    const shown = (await look(`/accounts/${accountId}`)).body;
    expect([shown.state, shown.sessions.signOutsEverywhere]).toEqual(['open', 1]);
    const past = await change(`/accounts/${accountId}/ban`, { reason: 'late', until: '2020-01-01T00:00:00Z' });
    expect(past.body.error).toMatchObject({ code: 'invalid_request', field: 'until' });
    for (const verb of ['ban', 'unban'])
      expect((await change(`/accounts/${accountIdOf(freshId())}/${verb}`, { reason: 'test' })).body.error.code).toBe('account_not_found');
  });

  test('a deleted account is found, but its data is neither shown nor changed', async () => {
    const { accountId, installId } = await account(10);
    const { body } = await service.post('/v1/account/delete', { installId });
    expect((await service.post('/v1/account/delete', { installId, confirm: body.confirm })).status).toBe(200);
    expect((await change('/find', { who: installId })).body.accounts).toMatchObject([{ accountId, deletedAt: expect.any(String) }]);
    for (const path of ['', '/history', '/explain'])
      expect((await look(`/accounts/${accountId}${path}`)).body.error.code).toBe('account_deleted');
    for (const [verb, more] of [
      ['adjust', { coins: 1, key: 'a' }],
      ['sign-out', {}],
      ['end-session', { session: '0.AAAAAAAAAAAAAAAA' }],
      ['ban', {}],
      ['unban', {}],
      ['delete', {}],
      ['rename', { name: 'Ada' }],
      ['unname', {}],
    ] as const)
      expect((await change(`/accounts/${accountId}/${verb}`, { reason: 'test', ...more })).body.error.code).toBe('account_deleted');
    const device = freshId('device');
    await service.post('/v1/trial/touch', { deviceId: device });
    for (const verb of ['restart', 'restore'])
      expect((await change(`/trials/${verb}`, { device, account: accountId, reason: 'test' })).body.error.code).toBe('account_deleted');
  });

  test('delete removes a banned account, and for a moved guest its target', async () => {
    const banned = await account(10);
    await change(`/accounts/${banned.accountId}/ban`, { reason: 'cheats' });
    const guest = await account(20);
    const { accountId } = (await signInToStore(service, freshId('user'), { installId: guest.installId })).body;
    for (const [asked, deleted, balanceCoins] of [
      [banned.accountId, banned.accountId, 10],
      [guest.accountId, accountId, 20],
    ] as const) {
      const { status, body } = await change(`/accounts/${asked}/delete`, { reason: 'asked by post' });
      expect([status, body]).toEqual([200, { ok: true, accountId: deleted, balanceCoins, logged }]);
      expect(await newest()).toMatchObject({
        action: 'accounts delete',
        what: { account: deleted },
        why: 'asked by post',
        outcome: { word: 'done' },
      });
      expect((await change(`/accounts/${asked}/delete`, { reason: 'again' })).body.error.code).toBe('account_deleted');
    }
    for (const { installId } of [banned, guest])
      expect((await service.post('/v1/coins/credit', { installId, coins: 1, key: 'a' })).body.error.code).toBe('account_deleted');
    expect((await change(`/accounts/${accountIdOf(freshId())}/delete`, { reason: 'test' })).body.error.code).toBe('account_not_found');
  });

  test('a store subject finds its current account, and after it the last deleted one', async () => {
    const subject = freshId('user');
    const first = await signInToStore(service, subject);
    const found = async () => (await change('/find', { who: `sandbox:${subject}` })).body.accounts;
    expect(await found()).toEqual([expect.not.objectContaining({ deletedAt: expect.anything() })]);
    const token = async () => (await issue(service, { kind: 'id_token', subject })).token;
    const { confirm } = (await service.post('/v1/account/delete', { token: await token() }, { cookies: first.cookies })).body;
    expect((await service.post('/v1/account/delete', { token: await token(), confirm }, { cookies: first.cookies })).status).toBe(200);
    const { accountId } = first.body;
    expect(await found()).toMatchObject([{ accountId, foundBy: 'sandbox', kind: 'store', deletedAt: expect.any(String) }]);
    const [byId] = (await change('/find', { who: accountId })).body.accounts;
    expect(byId).toEqual({ accountId, foundBy: 'accountId', deletedAt: expect.any(String) });
    const second = await signInToStore(service, subject);
    expect(await found()).toMatchObject([{ accountId: second.body.accountId }, { accountId, deletedAt: expect.any(String) }]);
  });

  test('show names the rooms in which the account has a seat', async () => {
    const { accountId, installId } = await account();
    const [one, two] = [
      (await service.post('/v1/rooms', { installId, game: 'tetris' })).body,
      (await service.post('/v1/rooms', { installId })).body,
    ];
    await service.post(`/v1/rooms/${two.room.code}/leave`, { installId });
    expect((await look(`/accounts/${accountId}`)).body.rooms).toEqual([
      { code: one.room.code, game: 'tetris', phase: 'lobby', playerId: 'p1', name: expect.any(String), joinedAt: expect.any(String) },
    ]);
  });
});

describe('who may call', () => {
  test('only a key with the scope admin', async () => {
    const { accountId } = await account();
    const other = await makeServerKey(service, ['coins', 'scores', 'rooms', 'accounts:read']);
    const paths = [
      `/accounts/${accountId}`,
      `/accounts/${accountId}/history`,
      `/accounts/${accountId}/explain`,
      '/boards/tetris',
      '/rooms/BCDFG',
      '/log',
    ];
    const changes: [string, object][] = [
      ['/find', { who: accountId }],
      [`/accounts/${accountId}/adjust`, { coins: 1, key: 'a', reason: 'test' }],
      [`/accounts/${accountId}/sign-out`, { reason: 'test' }],
      [`/accounts/${accountId}/ban`, { reason: 'test' }],
      [`/accounts/${accountId}/unban`, { reason: 'test' }],
      [`/accounts/${accountId}/delete`, { reason: 'test' }],
      ['/boards/tetris/remove', { player: accountId, reason: 'test' }],
      ['/boards/tetris/reset', { reason: 'test' }],
      ['/boards/tetris/drop', { archive: 1, reason: 'test' }],
      ['/rooms/BCDFG/end', { reason: 'test' }],
    ];
    const cookies = await signIn(service, freshId());
    for (const path of paths) {
      expect((await look(path, other.token)).body.error).toMatchObject({ code: 'forbidden', scope: 'admin' });
      expect((await service.get(`/v1/admin${path}`, { cookies })).body.error.code).toBe('server_only');
    }
    for (const [path, body] of changes) {
      expect((await change(path, body, other.token)).body.error).toMatchObject({ code: 'forbidden', scope: 'admin' });
      expect((await service.post(`/v1/admin${path}`, body)).body.error.code).toBe('server_only');
    }
  });

  test('a key of one game reaches the boards and rooms of that game only', async () => {
    const { accountId } = await account();
    const { token } = await makeServerKey(service, ['admin'], { game: 'tetris' });
    expect((await look('/boards/tetris', token)).status).toBe(200);
    for (const path of ['/boards/snake', `/accounts/${accountId}`, '/log'])
      expect((await look(path, token)).body.error.code).toBe('forbidden');
    expect((await change('/boards/snake/reset', { reason: 'test' }, token)).body.error.code).toBe('forbidden');
    expect((await change('/find', { who: accountId }, token)).body.error.code).toBe('forbidden');
    for (const [game, status] of [
      ['tetris', 200],
      ['snake', 403],
    ] as const) {
      const { body } = await service.post('/v1/rooms', { installId: freshId(), game });
      expect((await look(`/rooms/${body.room.code}`, token)).status).toBe(status);
      expect((await change(`/rooms/${body.room.code}/end`, { reason: 'test' }, token)).status).toBe(status);
    }
  });

  test('without ADMIN_API=on the API is not served, and the documents do not name it', async () => {
    await using closed = await start();
    const headers = { authorization: `Bearer ${bearer}` };
    const reply = await fetch(`${closed.url}/v1/admin/log`, { headers });
    expect([reply.status, ((await reply.json()) as { error: { code: string } }).error.code]).toEqual([404, 'not_found']);
    expect((await fetch(`${closed.url}/v1/admin/find`, { method: 'POST', headers, body: '{"who":"install-0001"}' })).status).toBe(404);
    expect(JSON.stringify((await closed.get('/openapi.json')).body)).not.toContain('"/v1/admin');
    const document = (await service.get('/openapi.json')).body;
    expect(Object.keys(document.paths)).toContain('/v1/admin/accounts/{accountId}/adjust');
    expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true });
    expect((await service.get('/docs')).body).toContain('/admin/accounts/{accountId}/adjust');
  });
});

test.runIf(isOnCluster())('the tool does the same on a Cluster', { timeout: 180_000 }, async () => {
  const settings = { REDIS_URL: ownCluster()! };
  const { accountId, installId } = await account(10);
  const flags = ['--reason', 'test', '--yes', '--json'];
  const adjusted = await runAdmin(['accounts', 'adjust', installId, '-3', '--key', 'tool', ...flags], settings);
  expect(JSON.parse(adjusted.out)).toEqual({ accountId, balanceAfterCoins: 7, logged });
  expect(JSON.parse((await runAdmin(['accounts', 'show', accountId, '--json'], settings)).out)).toEqual({
    ...(({ ok: _, ...shown }) => shown)((await look(`/accounts/${accountId}`)).body),
  });
  const game = freshId('game').toLowerCase();
  await service.post(`/v1/highscores/${game}`, { installId, score: 5, name: 'Ada' });
  expect(JSON.parse((await runAdmin(['boards', 'reset', game, ...flags], settings)).out)).toEqual({ game, archive: 1, entries: 1, logged });
  const { room } = (await service.post('/v1/rooms', { installId })).body;
  expect(JSON.parse((await runAdmin(['rooms', 'end', room.code, ...flags], settings)).out).room.phase).toBe('ended');
  expect((await runAdmin(['log', '--limit', '5'], settings)).out).toContain(`account=${accountId} coins=-3 key=tool`);
});
