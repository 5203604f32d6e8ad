import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { standingKey } from '../../../src/accounts/account-keys.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { expectCommands } from '../../round-trips.ts';

const service = await forFile(start());

const open = async (cookies: string[] = []): Promise<{ token: string; cookies: string[] }> => {
  const reply = await service.post('/v1/pair/new', {}, { cookies });
  return { token: reply.body.token, cookies: reply.cookies };
};

const claim = async (token: string, installId = freshId(), step?: string): Promise<void> => {
  expect((await service.post('/v1/pair/claim', { token, installId, step })).status).toBe(200);
};

const poll = (token: string, cookies: string[] = []) => service.get(`/v1/pair/status?token=${token}`, { cookies });

describe('GET /v1/pair/status', () => {
  test('the status goes from pending to scanned to claimed', async () => {
    const { token } = await open();
    const installId = freshId();
    expect((await poll(token)).body).toEqual({ ok: true, status: 'pending' });
    await claim(token, installId, 'scan');
    expect((await poll(token)).body).toEqual({ ok: true, status: 'scanned' });
    await claim(token, installId, 'confirm');
    expect((await poll(token)).body).toEqual({ ok: true, status: 'claimed' });
  });

  test('a denied pairing stays denied after its time', async () => {
    const { token, cookies } = await open();
    const installId = freshId();
    for (const step of ['scan', 'deny']) await claim(token, installId, step);
    const denied = await poll(token, cookies);
    expect([denied.body, denied.setCookies]).toEqual([{ ok: true, status: 'denied' }, []]);
    service.advance(180_000);
    expect((await poll(token)).body.status).toBe('denied');
  });

  test('signs the asking browser in to the account that claimed', async () => {
    const { token, cookies } = await open();
    const installId = freshId();
    await service.post('/v1/coins/credit', { installId, coins: 42, key: 'a' });
    await claim(token, installId);
    const { body, setCookies, cookies: given } = await poll(token, cookies);
    expect(body).toEqual({ ok: true, status: 'claimed', claimedBy: {} });
    expect(setCookies).toEqual([expect.stringMatching(/^svc_session=[^;]+; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/)]);
    const { accountId } = (await service.post('/v1/account/resolve', { installId })).body;
    expect((await service.get('/v1/session', { cookies: given })).body).toMatchObject({ authenticated: true, accountId });
    expect((await service.get('/v1/balance', { cookies: given })).body.balanceCoins).toBe(42);
  });

  test('gives the session cookie once', async () => {
    const { token, cookies } = await open();
    expect((await poll(token, cookies)).setCookies).toEqual([]);
    await claim(token);
    expect((await poll(token, cookies)).setCookies).toHaveLength(1);
    const again = await poll(token, cookies);
    expect([again.body, again.setCookies]).toEqual([{ ok: true, status: 'claimed', claimedBy: {} }, []]);
  });

  test('gives no session to a browser without the secret, and still gives it to the asking browser', async () => {
    const { token, cookies } = await open();
    const other = await open();
    await claim(token);
    const strangers = [
      [],
      other.cookies,
      [`${cookies[0]!.slice(0, -1)}!`],
      [`svc_pair=${'A'.repeat(32)}`],
      ['svc_pair='],
      ['svc_pair=.'],
      // Two svc_pair cookies, one planted by a sibling domain: the service cannot tell them apart and trusts neither.
      [cookies[0]!, other.cookies[0]!],
    ];
    for (const held of strangers) {
      const { body, setCookies } = await poll(token, held);
      expect([body, setCookies]).toEqual([{ ok: true, status: 'claimed' }, []]);
    }
    expect((await poll(token, cookies)).setCookies).toHaveLength(1);
  });

  test('gives no session for the hash of the secret, which Redis holds', async () => {
    const { token } = await open();
    await claim(token);
    const kept = await service.service.redis.hget(`{pair:${token}}`, 'secretHash');
    expect((await poll(token, [`svc_pair=${kept}`])).setCookies).toEqual([]);
  });

  test('a browser can complete two pairings from two tabs', async () => {
    const first = await open();
    const second = await open(first.cookies);
    await claim(first.token);
    await claim(second.token);
    expect((await poll(first.token, second.cookies)).setCookies).toHaveLength(1);
    expect((await poll(second.token, second.cookies)).setCookies).toHaveLength(1);
  });

  test.each(['pending', 'scanned'])('a %s pairing expires after 180 s and is deleted ten minutes later', async (status) => {
    const { token } = await open();
    if (status === 'scanned') await claim(token, freshId(), 'scan');
    service.advance(175_000);
    expect((await poll(token)).body.status).toBe(status);
    service.advance(5_000);
    expect((await poll(token)).body.status).toBe('expired');
    service.advance(595_000);
    expect((await poll(token)).body.status).toBe('expired');
    service.advance(5_000);
    const gone = await poll(token);
    expect([gone.status, gone.body.error.code]).toEqual([404, 'pair_not_found']);
  });

  test('a claimed pairing gives its session to a late poll until it is deleted', async () => {
    const [late, later] = [await open(), await open()];
    await claim(late.token);
    await claim(later.token);
    service.advance(775_000);
    const reply = await poll(late.token, late.cookies);
    expect([reply.body.status, reply.setCookies.length]).toEqual(['claimed', 1]);
    service.advance(5_000);
    const gone = await poll(later.token, later.cookies);
    expect([gone.status, gone.setCookies]).toEqual([404, []]);
  });

  test.each(['A'.repeat(24), '%7D%7Bpair:x', '%00'])('the unknown token %.30s is answered with pair_not_found', async (token) => {
    const { status, body } = await poll(token);
    expect([status, body.error.code]).toEqual([404, 'pair_not_found']);
  });

  test.each(['/v1/pair/status', '/v1/pair/status?token='])('%s is refused, and the error names the token', async (path) => {
    const { status, body } = await service.get(path);
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'token']);
  });

  test('an address that guesses tokens is rate-limited, also for an existing token', async () => {
    await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_MISSES_PER_MINUTE: '3' } });
    const { token } = (await limited.post('/v1/pair/new')).body;
    const codes = [];
    for (let round = 0; round < 3; round++) codes.push((await limited.get(`/v1/pair/status?token=guess-${round}`)).body.error.code);
    expect(codes).toEqual(['pair_not_found', 'pair_not_found', 'pair_not_found']);
    const { status, body, headers } = await limited.get(`/v1/pair/status?token=${token}`);
    expect([status, body.error.code]).toEqual([429, 'rate_limited']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('a claim has ended once its guest moved, also for the asking browser', async () => {
    const installId = freshId();
    const { token, cookies } = await open();
    await claim(token, installId);
    expect((await poll(token)).body.status).toBe('claimed');
    await service.service.redis.set(standingKey(accountIdOf(installId)), '>some-account');
    const ended = await poll(token, cookies);
    expect([ended.body.status, ended.setCookies]).toEqual(['expired', []]);
    await service.service.redis.del(standingKey(accountIdOf(installId)));
    expect((await poll(token, cookies)).body.status).toBe('expired');
  });

  test('a session of the current generation is given although guests moved into the account', async () => {
    const installId = freshId();
    await service.service.redis.set(standingKey(accountIdOf(installId)), '#2\nsome-guest 3=\n');
    const { token, cookies } = await open();
    await claim(token, installId);
    const { cookies: given } = await poll(token, cookies);
    expect((await service.get('/v1/session', { cookies: given })).body).toMatchObject({ authenticated: true });
  });
});

test('a poll costs one round trip to Redis; where the claim has to be checked it costs three', async () => {
  await using redis = await startRedis();
  await using own = await start({ redis: redis.location });
  const pair = async (warm: boolean) => {
    const { body, cookies } = await own.post('/v1/pair/new');
    if (warm) await own.post('/v1/pair/claim', { token: body.token, installId: freshId() });
    return { cookies, ask: () => own.get(`/v1/pair/status?token=${body.token}`, { cookies }), token: body.token };
  };
  // Redis knows all scripts from here on.
  await (await pair(true)).ask();
  const [pending, claimed] = [await pair(false), await pair(true)];
  await expectCommands(own, [
    [pending.ask, ['evalsha']],
    [claimed.ask, ['evalsha', 'evalsha', 'evalsha']],
    [claimed.ask, ['evalsha']],
  ]);
});
