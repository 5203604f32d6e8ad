import { describe, expect, test } from 'vitest';
import { api } from '../../../src/api.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey, standingKey, signedOutKey } from '../../../src/accounts/account-keys.ts';
import { TokenSigner } from '../../../src/server/identity/signed-token.ts';
import { forFile, freshId, request, signIn, start, testKeys } from '../../harness.ts';
import { signInToStore } from '../../store.ts';
import { pair } from './paired.ts';

const DAY_MS = 86_400_000;

const service = await forFile(start());

const logout = (cookies?: string) => service.post('/v1/logout', {}, cookies === undefined ? {} : { cookies });
const isSignedIn = async (cookies: string, on = service): Promise<boolean> => (await on.get('/v1/session', { cookies })).body.authenticated;

describe('POST /v1/logout', () => {
  test('ends the session and clears the cookie', async () => {
    const cookies = await signIn(service, freshId());
    expect(await isSignedIn(cookies)).toBe(true);
    const { status, body, setCookies } = await logout(cookies);
    expect([status, body]).toEqual([200, { ok: true }]);
    expect(setCookies).toEqual(['svc_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax']);
    expect(await isSignedIn(cookies)).toBe(false);
  });

  test('answers 200 without a session, and when repeated, many times at once', async () => {
    expect((await logout()).body).toEqual({ ok: true });
    expect((await logout('svc_session=forged')).body).toEqual({ ok: true });
    const cookies = await signIn(service, freshId());
    const replies = await Promise.all(Array.from({ length: 20 }, () => logout(cookies)));
    for (const { body } of replies) expect(body).toEqual({ ok: true });
    expect(await isSignedIn(cookies)).toBe(false);
  });

  test('accepts a request without a body', async () => {
    const cookies = await signIn(service, freshId());
    expect((await request(service.url, '/v1/logout', { method: 'POST', cookies })).body).toEqual({ ok: true });
    expect(await isSignedIn(cookies)).toBe(false);
  });

  test('keeps other sessions of the account, and the account can sign in again', async () => {
    const installId = freshId();
    const [first, second] = [await signIn(service, installId), await signIn(service, installId)];
    await logout(first);
    expect(await isSignedIn(second)).toBe(true);
    expect(await isSignedIn(await signIn(service, installId))).toBe(true);
    expect(await isSignedIn(first)).toBe(false);
  });
});

describe('a logout with several processes on one Redis', () => {
  test('no write sent after the logout was answered succeeds', async () => {
    await using other = await start();
    const installId = freshId();
    const cookies = await signIn(service, installId);
    let loggedOut = false;
    const late: number[] = [];
    const writing = Promise.all(
      Array.from({ length: 20 }, async (_, writer) => {
        for (let index = 0; index < 15; index++) {
          const sentAfter = loggedOut;
          const { status } = await other.post('/v1/coins/credit', { coins: 1, key: `${writer}-${index}` }, { cookies });
          if (sentAfter) late.push(status);
        }
      }),
    );
    await logout(cookies);
    loggedOut = true;
    await writing;
    expect(late.length).toBeGreaterThan(0);
    expect(new Set(late)).toEqual(new Set([401]));
  });

  test('no endpoint renews a signed-out cookie', async () => {
    await using other = await start();
    const installId = freshId();
    const cookies = await signIn(service, installId);
    await logout(cookies);
    other.advance(20 * DAY_MS);
    const asked = api.filter(({ method, caller, params }) => method === 'GET' && caller !== 'none' && params === undefined);
    expect(asked.length).toBeGreaterThan(2);
    for (const { path } of asked) expect((await other.get(path, { cookies })).setCookies).toEqual([]);
    expect((await other.post('/v1/coins/credit', { installId, coins: 1, key: 'a' }, { cookies })).setCookies).toEqual([]);
  });

  test('Redis remembers the logout as long as the cookie could live', async () => {
    const installId = freshId();
    const cookies = await signIn(service, installId);
    await logout(cookies);
    const { jti } = JSON.parse(Buffer.from(cookies.split('.')[1]!, 'base64url').toString()) as { jti: string };
    const ttlSeconds = await service.service.redis.ttl(signedOutKey(accountIdOf(installId), jti));
    expect(ttlSeconds).toBeGreaterThan(30 * 86_400 - 10);
    expect(ttlSeconds).toBeLessThanOrEqual(30 * 86_400);
  });
});

