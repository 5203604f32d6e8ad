import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { TokenSigner } from '../../../src/server/identity/signed-token.ts';
import { codeOf, forFile, freshId, signIn, start, testKeys } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { eventually, watchRoom } from '../../realtime/watcher.ts';
import { balanceOf, issue, provision, signInToStore } from '../../store.ts';
import { isSignedIn, pair as pairAt } from '../sessions/paired.ts';

/**
 * The attack: an attacker photographs the QR code on a victim's screen and claims it with a throw-away installId. The
 * victim's browser is then signed in as that guest, and the victim signs in with the store there. No credential of the guest
 * that the attacker holds may open the victim's account.
 */

const redis = await forFile(startRedis());
/** The process that the victim uses, and the one that the attacker uses. */
const here = await forFile(start({ redis: redis.location }));
const there = await forFile(start({ redis: redis.location }));

const MOVED = '401 sign_in_required';
/** The cookie of a browser that an install has signed in. */
const pair = async (installId: string): Promise<string> => (await pairAt(here, { installId })).cookies;
const credit = (installId: string, coins: number) => there.post('/v1/coins/credit', { installId, coins, key: 'a' });
describe('a guest whose session came from a pairing', () => {
  test('does not move when the browser signs in, and the sign-in succeeds', async () => {
    const throwAway = freshId();
    await credit(throwAway, 5);
    await there.post('/v1/subscription/report', { installId: throwAway, subscribed: true });
    const browser = await pair(throwAway);
    for (const [move, credential] of [
      [undefined, { cookies: browser }],
      [true, { cookies: browser }],
      [undefined, { bearer: browser.slice('svc_session='.length) }],
    ] as const) {
      const { token } = await issue(here, { kind: 'id_token', subject: freshId('victim') });
      const { status, body } = await here.post('/v1/account/store-provision', { token, move, session: 'token' }, credential);
      expect([status, body]).toMatchObject([200, { created: true, moved: false, notMoved: 'from_pairing' }]);
      const bearer = body.sessionToken;
      expect((await here.get('/v1/session', { bearer })).body).toMatchObject({ authenticated: true, accountId: body.accountId });
      expect((await here.get('/v1/balance', { bearer })).body.balanceCoins).toBe(0);
      expect((await here.get('/v1/subscription', { bearer })).body.subscribed).toBe(false);
    }
    expect(await balanceOf(there, { installId: throwAway })).toBe(5);
  });

  test('does not move by a renewed cookie of that session either', async () => {
    await using later = await start({ redis: redis.location });
    const browser = await pair(freshId());
    later.advance(16 * 86_400_000);
    const [renewed] = (await later.get('/v1/session', { cookies: browser })).cookies;
    expect(renewed).toMatch(/^svc_session=/);
    const reply = await provision(later, freshId('victim'), { cookies: renewed! });
    expect(reply.body).toMatchObject({ moved: false, notMoved: 'from_pairing' });
  });

  test('moves when the request has the installId of the guest, in the body or the header', async () => {
    const [named, told] = [freshId(), freshId()];
    for (const guest of [
      { cookies: await pair(named), installId: named },
      { cookies: await pair(told), headers: { 'x-install-id': told } },
    ])
      expect((await provision(here, freshId('user'), guest)).body).toMatchObject({ moved: true });
  });

  test('and the installId of another account moves neither of the two', async () => {
    const [victim, own] = [freshId(), freshId()];
    for (const installId of [victim, own]) await credit(installId, 7);
    const reply = await provision(here, freshId('thief'), { cookies: await pair(victim), installId: own });
    expect([codeOf(reply), reply.body.error.field]).toEqual(['400 invalid_request', 'installId']);
    for (const installId of [victim, own]) expect(await balanceOf(there, { installId })).toBe(7);
  });

  test('but a session that has ended, and an installId that moved, count as not sent', async () => {
    const own = freshId();
    const ended = await pair(freshId());
    await there.post('/v1/logout', {}, { cookies: ended });
    // Once moved, once ignored: after a lost answer the same request signs in again.
    const subject = freshId('user');
    for (const moved of [true, false])
      expect((await provision(here, subject, { cookies: ended, installId: own })).body).toMatchObject({ moved });
    const reply = await provision(here, freshId('user'), { cookies: await pair(freshId()), installId: own });
    expect([reply.status, reply.body]).toMatchObject([200, { moved: false, notMoved: 'from_pairing' }]);
  });
});

