import { describe, expect, test } from 'vitest';
import { ban } from '../../../src/accounts/ban.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { whoMintsCoins } from '../../../src/features/coins/model.ts';
import { forFile, freshId, signIn, start, tokenFor } from '../../harness.ts';
import { makeServerKey } from '../../server-keys.ts';
import { withOrigin } from './with-origin.ts';

const logLines: string[] = [];
const open = await forFile(start());
const closed = await forFile(start({ settings: { COIN_AUTHORITY: 'server' }, logLines }));
const origin = await withOrigin(closed);

describe('with COIN_AUTHORITY=server', () => {
  test.each(['credit', 'purchase'])('a %s without a server key is refused with server_only for every kind of caller', async (operation) => {
    const installId = freshId();
    await open.post('/v1/coins/credit', { installId, coins: 10, key: 'before' });
    const [path, body] = [`/v1/coins/${operation}`, { coins: 10, key: 'a' }];
    const replies = [
      await closed.post(path, { installId, ...body }),
      await closed.post(path, body, { headers: { 'x-install-id': installId } }),
      await closed.post(path, body, { cookies: await signIn(closed, installId) }),
      await closed.post(path, body, { bearer: await tokenFor(closed, installId) }),
      await closed.post(path, { installId: freshId(), ...body }),
      // A replay is refused too, because the service does not look up the key.
      await closed.post(path, { installId, coins: 10, key: 'before' }),
    ];
    for (const reply of replies) expect([reply.status, reply.body.error.code]).toEqual([403, 'server_only']);
    expect((await closed.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(10);
  });

  test('a server with a key grants, sells and debits, also for an account that never was', async () => {
    const { id, token } = await makeServerKey(closed, ['coins']);
    const who = { accountId: accountIdOf(freshId()) };
    const byKey = (operation: string, coins: number, key: string) =>
      closed.post(`/v1/coins/${operation}`, { ...who, coins, key }, { bearer: token });
    expect((await byKey('credit', 30, 'a')).body).toEqual({ ok: true, balanceAfterCoins: 30 });
    expect((await byKey('purchase', 20, 'b')).body).toEqual({ ok: true, balanceAfterCoins: 50 });
    expect((await byKey('debit', 15, 'c')).body).toEqual({ ok: true, balanceAfterCoins: 35 });
    expect((await byKey('debit', 36, 'd')).body.error.code).toBe('insufficient_coins');
    expect((await byKey('credit', 30, 'a')).body).toEqual({ ok: true, balanceAfterCoins: 30, replayed: true, balanceCoins: 35 });
    const lines = await origin.linesOf(who);
    expect(lines.map((line) => line.replace(/ [0-9a-z]{8}~/, ' '))).toEqual([
      `1:30 g30 k${id} a`,
      `2:50 p20 k${id} b`,
      `3:35 d-15 k${id} c`,
    ]);
  });

  test('a key without the scope coins mints nothing', async () => {
    const { token } = await makeServerKey(closed, ['scores', 'rooms', 'accounts:read', 'admin']);
    for (const operation of ['credit', 'purchase', 'debit']) {
      const reply = await closed.post(`/v1/coins/${operation}`, { installId: freshId(), coins: 1, key: 'a' }, { bearer: token });
      expect([reply.status, reply.body.error.code]).toEqual([403, 'forbidden']);
    }
  });

  test('a server and an operator give nothing to an account that was deleted or is banned', async () => {
    const { token } = await makeServerKey(closed, ['coins']);
    const [deleted, banned] = [{ installId: freshId() }, { installId: freshId() }];
    const { confirm } = (await closed.post('/v1/account/delete', deleted)).body;
    await closed.post('/v1/account/delete', { ...deleted, confirm });
    await origin.byKey('credit', banned, 10, 'before');
    await ban(accountIdOf(banned.installId), { reason: 'cheated' }, { scripts: origin.scripts, now: closed.now });
    for (const [who, code] of [
      [deleted, 'account_deleted'],
      [banned, 'account_banned'],
    ] as const) {
      for (const operation of ['credit', 'purchase', 'debit'])
        expect((await closed.post(`/v1/coins/${operation}`, { ...who, coins: 1, key: 'a' }, { bearer: token })).body.error.code).toBe(code);
      await expect(origin.adjust(who, 1, 'a')).rejects.toMatchObject({ code });
    }
    expect([await origin.linesOf(deleted), await origin.linesOf(banned)]).toEqual([[], [expect.any(String)]]);
  });
});

test('who can mint coins is in the answer of /ready and in one line of the log at the start', async () => {
  const line = 'server: only server keys with the scope coins, and operators, can mint coins';
  expect((await closed.get('/ready')).body.coinAuthority).toBe(line);
  const said = logLines.map((text) => JSON.parse(text) as { msg: string }).filter(({ msg }) => msg.includes('mint'));
  expect(said.map(({ msg }) => msg)).toEqual([`who can mint coins: ${line}`]);
});

test.each([
  [0, [], 'client: every client can mint coins for its own account'],
  [500, [], 'client: every client can mint coins for its own account, up to 500 a UTC day'],
  [0, ['credit', 'highscores'], 'client: every client of a proven install can mint coins for its own account'],
  [0, ['highscores'], 'client: every client can mint coins for its own account'],
] as const)('with a cap of %i and proofs for %j: %s', (CREDIT_DAILY_CAP, proofs, line) => {
  expect(whoMintsCoins({ COIN_AUTHORITY: 'client', CREDIT_DAILY_CAP, REQUIRE_INSTALL_PROOF: [...proofs] })).toBe(line);
});
