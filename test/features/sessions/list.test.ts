import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { MOST_SESSIONS, sessionsKey } from '../../../src/accounts/session-list.ts';
import { codeOf, forFile, freshId, signIn, start } from '../../harness.ts';
import { deleteAccount, signInToStore } from '../../store.ts';
import { areSignedIn, isSignedIn, listOf, pair, phoneWithBrowsers } from './paired.ts';

const DAY_MS = 86_400_000;

const service = await forFile(start());
const other = await forFile(start());

const agentsOf = async (cookies: string): Promise<string[]> => (await listOf(service, cookies)).map(({ userAgent }) => userAgent);
const listFor = async (installId: string, on = service) =>
  (await on.get('/v1/sessions', { headers: { 'x-install-id': installId } })).body.sessions;

describe('GET /v1/sessions', () => {
  test('lists paired browsers newest first, and marks the session of the request', async () => {
    const { installId, phone, first } = await phoneWithBrowsers(service);
    const listed = (userAgent: string, current: boolean, kind = 'pairing') => ({
      id: expect.stringMatching(/^0\.[\w-]{16}$/),
      kind,
      createdAt: expect.stringMatching(/^2\d{3}-.*Z$/),
      lastSeenAt: expect.stringMatching(/^2\d{3}-.*Z$/),
      userAgent,
      current,
    });
    const own = { ...listed('node', true, 'login'), userAgent: expect.any(String) };
    expect(await listOf(service, phone)).toEqual([listed('Second', false), listed('First', false), own]);
    expect(await listOf(service, first)).toEqual([listed('Second', false), listed('First', true)]);
    const byInstall = await listFor(installId);
    expect(byInstall).toEqual([listed('Second', false), listed('First', false)]);
    expect((await service.get(`/v1/sessions?installId=${installId}`)).body.sessions).toEqual(byInstall);
    expect(await isSignedIn(service, `svc_session=${byInstall[0].id}`)).toBe(false);
  });

  test('lists sign-ins with the app store, those that moved a guest too', async () => {
    const [subject, installId] = [freshId('user'), freshId()];
    const guest = await pair(service, { installId });
    const moved = await signInToStore(service, subject, { installId });
    expect(await listOf(service, moved.cookies)).toMatchObject([{ kind: 'store', current: true }]);
    service.advance(1000);
    await signInToStore(service, subject);
    expect(await listOf(service, moved.cookies)).toMatchObject([
      { kind: 'store', current: false },
      { kind: 'store', current: true },
    ]);
    // The sessions of the guest ended with the move, and are in no list.
    expect(codeOf(await service.get('/v1/sessions', { cookies: guest.cookies }))).toBe('401 sign_in_required');
    expect(await service.service.redis.exists(sessionsKey(accountIdOf(installId)))).toBe(0);
  });

  test('a signed-out session leaves the list, and a logout everywhere empties it', async () => {
    const { phone, first } = await phoneWithBrowsers(service);
    await other.post('/v1/logout', {}, { cookies: first });
    expect((await agentsOf(phone)).slice(0, -1)).toEqual(['Second']);
    const { installId, phone: later } = await phoneWithBrowsers(service);
    await service.post('/v1/logout', { everywhere: true }, { cookies: later });
    expect(await listOf(service, await signIn(service, installId))).toMatchObject([{ kind: 'login', current: true }]);
    expect(await listFor(installId)).toEqual([]);
  });

  test('the claimed status lists the session once, for the asking browser only, and not again after a crash', async () => {
    const installId = freshId();
    const pairing = await service.post('/v1/pair/new');
    const { token } = pairing.body;
    const status = (cookies = pairing.cookies, on = service, method = 'GET') =>
      on.get(`/v1/pair/status?token=${token}`, { cookies, method });
    await service.post('/v1/pair/claim', { token, installId });
    await status([]);
    await status(pairing.cookies, service, 'HEAD');
    expect(await listFor(installId)).toHaveLength(0);
    await Promise.all([service, other, other].map((on) => status(pairing.cookies, on)));
    expect(await listFor(installId)).toHaveLength(1);
    // The state after a process has died before it noted that the browser has its session.
    const died = () => service.service.redis.hdel(`{pair:${token}}`, 'delivered');
    await died();
    const { cookies } = await status();
    expect(await listOf(service, cookies[0]!)).toMatchObject([{ current: true }]);
    // The owner has ended the session meanwhile.
    await service.post('/v1/logout', {}, { cookies });
    await died();
    expect(await isSignedIn(service, (await status()).cookies[0]!)).toBe(false);
    expect(await listFor(installId)).toEqual([]);
  });

  test(`holds ${MOST_SESSIONS} sessions: one more ends the oldest of its kind`, async () => {
    const subject = freshId('user');
    const { cookies: owner, body } = await signInToStore(service, subject);
    const pairs = (names: readonly string[]) => {
      service.advance(1000);
      return Promise.all(names.map(async (name) => (await pair(service, { cookies: owner }, name)).cookies));
    };
    const many = Array.from({ length: MOST_SESSIONS - 4 }, (_, index) => `Many ${index}`);
    const browsers: string[] = [];
    for (const names of [['First'], ['Second'], ['Third'], many, ['Last']]) browsers.push(...(await pairs(names)));
    // The sign-in with the app store is the oldest session, but stays: a thief's pairings end only pairings.
    expect(await areSignedIn(other, [owner, browsers[0]!, browsers[1]!])).toEqual([true, false, true]);
    const sessions = await listOf(service, owner);
    const names = sessions.map(({ userAgent, kind }) => (kind === 'pairing' ? userAgent : kind));
    expect([names[0], ...names.slice(-3)]).toEqual(['Last', 'Third', 'Second', 'store']);
    expect(names.slice(1, -3).toSorted()).toEqual(many.toSorted());
    expect(await service.service.redis.hlen(sessionsKey(body.accountId))).toBe(MOST_SESSIONS);
    // Ended sessions are dropped first.
    await service.post('/v1/logout', {}, { cookies: browsers[2]! });
    await pair(service, { cookies: owner }, 'Newest');
    expect(await isSignedIn(other, browsers[1]!)).toBe(true);
    // With all kinds of sessions, the list does not get longer either.
    const login = await signInToStore(service, subject);
    expect((await listOf(service, login.cookies)).length).toBeLessThanOrEqual(MOST_SESSIONS);
  });

  test('pairings that were claimed with the session of a pairing end each other, and no session of the owner', async () => {
    const installId = freshId();
    const owned = await Promise.all(Array.from({ length: MOST_SESSIONS - 1 }, () => pair(service, { installId })));
    const thief = owned[0]!.cookies;
    const passed: string[] = [];
    const pass = async (cookies: string) => {
      service.advance(1000);
      passed.push((await pair(service, { cookies }, `Passed ${passed.length}`)).cookies);
    };
    await pass(thief);
    await pass(thief);
    // The same with the session of a pairing that was itself passed on.
    await pass(passed[1]!);
    expect(await areSignedIn(other, passed)).toEqual([false, false, true]);
    const ofOwner = owned.map(({ cookies }) => cookies);
    expect(await areSignedIn(other, ofOwner)).toEqual(ofOwner.map(() => true));
    expect(await listOf(service, thief)).toMatchObject([
      { kind: 'pairing', userAgent: 'Passed 2' },
      ...owned.map(() => ({ kind: 'pairing' })),
    ]);
    // A browser that the owner signs in replaces the passed-on session too.
    service.advance(1000);
    await pair(service, { installId });
    expect(await areSignedIn(other, [...passed, thief])).toEqual([false, false, false, true]);
  });
});

