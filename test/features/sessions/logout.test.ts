import { describe, expect, test } from 'vitest';
import { api } from '../../../src/api.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { accountKey, standingKey, signedOutKey } from '../../../src/accounts/account-keys.ts';
import { codeOf, forFile, freshId, request, signIn, start, type RequestOptions } from '../../harness.ts';
import { signInToStore } from '../../store.ts';
import { areSignedIn, isSignedIn, pair } from './paired.ts';

const DAY_MS = 86_400_000;

const service = await forFile(start());
const other = await forFile(start());

const logout = (cookies: string, more = {}, on = service) => on.post('/v1/logout', more, { cookies });
const signedIn = (sessions: readonly string[], on = service) => areSignedIn(on, sessions);
const signIns = (installId: string, count: number) => Promise.all(Array.from({ length: count }, () => signIn(service, installId)));
const CLEARED = ['svc_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax'];

describe('POST /v1/logout', () => {
  test('ends the session alone and clears the cookie, also when it is sent 20 times at once and without a body', async () => {
    const installId = freshId();
    const [first, second] = (await signIns(installId, 2)) as [string, string];
    const replies = await Promise.all(Array.from({ length: 20 }, () => logout(first)));
    replies.push(await request(service.url, '/v1/logout', { method: 'POST', cookies: first }));
    for (const { status, body, setCookies } of replies) expect([status, body, setCookies]).toEqual([200, { ok: true }, CLEARED]);
    expect(await signedIn([first, second, await signIn(service, installId)])).toEqual([false, true, true]);
  });

  test('no write to another process that is sent after the answer succeeds', async () => {
    const cookies = await signIn(service, freshId());
    let loggedOut = false;
    const late: number[] = [];
    const writing = Promise.all(
      Array.from({ length: 20 }, async (_, writer) => {
        // The last two writes of each writer follow the answer.
        for (let index = 0, left = 2; left > 0; index++) {
          const sentAfter = loggedOut;
          const { status } = await other.post('/v1/coins/credit', { coins: 1, key: `${writer}-${index}` }, { cookies });
          if (!sentAfter) continue;
          late.push(status);
          left--;
        }
      }),
    );
    await logout(cookies);
    loggedOut = true;
    await writing;
    expect(late).toEqual(Array(40).fill(401));
  });

  test('no endpoint renews a signed-out cookie, and Redis remembers it as long as it could live', async () => {
    await using later = await start();
    const installId = freshId();
    const cookies = await signIn(service, installId);
    await logout(cookies);
    later.advance(20 * DAY_MS);
    const asked = api.filter(({ method, caller, params }) => method === 'GET' && caller !== 'none' && params === undefined);
    expect(asked.length).toBeGreaterThan(2);
    for (const { path } of asked) expect((await later.get(path, { cookies })).setCookies).toEqual([]);
    expect((await later.post('/v1/coins/credit', { installId, coins: 1, key: 'a' }, { cookies })).setCookies).toEqual([]);
    const { jti } = JSON.parse(Buffer.from(cookies.split('.')[1]!, 'base64url').toString()) as { jti: string };
    const ttlSeconds = await service.service.redis.ttl(signedOutKey(accountIdOf(installId), jti));
    expect(ttlSeconds).toBeGreaterThan(30 * 86_400 - 100);
    expect(ttlSeconds).toBeLessThanOrEqual(30 * 86_400);
  });
});