test('an attacker whose guest moved because the victim asked for it keeps nothing of it', async () => {
  const throwAway = freshId();
  // Two sessions of the guest, two nonces and a player on a socket, which the attacker holds.
  const [login, other] = [await signIn(there, throwAway), await signIn(there, throwAway)];
  await credit(throwAway, 5);
  const { code } = (await there.post('/v1/rooms', { installId: throwAway, name: 'Eve' })).body.room;
  const player = await watchRoom(there, code);
  await player.hello(throwAway);
  const isConnected = (): boolean => player.last.room.players[0].connected;
  await eventually(isConnected);
  const nonces: string[] = [];
  for (let count = 0; count < 2; count++)
    nonces.push((await there.get(`/v1/account/store-install/nonce?installId=${throwAway}`)).body.nonce);
  // The session that the victim's browser was given. The attacker has planted the installId in the victim's app.
  const browser = await pair(throwAway);
  const told: string[] = [];
  await redis.redis.psubscribe('*standings');
  redis.redis.on('pmessage', (_pattern, _channel, accountId) => void told.push(accountId));
  const victim = await signInToStore(here, freshId('victim'), { installId: throwAway, cookies: browser });
  expect(victim.body).toMatchObject({ moved: true, movedCoins: 5 });
  const { cookies } = victim;
  await here.post('/v1/coins/credit', { coins: 1000, key: 'own' }, { cookies });

  // The move itself tells the process of the socket, which does not wait until it renews the lease of the player.
  await expect.poll(() => told).toContain(accountIdOf(throwAway));
  await player.until(({ type, error }) => type === 'error' && error.code === 'sign_in_required');
  await eventually(() => !isConnected());
  expect((await player.hello(throwAway)).error.code).toBe('sign_in_required');
  const again = await watchRoom(there, code, { cookies: login });
  await again.until(({ type, error }) => type === 'error' && error.code === 'sign_in_required');
  expect(isConnected()).toBe(false);
  await Promise.all([player.close(), again.close()]);

  for (const session of [login, other, browser]) expect(codeOf(await there.get('/v1/session', { cookies: session }))).toBe(MOVED);
  expect(codeOf(await there.post('/v1/login', { installId: throwAway }))).toBe(MOVED);
  const withoutToken = [
    await there.post('/v1/account/store-provision', { installId: throwAway }),
    await there.post('/v1/account/store-provision', { token: 'a.b.c', installId: throwAway }),
    await there.post('/v1/account/store-provision', { token: 'a.b.c' }, { cookies: login }),
  ];
  expect(withoutToken.map(codeOf)).toEqual(['400 invalid_request', '401 bad_token', '401 bad_token']);
  expect(withoutToken.flatMap(({ setCookies }) => setCookies)).toEqual([]);
  // A token of the attacker opens only an account of the attacker.
  for (const guest of [{ installId: throwAway }, { cookies: login }, { installId: throwAway, cookies: browser }]) {
    const { body } = await signInToStore(there, freshId('attacker'), guest);
    expect(body).toMatchObject({ moved: false });
    expect(body.accountId).not.toBe(victim.body.accountId);
  }
  const prove = async (nonce: string, installId?: string): Promise<string> => {
    const { integrityToken } = await issue(there, { kind: 'integrity_token', nonce });
    return codeOf(await there.post('/v1/account/store-install', { nonce, integrityToken, installId }));
  };
  expect([await prove(nonces[0]!), await prove(nonces[1]!, freshId())]).toEqual([MOVED, '409 nonce_used']);
  // Signing out with a session of the guest ends no session of the victim, who keeps all coins.
  for (const everywhere of [true, false]) expect((await there.post('/v1/logout', { everywhere }, { cookies: other })).status).toBe(200);
  expect((await here.get('/v1/session', { cookies })).body).toMatchObject({ authenticated: true, installVerified: false });
  expect(await balanceOf(here, { cookies })).toBe(1005);
});