describe('a listed session', () => {
  test('that is renewed stays in the list as long as it lives', async () => {
    await using later = await start();
    const { cookies } = await pair(later, { installId: freshId() });
    later.advance(16 * DAY_MS);
    // Any endpoint renews a cookie.
    const [renewed] = (await later.get('/v1/balance', { cookies })).cookies;
    expect(renewed).toMatch(/^svc_session=/);
    later.advance(16 * DAY_MS);
    expect(await isSignedIn(later, cookies)).toBe(false);
    const [own] = await listOf(later, renewed!);
    expect(own).toMatchObject({ kind: 'pairing', current: true, userAgent: 'Browser/1.0' });
    expect(Date.parse(own.lastSeenAt) - Date.parse(own.createdAt)).toBeGreaterThan(15 * DAY_MS);
  });

  test('as a bearer is kept by GET /v1/session', async () => {
    await using later = await start();
    const pairing = await later.post('/v1/pair/new', { session: 'token' });
    const { token, secret } = pairing.body;
    const installId = freshId();
    await later.post('/v1/pair/claim', { token, installId });
    const { sessionToken } = (await later.get(`/v1/pair/status?token=${token}`, { headers: { 'x-pair-secret': secret } })).body;
    later.advance(16 * DAY_MS);
    const renewed = (await later.get('/v1/session', { bearer: sessionToken })).body.sessionToken;
    later.advance(16 * DAY_MS);
    expect(await listFor(installId, later)).toHaveLength(1);
    expect((await later.get('/v1/session', { bearer: renewed })).body.authenticated).toBe(true);
  });

  test('is in the export of its account, and goes with a deletion', async () => {
    const { installId, phone } = await phoneWithBrowsers(service);
    const { sessions } = (await service.get('/v1/account/export', { cookies: phone })).body;
    expect(sessions.map(({ userAgent }: { userAgent: string }) => userAgent).toSorted()).toEqual(['First', 'Second']);
    await deleteAccount(service, { installId });
    await expect.poll(() => service.service.redis.exists(sessionsKey(accountIdOf(installId)))).toBe(0);
  });
});
