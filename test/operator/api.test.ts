import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { withOrigin } from '../features/coins/with-origin.ts';
import { forFile, freshId, isOnCluster, ownCluster, signIn, start, type TestReply, type TestService } from '../harness.ts';
import { issue, signInToStore } from '../store.ts';
import { runAdmin } from './terminal/command.ts';
import { logged, openDesk } from './parts.ts';

/** The endpoints below /v1/admin/accounts. */

const { service, bearer, id, read, change, newest, account } = await forFile(openDesk());

const codeOf = ({ body }: TestReply): string | undefined => body.error?.code;
const coinsOf = ({ entries }: { entries: { coins: number }[] }): number[] => entries.map(({ coins }) => coins);
const found = async (who: string): Promise<TestReply['body']> => (await change('/find', { who })).body.accounts;

describe('accounts are found by', () => {
  test('installId and accountId, with and without a prefix', async () => {
    const { installId, accountId } = await account(10);
    const shown = { accountId, kind: 'guest', createdAt: expect.any(String) };
    for (const [who, foundBy] of [
      [installId, 'installId'],
      [accountId, 'accountId'],
      [`install:${installId}`, 'installId'],
    ])
      expect(await found(who!)).toEqual([{ ...shown, foundBy }]);
    for (const who of [`account:${installId}`, 'google:11024849']) expect(codeOf(await change('/find', { who }))).toBe('account_not_found');
    expect(codeOf(await change('/find', { who: '' }))).toBe('invalid_request');
    // An installId that equals an accountId does not hide that account.
    await service.post('/v1/login', { installId: accountId });
    expect(await found(accountId)).toMatchObject([
      { accountId, foundBy: 'accountId' },
      { accountId: accountIdOf(accountId), foundBy: 'installId' },
    ]);
  });

  test('store subject: the current account, and after it the last deleted one', async () => {
    const subject = freshId('user');
    const {
      body: { accountId },
      cookies,
    } = await signInToStore(service, subject);
    const who = `sandbox:${subject}`;
    expect(await found(who)).toEqual([expect.not.objectContaining({ deletedAt: expect.anything() })]);
    const token = async () => (await issue(service, { kind: 'id_token', subject })).token;
    const { confirm } = (await service.post('/v1/account/delete', { token: await token() }, { cookies })).body;
    expect((await service.post('/v1/account/delete', { token: await token(), confirm }, { cookies })).status).toBe(200);
    const deletedAt = expect.any(String);
    expect(await found(who)).toMatchObject([{ accountId, foundBy: 'sandbox', kind: 'store', deletedAt }]);
    expect(await found(accountId)).toEqual([{ accountId, foundBy: 'accountId', deletedAt }]);
    const second = await signInToStore(service, subject);
    expect(await found(who)).toMatchObject([{ accountId: second.body.accountId }, { accountId, deletedAt }]);
  });
});