describe('POST /v1/logout with everywhere', () => {
  const everywhere = (cookies: string, on = service) => logout(cookies, { everywhere: true }, on);

  test('ends all sessions of the account on every process at once, and keeps those of other accounts', async () => {
    const installId = freshId();
    const strangers = await signIn(other, freshId());
    for (let round = 0; round < 2; round++) {
      const sessions = await signIns(installId, 20);
      // Makes both processes remember the sessions as verified.
      for (const on of [service, other]) expect(await signedIn([strangers, ...sessions], on)).toEqual(Array(21).fill(true));
      for (const { status, setCookies } of await Promise.all(sessions.map((cookies) => everywhere(cookies))))
        expect([status, setCookies]).toEqual([200, CLEARED]);
      for (const on of [other, service]) {
        const write = await on.post('/v1/coins/credit', { coins: 5, key: 'a' }, { cookies: sessions[0]! });
        expect(codeOf(write)).toBe('401 identity_required');
        expect(await signedIn([strangers, ...sessions], on)).toEqual([true, ...Array(20).fill(false)]);
      }
    }
  });

  test('ends the sessions of a store account, which keeps the keys and coins of its guests', async () => {
    const [installId, late, subject] = [freshId(), freshId(), freshId('subject')];
    await service.post('/v1/coins/credit', { installId, coins: 5, key: 'guest' });
    const first = await signInToStore(service, subject, { installId });
    await everywhere(first.cookies);
    await service.post('/v1/coins/credit', { installId: late, coins: 7, key: 'late' });
    // A sign-in, with or without a guest that moves in, belongs to the current session generation.
    const second = await signInToStore(service, subject, { installId: late });
    const { cookies, body } = await signInToStore(service, subject);
    expect(await signedIn([first.cookies, second.cookies, cookies])).toEqual([false, true, true]);
    for (const [key, coins] of [
      ['guest', 5],
      ['late', 7],
    ] as const) {
      const replay = await service.post('/v1/coins/credit', { coins, key }, { cookies });
      expect(replay.body).toMatchObject({ replayed: true, balanceCoins: 12 });
    }
    await everywhere(second.cookies);
    expect(await signedIn([second.cookies, cookies])).toEqual([false, false]);
    // `#2`: the session generation. `2=`: the guest's ledger has two entries, indexed with the account's own.
    const record = `#2\n${accountIdOf(installId)} 2=\n${accountIdOf(late)} 2=\n`;
    expect(await service.service.redis.get(standingKey(body.accountId))).toBe(record);
  });

  test('ends the session of a pairing that was claimed before it, even when the browser fetches it later', async () => {
    const installId = freshId();
    const cookies = await signIn(service, installId);
    const pairings = [await service.post('/v1/pair/new'), await service.post('/v1/pair/new')];
    for (const [index, { body }] of pairings.entries()) {
      await service.post('/v1/pair/claim', { token: body.token, installId });
      if (index === 0) await everywhere(cookies);
    }
    const fetched = pairings.map(({ body, cookies: held }) => service.get(`/v1/pair/status?token=${body.token}`, { cookies: held }));
    expect(await signedIn((await Promise.all(fetched)).map((reply) => reply.cookies[0]!))).toEqual([false, true]);
  });

  test('ends renewed cookies too, and concurrent renewals bring no session back', async () => {
    await using later = await start();
    const old = await signIn(later, freshId());
    later.advance(16 * DAY_MS);
    const { cookies: renewed } = await later.get('/v1/session', { cookies: old });
    const [, ...replies] = await Promise.all([
      everywhere(renewed[0]!, later),
      ...Array.from({ length: 30 }, () => later.get('/v1/session', { cookies: old })),
    ]);
    const all = [old, ...renewed, ...replies.flatMap((reply) => reply.cookies)];
    expect(await signedIn(all, later)).toEqual(all.map(() => false));
  });

  test('with an ended session it is 200, as for a repetition, and ends no other session', async () => {
    const [stolen, own] = (await signIns(freshId(), 2)) as [string, string];
    await logout(stolen);
    for (const on of [service, other]) expect((await everywhere(stolen, on)).status).toBe(200);
    expect(await isSignedIn(service, own)).toBe(true);
  });

  test.each<[string, RequestOptions]>([
    ['no credential', {}],
    ['a forged cookie', { cookies: 'svc_session=forged' }],
    ['a forged bearer', { bearer: 'a.b.c' }],
  ])('with %s it is identity_required, and without everywhere 200', async (_what, options) => {
    expect(codeOf(await service.post('/v1/logout', { everywhere: true }, options))).toBe('401 identity_required');
    expect((await service.post('/v1/logout', {}, options)).status).toBe(200);
  });

  test.each(['body', 'header'])('without a session the installId of the %s names the account', async (place) => {
    const installId = freshId();
    const sessions = await signIns(installId, 2);
    const strangers = await signIn(service, freshId());
    const [more, headers] = place === 'body' ? [{ installId }, {}] : [{}, { 'x-install-id': installId }];
    const send = async (options: RequestOptions = {}) =>
      (await service.post('/v1/logout', { everywhere: true, ...more }, { headers, ...options })).status;
    // A session outranks the installId, and plain logout ends nothing by an installId.
    expect(await send({ cookies: strangers })).toBe(200);
    await service.post('/v1/logout', { installId });
    expect(await signedIn([strangers, ...sessions])).toEqual([false, true, true]);
    expect([await send(), await send()]).toEqual([200, 200]);
    // A cookie that has ended counts as not sent.
    const later = await signIn(service, installId);
    expect(await send({ cookies: sessions[0]! })).toBe(200);
    expect(await signedIn([...sessions, later])).toEqual([false, false, false]);
  });

  test('with an installId that was never seen, or one or a session that moved, it is 200 and ends nothing', async () => {
    const [unseen, installId] = [freshId(), freshId()];
    const guest = await signIn(service, installId);
    const { cookies } = await signInToStore(service, freshId('subject'), { installId });
    for (const named of [unseen, installId])
      expect((await service.post('/v1/logout', { everywhere: true, installId: named })).body).toEqual({ ok: true });
    expect((await everywhere(guest)).status).toBe(200);
    expect(await isSignedIn(service, cookies)).toBe(true);
    for (const keyOf of [standingKey, accountKey]) expect(await service.service.redis.exists(keyOf(accountIdOf(unseen)))).toBe(0);
  });

  test('with a session from a pairing it is forbidden, and ends nothing', async () => {
    const installId = freshId();
    const phone = await signIn(service, installId);
    const { cookies: paired } = await pair(service, { installId });
    for (const more of [{}, { installId }]) expect(codeOf(await logout(paired, { everywhere: true, ...more }))).toBe('403 forbidden');
    expect(await signedIn([phone, paired])).toEqual([true, true]);
    expect((await logout(paired)).status).toBe(200);
    // Ended, it counts as not sent.
    expect((await everywhere(paired)).status).toBe(200);
    expect(await signedIn([phone, paired])).toEqual([true, false]);
  });
});