test('the installId of a guest outranks its session in a sign-in, unless it has moved', async () => {
  const [named, own] = [freshId(), freshId()];
  await credit(named, 3);
  await credit(own, 4);
  const session = await signIn(here, own);
  const reply = await provision(here, freshId('user'), { cookies: session, installId: named });
  expect(reply.body).toMatchObject({ moved: true, movedCoins: 3 });
  expect(await balanceOf(there, { installId: own })).toBe(4);
  // The session of a store account does not prevent the move of another guest.
  const again = await provision(here, freshId('user'), { cookies: reply.cookies, installId: freshId() });
  expect(again.body).toMatchObject({ moved: true, movedCoins: 0 });
  const besideMoved = await provision(here, freshId('user'), { cookies: session, installId: named });
  expect(besideMoved.body).toMatchObject({ moved: true, movedCoins: 4 });
});

test('a session that an earlier version gave to a moved installId is invalid', async () => {
  const [guest, lone] = [await signInToStore(here, freshId('user'), { installId: freshId() }), await signInToStore(here, freshId('user'))];
  // Earlier versions issued such sessions for the account itself, with ids of 16 characters.
  const before = async (subject: string, id: string): Promise<string> => {
    const issuedAt = here.now();
    const claims = { subject, id, issuedAt, expiresAt: issuedAt + 86_400_000 };
    return `svc_session=${await new TokenSigner(testKeys).sign('session', claims)}`;
  };
  for (const id of ['c2Vzc2lvbi1pZA-1', '1234567890123456'])
    expect(await isSignedIn(there, await before(guest.body.accountId, id))).toBe(false);
  // Sessions of an account without guests stay valid.
  const earlier = await before(lone.body.accountId, 'c2Vzc2lvbi1pZA-2');
  for (const cookies of [earlier, guest.cookies, lone.cookies]) expect(await isSignedIn(there, cookies)).toBe(true);
  await here.post('/v1/logout', { everywhere: true }, { cookies: lone.cookies });
  expect(await isSignedIn(there, earlier)).toBe(false);
});

describe('during the move of a guest', () => {
  test('every credit by session or installId either reaches the account or is refused', async () => {
    const installId = freshId();
    const sessions = [await signIn(here, installId), await signIn(there, installId)];
    const { token } = await issue(here, { kind: 'id_token', subject: freshId('user') });
    const codes: string[] = [];
    let asked = 0;
    let isMoved = false;
    const clients = Array.from({ length: 8 }, async (_, client) => {
      const service = client % 2 === 0 ? here : there;
      const options = client % 4 < 2 ? { cookies: sessions[client % 2]! } : {};
      for (let left = 2; left > 0; left -= Number(isMoved)) {
        const body = { installId, coins: 1, key: `key-${asked++}` };
        let reply = await service.post('/v1/coins/credit', body, options);
        // A 503 on a slow machine leaves the outcome unknown. A retry before the move reveals it, a retry after does not.
        const isOpen = reply.status === 503;
        while (reply.status === 503) reply = await service.post('/v1/coins/credit', body, options);
        codes.push(reply.status === 200 ? '200' : isOpen ? 'unknown' : codeOf(reply));
      }
    });
    await eventually(() => codes.length > 20);
    const { body, cookies } = await here.post('/v1/account/store-provision', { token, installId });
    isMoved = true;
    await Promise.all(clients);
    expect(body.moved).toBe(true);
    const count = (code: string): number => codes.filter((each) => each === code).length;
    expect(count('200') + count(MOVED) + count('unknown')).toBe(codes.length);
    expect(count(MOVED)).toBeGreaterThanOrEqual(8);
    expect(body.movedCoins).toBeGreaterThanOrEqual(count('200'));
    expect(body.movedCoins).toBeLessThanOrEqual(count('200') + count('unknown'));
    expect(await balanceOf(here, { cookies: cookies[0]! })).toBe(body.movedCoins);
  });

  test('no login leaves a valid session of the guest', async () => {
    const installId = freshId();
    const { token } = await issue(here, { kind: 'id_token', subject: freshId('user') });
    const logins = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? here : there).post('/v1/login', { installId }));
    const [{ body }, ...replies] = await Promise.all([here.post('/v1/account/store-provision', { token, installId }), ...logins]);
    expect(body.moved).toBe(true);
    for (const reply of replies) {
      if (reply.status !== 200) expect(codeOf(reply)).toBe(MOVED);
      else expect(codeOf(await there.get('/v1/session', { cookies: reply.cookies }))).toBe(MOVED);
    }
  });
});