describe('an account shows', () => {
  test('balance, history, sessions, trial, subscription, entitlement, and the rooms in which it has a seat', async () => {
    const { accountId, installId } = await account(10, 20);
    const [one, two] = [
      (await service.post('/v1/rooms', { installId, game: 'tetris' })).body.room.code,
      (await service.post('/v1/rooms', { installId })).body.room.code,
    ];
    await service.post(`/v1/rooms/${two}/leave`, { installId });
    const { status, body } = await read(`/accounts/${accountId}?at=${new Date(service.now() - 3_600_000).toISOString()}`);
    expect([status, body]).toMatchObject([
      200,
      {
        accountId,
        kind: 'guest',
        state: 'open',
        balanceCoins: 30,
        balanceAt: { balanceCoins: 0 },
        ledger: { entries: 2 },
        history: [{ coins: 20 }, { coins: 10 }],
        sessions: { signOutsEverywhere: 0 },
        trial: { active: false, state: 'none' },
        subscription: { subscribed: false, source: 'none' },
        entitlement: { state: 'none', access: false },
        purchases: [],
        boards: { count: 0, games: [], scores: [] },
        rooms: [{ code: one, game: 'tetris', phase: 'lobby', playerId: 'p1' }],
        guests: [],
      },
    ]);
    for (const path of ['/accounts/short', `/accounts/${accountId}?at=yesterday`]) expect(codeOf(await read(path))).toBe('invalid_request');
  });

  test('its best scores with their ranks, and no ranks while it is banned', async () => {
    const [{ accountId, installId }, other] = [await account(), await account()];
    const game = freshId('game').toLowerCase();
    for (const score of [5, 9, 7]) await service.post(`/v1/highscores/${game}`, { installId, score, name: 'Ada' });
    await service.post(`/v1/highscores/${game}`, { installId: other.installId, score: 10, name: 'Bo' });
    const best = { game, playerId: expect.any(String), name: 'Ada', score: 9, at: expect.any(String) };
    const boards = async () => (await read(`/accounts/${accountId}`)).body.boards;
    expect(await boards()).toEqual({ count: 1, games: [game], scores: [{ ...best, rank: 2 }] });
    await change(`/accounts/${accountId}/ban`);
    await expect.poll(boards).toEqual({ count: 1, games: [game], scores: [best] });
  });

  test('the balance at a time: that of the last entry before it', async () => {
    const { installId, accountId } = await account();
    const times: string[] = [];
    for (let coins = 1; coins <= 9; coins++) {
      await service.post('/v1/coins/credit', { installId, coins, key: `k${coins}` });
      times.push(new Date(service.now()).toISOString());
      service.advance(60_000);
    }
    const at = async (time: string) => (await read(`/accounts/${accountId}?at=${time}`)).body.balanceAt.balanceCoins;
    expect(await Promise.all(times.map(at))).toEqual([1, 3, 6, 10, 15, 21, 28, 36, 45]);
    expect([await at('2020-01-01T00:00:00Z'), await at('2999-01-01T00:00:00%2B02:00')]).toEqual([0, 45]);
  });

  test('its debt everywhere, and an adjustment that forgives it is logged', async () => {
    const { accountId } = await account(30);
    const { bookings } = await withOrigin(service);
    const before = new Date(service.now()).toISOString();
    service.advance(60_000);
    await bookings.book(accountId, { type: 'refund', coins: -50, key: ['google', 'a'], refusesBanned: false });
    expect((await read(`/accounts/${accountId}?at=${new Date(service.now()).toISOString()}`)).body).toMatchObject({
      balanceCoins: 0,
      debtCoins: 20,
      balanceAt: { balanceCoins: 0, debtCoins: 20 },
      history: [{ type: 'refund', coins: -50, balanceAfterCoins: -20, key: 'refund·google·a' }, { coins: 30 }],
    });
    expect((await read(`/accounts/${accountId}?at=${before}`)).body.balanceAt).toEqual({ at: before, balanceCoins: 30 });
    expect((await read(`/accounts/${accountId}/explain`)).body.because).toContain(
      'The account owes 20 coins, which were bought, spent and refunded. Coins that come in pay the debt first.',
    );
    const adjust = async (coins: number, key: string) => (await change(`/accounts/${accountId}/adjust`, { coins, key })).body;
    expect((await adjust(-1, 'a')).error).toMatchObject({
      code: 'insufficient_coins',
      balanceCoins: 0,
      debtCoins: 20,
      message: 'The account has -20 coins: -1 would leave -21, and an adjustment takes no balance below 0.',
    });
    expect(await adjust(15, 'b')).toEqual({ ok: true, accountId, balanceAfterCoins: 0, debtCoins: 5, logged });
    expect(await newest()).toMatchObject([{ action: 'accounts adjust', outcome: { word: 'done', balanceAfterCoins: 0, debtCoins: 5 } }]);
    expect(await adjust(5, 'c')).toEqual({ ok: true, accountId, balanceAfterCoins: 0, logged });
  });
});

test('a history has pages and the origin of adjustments, and is searched by type, key, origin and time', async () => {
  const { accountId, installId } = await account(1, 2, 3, 4, 5);
  const reply = await change(`/accounts/${accountId}/adjust`, { coins: 10, key: 't1', reason: 'bought twice' });
  expect(reply.body).toEqual({ ok: true, accountId, balanceAfterCoins: 25, logged });
  expect(await newest()).toEqual([reply.body.logged]);
  service.advance(60_000);
  const between = new Date(service.now() - 1000).toISOString();
  await change(`/accounts/${accountId}/adjust`, { coins: 20, key: 't2' });
  await service.post('/v1/coins/debit', { installId, coins: 6, key: 'hat' });
  const history = async (query: string) => (await read(`/accounts/${accountId}/history?${query}`)).body;
  const { entries } = await history('key=t1');
  expect(entries).toMatchObject([{ type: 'adjust', coins: 10, by: `key:${id}`, reason: 'bought twice' }]);
  for (const [query, coins, hasMore] of [
    ['type=adjust', [20, 10], false],
    [`origin=key:${id}`, [20, 10], false],
    ['origin=client&type=credit', [5, 4, 3, 2, 1], false],
    [`from=${between}`, [-6, 20], false],
    [`to=${between}&limit=2`, [10, 5], true],
  ] as const) {
    const body = await history(query);
    expect([query, coinsOf(body), body.nextCursor !== undefined]).toEqual([query, coins, hasMore]);
  }
  expect((await history('type=none')).error.code).toBe('invalid_request');
  const seen: number[] = [];
  let cursor: string | undefined;
  do {
    const body = await history(`type=credit&limit=2${cursor === undefined ? '' : `&cursor=${cursor}`}`);
    expect(body.entries[0]).not.toHaveProperty('by');
    seen.push(...coinsOf(body));
    cursor = body.nextCursor;
  } while (cursor !== undefined);
  expect(seen).toEqual([5, 4, 3, 2, 1]);
});

