import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { whoMintsCoins } from '../../../src/features/coins/model.ts';
import { freshId, signIn, start, tokenFor, type TestService } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { expectCommands } from '../../round-trips.ts';
import { signInToStore } from '../../store.ts';
import { withOrigin } from './with-origin.ts';

let open: TestService;
let closed: TestService;
const logLines: string[] = [];
beforeAll(async () => {
  open = await start();
  closed = await start({ settings: { COIN_AUTHORITY: 'server' }, logLines });
});
afterAll(() => Promise.all([open, closed].map((service) => service[Symbol.asyncDispose]())));

describe('with COIN_AUTHORITY=server', () => {
  test.each(['credit', 'purchase'])('a %s without a server key is refused with server_only, whoever calls', async (operation) => {
    const installId = freshId();
    await open.post('/v1/coins/credit', { installId, coins: 10, key: 'before' });
    const path = `/v1/coins/${operation}`;
    const body = { coins: 10, key: 'a' };
    const replies = [
      await closed.post(path, { installId, ...body }),
      await closed.post(path, body, { headers: { 'x-install-id': installId } }),
      await closed.post(path, body, { cookies: await signIn(closed, installId) }),
      await closed.post(path, body, { bearer: await tokenFor(closed, installId) }),
      await closed.post(path, { installId: freshId(), ...body }),
      // A replay is refused too: the service does not look the key up.
      await closed.post(path, { installId, coins: 10, key: 'before' }),
    ];
    for (const reply of replies) expect([reply.status, reply.body.error.code]).toEqual([403, 'server_only']);
    expect((await closed.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(10);
  });

  test('a bad body is refused before the authority, and a request without a caller too', async () => {
    expect((await closed.post('/v1/coins/credit', { installId: freshId(), coins: 0, key: 'a' })).body.error.code).toBe('invalid_request');
    expect((await closed.post('/v1/coins/purchase', { coins: 1, key: 'a' })).body.error.code).toBe('identity_required');
  });

  test('a client debits as before', async () => {
    const installId = freshId();
    await open.post('/v1/coins/credit', { installId, coins: 10, key: 'a' });
    const debit = (coins: number, key: string) => closed.post('/v1/coins/debit', { installId, coins, key });
    expect((await debit(4, 'b')).body).toEqual({ ok: true, balanceAfterCoins: 6 });
    expect((await debit(4, 'b')).body).toMatchObject({ replayed: true });
    expect((await debit(7, 'c')).body.error.code).toBe('insufficient_coins');
  });

  test('the coins of a guest move into a store account', async () => {
    const installId = freshId();
    await (await withOrigin(closed)).byKey('credit', { installId }, 30, 'a');
    const { body, cookies } = await signInToStore(closed, freshId('subject'), { installId });
    expect(body).toMatchObject({ moved: true, movedCoins: 30 });
    expect((await closed.get('/v1/balance', { cookies })).body.balanceCoins).toBe(30);
  });

  test('a refused credit asks Redis nothing', async () => {
    await using redis = await startRedis();
    await using own = await start({ redis: redis.location, settings: { COIN_AUTHORITY: 'server' } });
    const cookies = await signIn(own, freshId());
    await expectCommands(own, [
      [() => own.post('/v1/coins/credit', { coins: 1, key: 'a' }, { cookies }), []],
      [() => own.post('/v1/coins/purchase', { installId: freshId(), coins: 1, key: 'a' }), []],
    ]);
  });
});

describe('who can mint coins', () => {
  test('stands in the answer of /ready and in one line of the log at the start', async () => {
    const line = 'server: only server keys with the scope coins, and operators, can mint coins';
    expect((await closed.get('/ready')).body.coinAuthority).toBe(line);
    const said = logLines.map((text) => JSON.parse(text) as { msg: string }).filter(({ msg }) => msg.includes('mint'));
    expect(said.map(({ msg }) => msg)).toEqual([`who can mint coins: ${line}`]);
    expect((await open.get('/ready')).body.coinAuthority).toBe('client: every client can mint coins for its own account');
  });

  test.each([
    ['client', 0, [], 'client: every client can mint coins for its own account'],
    ['client', 500, [], 'client: every client can mint coins for its own account, up to 500 a UTC day'],
    ['client', 0, ['credit'], 'client: every client of a proven install can mint coins for its own account'],
    ['client', 0, ['highscores'], 'client: every client can mint coins for its own account'],
    ['server', 500, ['credit'], 'server: only server keys with the scope coins, and operators, can mint coins'],
  ] as const)('with COIN_AUTHORITY=%s, a cap of %i and proofs for %j', (COIN_AUTHORITY, CREDIT_DAILY_CAP, proofs, line) => {
    expect(whoMintsCoins({ COIN_AUTHORITY, CREDIT_DAILY_CAP, REQUIRE_INSTALL_PROOF: [...proofs] })).toBe(line);
  });
});