describe('POST /v1/logout with everywhere', () => {
  const everywhere = (cookies: string, on = service) => on.post('/v1/logout', { everywhere: true }, { cookies });

  test('ends all sessions of the account on every process at once, and keeps those of other accounts', async () => {
    await using other = await start();
    const [installId, stranger] = [freshId(), freshId()];
    const sessions = [await signIn(service, installId), await signIn(other, installId), await signIn(service, installId)];
    const strangers = await signIn(other, stranger);
    // Makes both processes remember the sessions as verified.
    for (const on of [service, other]) for (const cookies of sessions) expect(await isSignedIn(cookies, on)).toBe(true);
    const { status, body, setCookies } = await everywhere(sessions[0]!);
    expect([status, body, setCookies]).toEqual([200, { ok: true }, ['svc_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax']]);
    for (const on of [other, service]) {
      for (const cookies of sessions) {
        const write = await on.post('/v1/coins/credit', { coins: 5, key: 'a' }, { cookies });
        expect([write.status, write.body.error.code]).toEqual([401, 'identity_required']);
        expect(await isSignedIn(cookies, on)).toBe(false);
      }
      expect(await isSignedIn(strangers, on)).toBe(true);
    }
  });

  test('later sessions stand until the next logout everywhere', async () => {
    const installId = freshId();
    const generations = [];
    for (let round = 0; round < 3; round++) {
      const [one, two] = [await signIn(service, installId), await signIn(service, installId)];
      for (const ended of generations) expect(await isSignedIn(ended)).toBe(false);
      expect([await isSignedIn(one), await isSignedIn(two)]).toEqual([true, true]);
      await everywhere(one);
      generations.push(one, two);
    }
    expect((await service.get(`/v1/balance?installId=${installId}`)).status).toBe(200);
  });

  test('ends the sessions of a store account, which keeps the keys and coins of its guests', async () => {
    const installId = freshId();
    await service.post('/v1/coins/credit', { installId, coins: 5, key: 'guest' });
    const subject = freshId('subject');
    const first = await signInToStore(service, subject, { installId });
    await everywhere(first.cookies);
    expect(await isSignedIn(first.cookies)).toBe(false);
    const late = freshId();
    await service.post('/v1/coins/credit', { installId: late, coins: 7, key: 'late' });
    // A sign-in, with or without a guest that moves in, belongs to the current session generation.
    const second = await signInToStore(service, subject, { installId: late });
    const third = await signInToStore(service, subject);
    for (const { cookies } of [second, third]) expect(await isSignedIn(cookies)).toBe(true);
    for (const [key, coins] of [
      ['guest', 5],
      ['late', 7],
    ] as const) {
      const { body } = await service.post('/v1/coins/credit', { coins, key }, { cookies: third.cookies });
      expect(body).toMatchObject({ replayed: true, balanceCoins: 12 });
    }
    await everywhere(second.cookies);
    expect([await isSignedIn(second.cookies), await isSignedIn(third.cookies)]).toEqual([false, false]);
    const record = await service.service.redis.get(standingKey(third.body.accountId));
    // `#2`: the session generation. `2=`: the guest's ledger has two entries, indexed with the account's own.
    expect(record).toBe(`#2\n${accountIdOf(installId)} 2=\n${accountIdOf(late)} 2=\n`);
  });

  test('ends the session of a pairing that was claimed before it, even when the browser fetches it later', async () => {
    const installId = freshId();
    const cookies = await signIn(service, installId);
    const pairings = [await service.post('/v1/pair/new'), await service.post('/v1/pair/new')];
    const [before, after] = pairings as [(typeof pairings)[0], (typeof pairings)[0]];
    await service.post('/v1/pair/claim', { token: before.body.token }, { cookies });
    await everywhere(cookies);
    await service.post('/v1/pair/claim', { token: after.body.token, installId });
    const sessionOf = async ({ body, cookies: held }: typeof before): Promise<string> =>
      (await service.get(`/v1/pair/status?token=${body.token}`, { cookies: held })).cookies[0]!;
    expect([await isSignedIn(await sessionOf(before)), await isSignedIn(await sessionOf(after))]).toEqual([false, true]);
  });

  test('ends renewed cookies too, and concurrent renewals bring no session back', async () => {
    await using later = await start();
    const installId = freshId();
    const old = await signIn(later, installId);
    later.advance(16 * DAY_MS);
    const { cookies: renewed } = await later.get('/v1/session', { cookies: old });
    const [, ...replies] = await Promise.all([
      everywhere(renewed[0]!, later),
      ...Array.from({ length: 30 }, () => later.get('/v1/session', { cookies: old })),
    ]);
    for (const cookies of [old, renewed[0]!, ...replies.flatMap((reply) => reply.cookies)])
      expect(await isSignedIn(cookies, later)).toBe(false);
  });

  test('with an ended session it is 200, as for a repetition, and ends no other session', async () => {
    const installId = freshId();
    const [stolen, own] = [await signIn(service, installId), await signIn(service, installId)];
    await logout(stolen);
    await using other = await start();
    for (const on of [service, other]) expect((await everywhere(stolen, on)).status).toBe(200);
    expect(await isSignedIn(own)).toBe(true);
  });

  test.each<[string, object]>([
    ['no credential', {}],
    ['a forged cookie', { cookies: 'svc_session=forged' }],
    ['a forged bearer', { bearer: 'a.b.c' }],
  ])('with %s it is identity_required, and without everywhere 200', async (_what, options) => {
    const { status, body } = await service.post('/v1/logout', { everywhere: true }, options);
    expect([status, body.error.code]).toEqual([401, 'identity_required']);
    expect((await service.post('/v1/logout', {}, options)).status).toBe(200);
  });

  test.each(['body', 'header'])('without a session the installId of the %s names the account', async (place) => {
    const installId = freshId();
    const sessions = [await signIn(service, installId), await signIn(service, installId)];
    const strangers = await signIn(service, freshId());
    const send = (cookies?: string) =>
      service.post(
        '/v1/logout',
        { everywhere: true, ...(place === 'body' ? { installId } : {}) },
        {
          ...(place === 'body' ? {} : { headers: { 'x-install-id': installId } }),
          ...(cookies === undefined ? {} : { cookies }),
        },
      );
    // A session outranks the installId, and plain logout ends nothing by an installId.
    expect((await send(strangers)).status).toBe(200);
    expect(await isSignedIn(strangers)).toBe(false);
    expect((await service.post('/v1/logout', { installId })).status).toBe(200);
    for (const cookies of sessions) expect(await isSignedIn(cookies)).toBe(true);
    expect([(await send()).status, (await send()).status]).toEqual([200, 200]);
    for (const cookies of sessions) expect(await isSignedIn(cookies)).toBe(false);
    // A cookie that has ended counts as not sent.
    const later = await signIn(service, installId);
    expect((await send(sessions[0])).status).toBe(200);
    expect(await isSignedIn(later)).toBe(false);
  });

  test('with an installId that was never seen it is 200, and creates nothing', async () => {
    const installId = freshId();
    expect((await service.post('/v1/logout', { everywhere: true, installId })).body).toEqual({ ok: true });
    expect(await service.service.redis.exists(standingKey(accountIdOf(installId)))).toBe(0);
    expect(await service.service.redis.exists(accountKey(accountIdOf(installId)))).toBe(0);
  });

  test('with an installId or a session that moved it is 200, and ends nothing of the account that it moved to', async () => {
    const installId = freshId();
    const guest = await signIn(service, installId);
    const { cookies, body } = await signInToStore(service, freshId('subject'), { installId });
    expect(body.moved).toBe(true);
    expect((await service.post('/v1/logout', { everywhere: true, installId })).body).toEqual({ ok: true });
    expect((await everywhere(guest)).body).toEqual({ ok: true });
    expect(await isSignedIn(cookies)).toBe(true);
  });

  test('with a session from a pairing it is forbidden, and ends nothing', async () => {
    const installId = freshId();
    const phone = await signIn(service, installId);
    const { cookies: paired } = await pair(service, { installId });
    for (const more of [{}, { installId }]) {
      const { status, body } = await service.post('/v1/logout', { everywhere: true, ...more }, { cookies: paired });
      expect([status, body.error.code, body.error.message]).toEqual([403, 'forbidden', expect.stringContaining('without everywhere')]);
    }
    expect([await isSignedIn(phone), await isSignedIn(paired)]).toEqual([true, true]);
    expect((await logout(paired)).status).toBe(200);
    expect([await isSignedIn(phone), await isSignedIn(paired)]).toEqual([true, false]);
    // Ended, it counts as not sent.
    expect((await everywhere(paired)).body).toEqual({ ok: true });
    expect(await isSignedIn(phone)).toBe(true);
  });

  test('20 concurrent requests end all sessions', async () => {
    const installId = freshId();
    const sessions = await Promise.all(Array.from({ length: 20 }, () => signIn(service, installId)));
    const replies = await Promise.all(sessions.map((cookies) => everywhere(cookies)));
    expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(200));
    for (const cookies of sessions) expect(await isSignedIn(cookies)).toBe(false);
    expect(await isSignedIn(await signIn(service, installId))).toBe(true);
  });

  test('ends sessions of versions without session generations', async () => {
    const installId = freshId();
    const { accountId } = (await service.post('/v1/account/resolve', { installId })).body;
    const now = service.now();
    const claims = { subject: accountId, id: 'sixteen-letters!'.slice(0, 15), issuedAt: now, expiresAt: now + DAY_MS };
    const cookies = `svc_session=${await new TokenSigner(testKeys).sign('session', claims)}`;
    expect(await isSignedIn(cookies)).toBe(true);
    await everywhere(await signIn(service, installId));
    expect(await isSignedIn(cookies)).toBe(false);
  });
});