test('adjust keeps a balance between 0 and 10^12, reports the figures in a refusal, and takes effect once per key', async () => {
  const { accountId } = await account(30);
  const adjust = async (coins: unknown, key: string) => (await change(`/accounts/${accountId}/adjust`, { coins, key })).body;
  expect((await adjust(-31, 'a')).error).toMatchObject({
    code: 'insufficient_coins',
    balanceCoins: 30,
    message: 'The account has 30 coins: -31 would leave -1, and an adjustment takes no balance below 0.',
  });
  expect((await adjust(1e12, 'a')).error).toMatchObject({
    code: 'balance_limit',
    message: 'The account has 30 coins: 1000000000000 would make 1000000000030, and a balance is never above 1000000000000.',
  });
  expect(await newest()).toMatchObject([{ action: 'accounts adjust', outcome: { word: 'refused', code: 'balance_limit' } }]);
  expect((await adjust(-30, 'a')).balanceAfterCoins).toBe(0);
  expect(await adjust(-30, 'a')).toMatchObject({ replayed: true, balanceAfterCoins: 0 });
  expect((await adjust(-29, 'a')).error.code).toBe('key_reused');
  for (const coins of [0, 1.5, 1e12 + 1, '5', null]) expect((await adjust(coins, 'b')).error.code).toBe('invalid_request');
});

test('sign-out ends all sessions at once, and the account can sign in again', async () => {
  const { accountId, installId } = await account();
  const cookies = await signIn(service, installId);
  const isSignedIn = async (of: string) => (await service.get('/v1/session', { cookies: of })).body.authenticated;
  expect(await isSignedIn(cookies)).toBe(true);
  expect((await change(`/accounts/${accountId}/sign-out`)).body).toEqual({ ok: true, accountId, signOutsEverywhere: 1, logged });
  expect(await isSignedIn(cookies)).toBe(false);
  expect((await read(`/accounts/${accountId}`)).body.sessions.signOutsEverywhere).toBe(1);
  expect(await isSignedIn(await signIn(service, installId))).toBe(true);
});

test('a ban refuses every call of the account at once, and unban ends the ban', async () => {
  await using other = await start();
  const { accountId, installId } = await account(10);
  const credit = async (at: TestService) => (await at.post('/v1/coins/credit', { installId, coins: 1, key: 'a' })).body;
  const until = new Date(service.now() + 3_600_000).toISOString();
  const banned = await change(`/accounts/${accountId}/ban`, { reason: 'cheats', until });
  expect(banned.body).toEqual({ ok: true, accountId, until, logged });
  for (const each of [service, other]) expect((await credit(each)).error).toMatchObject({ code: 'account_banned', until });
  expect((await read(`/accounts/${accountId}`)).body).toMatchObject({
    state: 'banned',
    balanceCoins: 10,
    ban: { until, reason: 'cheats', since: expect.any(String) },
    history: [{ coins: 10 }],
  });
  expect((await read(`/accounts/${accountId}/history`)).body.entries).toHaveLength(1);
  expect(codeOf(await change(`/accounts/${accountId}/adjust`, { coins: 1, key: 'b' }))).toBe('account_banned');
  expect((await read(`/accounts/${accountId}/explain`)).body.because.at(-1)).toBe(
    `But the account is banned until ${until}: all calls of its owner are refused.`,
  );
  // A sign-out does not end the ban.
  expect((await change(`/accounts/${accountId}/sign-out`)).body.signOutsEverywhere).toBe(1);
  expect((await credit(service)).error.code).toBe('account_banned');
  expect((await change(`/accounts/${accountId}/unban`)).body).toEqual({ ok: true, accountId, wasBanned: true, logged });
  expect((await change(`/accounts/${accountId}/unban`)).body.wasBanned).toBe(false);
  expect((await credit(other)).balanceAfterCoins).toBe(11);
  expect((await read(`/accounts/${accountId}`)).body).toMatchObject({ state: 'open', sessions: { signOutsEverywhere: 1 } });
  for (const wrong of ['yesterday', '2020-01-01T00:00:00Z'])
    expect(codeOf(await change(`/accounts/${accountId}/ban`, { until: wrong }))).toBe('invalid_request');
});

test('delete removes a banned account, and for a moved guest its target', async () => {
  const banned = await account(10);
  await change(`/accounts/${banned.accountId}/ban`);
  const guest = await account(20);
  const { accountId } = (await signInToStore(service, freshId('user'), { installId: guest.installId })).body;
  for (const [asked, deleted, balanceCoins] of [
    [banned, banned.accountId, 10],
    [guest, accountId, 20],
  ] as const) {
    const { body } = await change(`/accounts/${asked.accountId}/delete`, { reason: 'asked by post' });
    expect(body).toEqual({ ok: true, accountId: deleted, balanceCoins, logged });
    expect(body.logged).toMatchObject({ action: 'accounts delete', what: { account: deleted }, why: 'asked by post' });
    expect(codeOf(await change(`/accounts/${asked.accountId}/delete`))).toBe('account_deleted');
    expect(codeOf(await service.post('/v1/coins/credit', { installId: asked.installId, coins: 1, key: 'a' }))).toBe('account_deleted');
  }
});

test('a deleted account is found, but its data is neither shown nor changed', async () => {
  const { accountId, installId } = await account(10);
  await change(`/accounts/${accountId}/delete`);
  expect(await found(installId)).toMatchObject([{ accountId, deletedAt: expect.any(String) }]);
  const device = freshId('device');
  await service.post('/v1/trial/touch', { deviceId: device });
  const refused = [
    ...['', '/history', '/explain', '/timeline'].map((path) => read(`/accounts/${accountId}${path}`)),
    ...['sign-out', 'ban', 'unban', 'take-back', 'unname'].map((verb) => change(`/accounts/${accountId}/${verb}`)),
    ...['restart', 'restore'].map((verb) => change(`/trials/${verb}`, { device, account: accountId })),
    change(`/accounts/${accountId}/adjust`, { coins: 1, key: 'a' }),
    change(`/accounts/${accountId}/end-session`, { session: '0.AAAAAAAAAAAAAAAA' }),
    change(`/accounts/${accountId}/give`, { until: new Date(service.now() + 86_400_000).toISOString() }),
    change(`/accounts/${accountId}/rename`, { name: 'Ada' }),
  ];
  expect((await Promise.all(refused)).map(codeOf)).toEqual(refused.map(() => 'account_deleted'));
});

test('without ADMIN_API=on the API is not served, and the documents do not name it', async () => {
  await using closed = await start();
  const headers = { authorization: `Bearer ${bearer}` };
  for (const [path, init] of [
    ['log', { headers }],
    ['find', { method: 'POST', headers, body: '{"who":"install-0001"}' }],
  ] as const)
    expect(await (await fetch(`${closed.url}/v1/admin/${path}`, init)).json()).toMatchObject({ error: { code: 'not_found' } });
  expect(JSON.stringify((await closed.get('/openapi.json')).body)).not.toContain('"/v1/admin');
  const document = (await service.get('/openapi.json')).body;
  expect(Object.keys(document.paths)).toContain('/v1/admin/accounts/{accountId}/adjust');
  expect((await service.get('/docs/reference/operator')).body).toContain('/admin/accounts/{accountId}/adjust');
});

test.runIf(isOnCluster())('the tool does the same on a Cluster', async () => {
  const { accountId, installId } = await account(10);
  const admin = (...words: string[]) => runAdmin(words, { REDIS_URL: ownCluster()! });
  const changed = async (...words: string[]) => JSON.parse((await admin(...words, '--reason', 'test', '--yes', '--json')).out);
  expect(await changed('accounts', 'adjust', installId, '-3', '--key', 'tool')).toEqual({ accountId, balanceAfterCoins: 7, logged });
  const shown = JSON.parse((await admin('accounts', 'show', accountId, '--json')).out);
  expect({ ok: true, ...shown }).toEqual((await read(`/accounts/${accountId}`)).body);
  const game = freshId('game').toLowerCase();
  await service.post(`/v1/highscores/${game}`, { installId, score: 5, name: 'Ada' });
  expect(await changed('boards', 'reset', game)).toEqual({ game, archive: 1, entries: 1, logged });
  const { room } = (await service.post('/v1/rooms', { installId })).body;
  expect((await changed('rooms', 'end', room.code)).room.phase).toBe('ended');
  expect((await admin('log', '--limit', '5')).out).toContain(`account=${accountId} coins=-3 key=tool`);
});
