import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { api } from '../../../src/api.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { standingKey } from '../../../src/accounts/account-keys.ts';
import { TokenSigner } from '../../../src/server/identity/signed-token.ts';
import { freshId, signIn, testKeys, type TestReply, type TestService } from '../../harness.ts';
import { ownRedis } from '../../realtime/own.ts';
import { issue, provision, signInToStore } from '../../store.ts';
import { nameOf, takesInstallId, validRequest } from '../../valid-requests.ts';

/**
 * The attack: an attacker photographs the QR code on a victim's screen and claims it with a throw-away installId. The
 * victim's browser is then signed in as that guest, and the victim signs in with the store there. No credential of the guest
 * that the attacker holds may open the victim's account.
 */

let redis: Awaited<ReturnType<typeof ownRedis>>;
/** The process that the victim uses, and the one that the attacker uses. */
let here: TestService;
let there: TestService;
beforeAll(async () => {
  redis = await ownRedis();
  [here, there] = await Promise.all([redis.start(), redis.start()]);
});
afterAll(async () => {
  await Promise.all([here, there].map((service) => service[Symbol.asyncDispose]()));
  await redis[Symbol.asyncDispose]();
});

const codeOf = ({ status, body }: TestReply): string => `${status} ${body.error?.code}`;
const MOVED = '401 sign_in_required';

/** Endpoints that take an installId. A `lenient` or `public` one treats the installId of a moved account as not sent. */
const byInstallId = api.filter((endpoint) => takesInstallId(endpoint) && !['lenient', 'public', 'any'].includes(endpoint.caller));
const bySession = api.filter(({ caller }) => ['session', 'optional', 'required'].includes(caller));

async function everythingByInstallId(installId: string): Promise<Record<string, string>> {
  const codes: Record<string, string> = {};
  for (const endpoint of byInstallId) {
    const { path, body } = validRequest(endpoint, { installId });
    codes[nameOf(endpoint)] = codeOf(await (body === undefined ? there.get(path) : there.post(path, body)));
    const headers = { 'x-install-id': installId };
    if (body === undefined) codes[`${nameOf(endpoint)} by header`] = codeOf(await there.get(validRequest(endpoint).path, { headers }));
  }
  codes['POST /login'] = codeOf(await there.post('/login', { installId }));
  return codes;
}

async function everythingBySession(cookies: string): Promise<Record<string, string>> {
  const codes: Record<string, string> = {};
  for (const endpoint of bySession) {
    const { path, body } = validRequest(endpoint);
    codes[nameOf(endpoint)] = codeOf(await (body === undefined ? there.get(path, { cookies }) : there.post(path, body, { cookies })));
  }
  return codes;
}

const allRefused = (codes: Record<string, string>) => Object.fromEntries(Object.keys(codes).map((name) => [name, MOVED]));

/** Opens a pairing in a browser, lets an install claim it and returns the browser's session cookie. */
async function pair(claimant: string): Promise<string> {
  const pairing = await here.post('/v1/pair/new');
  const { token } = pairing.body;
  expect((await there.post('/v1/pair/claim', { token, installId: claimant })).status).toBe(200);
  const { cookies } = await here.get(`/v1/pair/status?token=${token}`, { cookies: pairing.cookies });
  return cookies.find((cookie) => cookie.startsWith('svc_session='))!;
}

async function openSocket(service: TestService, code: string, cookies?: string) {
  const url = `${service.url.replace('http', 'ws')}/v1/rooms/${code}/live`;
  const socket = new WebSocket(url, (cookies === undefined ? {} : { headers: { cookie: cookies } }) as never);
  const errors: string[] = [];
  const connected: boolean[] = [];
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(String(data));
    if (message.type === 'error') errors.push(message.error.code);
    if (message.type === 'room') connected.push(message.room.players[0]?.connected);
  };
  await new Promise((resolve) => (socket.onopen = resolve));
  return { socket, errors, connected };
}

test('there are endpoints that take an installId, and endpoints that take a session', () => {
  expect([byInstallId.length, bySession.length]).toEqual([
    expect.toSatisfy((count) => count > 20),
    expect.toSatisfy((count) => count > 20),
  ]);
});

describe('a guest whose session came from a pairing', () => {
  test('does not move when the browser signs in, and the sign-in succeeds', async () => {
    const throwAway = freshId();
    await there.post('/v1/coins/credit', { installId: throwAway, coins: 5, key: 'bait' });
    await there.post('/v1/subscription/report', { installId: throwAway, subscribed: true });
    const browser = await pair(throwAway);
    for (const move of [undefined, false, true]) {
      const { token } = await issue(here, { kind: 'id_token', subject: freshId('victim') });
      const reply = await here.post('/v1/account/store-provision', { token, move }, { cookies: browser });
      expect([reply.status, reply.body]).toMatchObject([200, { created: true, moved: false, notMoved: 'from_pairing' }]);
      const { cookies } = reply;
      expect((await here.get('/v1/session', { cookies })).body).toMatchObject({ authenticated: true, accountId: reply.body.accountId });
      expect((await here.get('/v1/balance', { cookies })).body.balanceCoins).toBe(0);
      expect((await here.get('/v1/subscription', { cookies })).body.subscribed).toBe(false);
    }
    expect((await there.get(`/v1/balance?installId=${throwAway}`)).body.balanceCoins).toBe(5);
  });

  test('does not move by a renewed cookie of that session either', async () => {
    await using later = await redis.start();
    const browser = await pair(freshId());
    later.advance(16 * 86_400_000);
    const [renewed] = (await later.get('/v1/session', { cookies: browser })).cookies;
    expect(renewed).toMatch(/^svc_session=/);
    const reply = await provision(later, freshId('victim'), { cookies: renewed! });
    expect(reply.body).toMatchObject({ moved: false, notMoved: 'from_pairing' });
  });

  test('moves when the request has the installId of the guest, in the body or the header', async () => {
    const [named, told] = [freshId(), freshId()];
    const byNaming = await provision(here, freshId('user'), { cookies: await pair(named), installId: named });
    expect(byNaming.body).toMatchObject({ moved: true });
    const { token } = await issue(here, { kind: 'id_token', subject: freshId('user') });
    const options = { cookies: await pair(told), headers: { 'x-install-id': told } };
    expect((await here.post('/v1/account/store-provision', { token }, options)).body).toMatchObject({ moved: true });
  });

  test('and the installId of another account moves neither of the two', async () => {
    const [victim, own] = [freshId(), freshId()];
    for (const installId of [victim, own]) await here.post('/v1/coins/credit', { installId, coins: 7, key: 'a' });
    const cookies = await pair(victim);
    for (const more of [{}, { move: true }]) {
      const { token } = await issue(here, { kind: 'id_token', subject: freshId('thief') });
      const reply = await here.post('/v1/account/store-provision', { token, installId: own, ...more }, { cookies });
      expect([reply.status, reply.body.error.code, reply.body.error.field]).toEqual([400, 'invalid_request', 'installId']);
    }
    for (const installId of [victim, own]) expect((await there.get(`/v1/balance?installId=${installId}`)).body.balanceCoins).toBe(7);
  });

  test('but a session that has ended, and an installId that moved, count as not sent', async () => {
    const own = freshId();
    const ended = await pair(freshId());
    await there.post('/v1/logout', {}, { cookies: ended });
    // Once moved, once ignored: after a lost answer the same request signs in again.
    const subject = freshId('user');
    for (const moved of [true, false])
      expect((await provision(here, subject, { cookies: ended, installId: own })).body).toMatchObject({ moved });
    const live = await pair(freshId());
    const reply = await provision(here, freshId('user'), { cookies: live, installId: own });
    expect([reply.status, reply.body]).toMatchObject([200, { moved: false, notMoved: 'from_pairing' }]);
  });

  test('is answered with not_a_guest when it is a store account', async () => {
    const { cookies } = await signInToStore(here, freshId('user'));
    const pairing = await here.post('/v1/pair/new');
    await here.post('/v1/pair/claim', { token: pairing.body.token }, { cookies });
    const polled = await here.get(`/v1/pair/status?token=${pairing.body.token}`, { cookies: pairing.cookies });
    const reply = await provision(here, freshId('user'), { cookies: polled.cookies });
    expect(reply.body).toMatchObject({ moved: false, notMoved: 'not_a_guest' });
  });
});

describe('an attacker whose guest moved because the victim asked for it', () => {
  const throwAway = freshId();
  /** Sessions of the guest that the attacker holds, and the one that the victim's browser was given. */
  let sessions: { login: string; other: string; browser: string };
  let code: string;
  let socket: Awaited<ReturnType<typeof openSocket>>;
  const nonces: string[] = [];
  let pairings: { claimed: TestReply; scanned: TestReply };
  /** The victim's session after the move. */
  let victim: { accountId: string; cookies: string[] };

  beforeAll(async () => {
    const [login, other] = [await signIn(there, throwAway), await signIn(there, throwAway)];
    await there.post('/v1/coins/credit', { installId: throwAway, coins: 5, key: 'bait' });
    code = (await there.post('/v1/rooms', { installId: throwAway, name: 'Eve' })).body.room.code;
    socket = await openSocket(there, code);
    socket.socket.send(JSON.stringify({ type: 'hello', installId: throwAway }));
    await vi.waitUntil(() => socket.connected.at(-1) === true);
    for (let count = 0; count < 2; count++) {
      nonces.push((await there.get(`/v1/account/store-install/nonce?installId=${throwAway}`)).body.nonce as string);
    }
    const [claimed, scanned] = [await there.post('/v1/pair/new'), await there.post('/v1/pair/new')];
    await there.post('/v1/pair/claim', { token: claimed.body.token, installId: throwAway });
    await there.post('/v1/pair/claim', { token: scanned.body.token, installId: throwAway, step: 'scan' });
    pairings = { claimed, scanned };
    sessions = { login, other, browser: await pair(throwAway) };

    const { token } = await issue(here, { kind: 'id_token', subject: freshId('victim') });
    // The attacker has planted the installId in the victim's app.
    const asked = { token, installId: throwAway };
    const { body, cookies } = await here.post('/v1/account/store-provision', asked, { cookies: sessions.browser });
    expect(body).toMatchObject({ moved: true, movedCoins: 5 });
    victim = { accountId: body.accountId, cookies };
    await here.post('/v1/coins/credit', { coins: 1000, key: 'own' }, { cookies });
  });

  // The first test after the move: these are the messages that the move itself causes.
  test('loses its player on an open socket and gets no player on a new one', async () => {
    await expect.poll(() => socket.errors).toEqual(['sign_in_required']);
    await expect.poll(() => socket.connected.at(-1)).toBe(false);
    socket.socket.send(JSON.stringify({ type: 'hello', installId: throwAway }));
    await expect.poll(() => socket.errors).toEqual(['sign_in_required', 'sign_in_required']);
    const again = await openSocket(there, code, sessions.login);
    await expect.poll(() => again.errors).toEqual(['sign_in_required']);
    expect(socket.connected.at(-1)).toBe(false);
    for (const { socket: open } of [socket, again]) open.close();
  });

  test('is refused with sign_in_required by every endpoint for the installId', async () => {
    const codes = await everythingByInstallId(throwAway);
    expect(codes).toEqual(allRefused(codes));
  });

  test.each(['login', 'other', 'browser'] as const)(
    'is refused with sign_in_required by every endpoint for the session "%s"',
    async (name) => {
      const codes = await everythingBySession(sessions[name]);
      expect(codes).toEqual(allRefused(codes));
    },
  );

  test('cannot sign in at store-provision without a token that verifies', async () => {
    const replies = [
      await there.post('/v1/account/store-provision', { installId: throwAway }),
      await there.post('/v1/account/store-provision', { token: 'a.b.c', installId: throwAway }),
      await there.post('/v1/account/store-provision', { token: 'a.b.c' }, { cookies: sessions.login }),
    ];
    expect(replies.map(codeOf)).toEqual(['400 invalid_request', '401 bad_token', '401 bad_token']);
    expect(replies.flatMap(({ setCookies }) => setCookies)).toEqual([]);
  });

  test('reaches only an account of its own with a token of its own', async () => {
    const { login, browser } = sessions;
    for (const guest of [{ installId: throwAway }, { cookies: login }, { installId: throwAway, cookies: browser }]) {
      const own = await signInToStore(there, freshId('attacker'), guest);
      expect(own.body).toMatchObject({ moved: false });
      expect(own.body.accountId).not.toBe(victim.accountId);
    }
  });

  test('gets no session from a pairing that the guest claimed, and cannot confirm one that it scanned', async () => {
    const { claimed, scanned } = pairings;
    const polled = await there.get(`/v1/pair/status?token=${claimed.body.token}`, { cookies: claimed.cookies });
    expect([polled.body.status, polled.setCookies]).toEqual(['expired', []]);
    const confirmed = await there.post('/v1/pair/claim', { token: scanned.body.token, installId: throwAway, step: 'confirm' });
    expect(codeOf(confirmed)).toBe(MOVED);
  });

  test('proves no install with nonces that the guest requested', async () => {
    const prove = async (nonce: string, installId?: string): Promise<string> => {
      const { integrityToken } = await issue(there, { kind: 'integrity_token', nonce });
      return codeOf(await there.post('/v1/account/store-install', { nonce, integrityToken, installId }));
    };
    expect(await prove(nonces[0]!)).toBe(MOVED);
    expect(await prove(nonces[1]!, freshId())).toBe('409 nonce_used');
  });

  test('ends no session of the victim by signing out, and the victim keeps all coins', async () => {
    for (const everywhere of [true, false]) {
      expect((await there.post('/v1/logout', { everywhere }, { cookies: sessions.other })).status).toBe(200);
    }
    const { cookies } = victim;
    expect((await here.get('/v1/session', { cookies })).body).toMatchObject({ authenticated: true, installVerified: false });
    expect((await here.get('/v1/balance', { cookies })).body.balanceCoins).toBe(1005);
  });
});

test('a sign-in repeated after a lost reply opens the account', async () => {
  const installId = freshId();
  const session = await signIn(here, installId);
  await here.post('/v1/coins/credit', { installId, coins: 5, key: 'a' });
  const { token } = await issue(here, { kind: 'id_token', subject: freshId('user') });
  const send = () => here.post('/v1/account/store-provision', { token, installId }, { cookies: session });
  const [lost, repeated] = [await send(), await send()];
  expect([lost.body.moved, repeated.status, repeated.body.moved, repeated.body.notMoved]).toEqual([true, 200, false, undefined]);
  expect(repeated.body.accountId).toBe(lost.body.accountId);
  expect((await here.get('/v1/balance', { cookies: repeated.cookies })).body.balanceCoins).toBe(5);
});

describe('POST /v1/account/store-provision', () => {
  test('moves the guest of the installId when a session names another', async () => {
    const [named, own] = [freshId(), freshId()];
    await here.post('/v1/coins/credit', { installId: named, coins: 3, key: 'a' });
    await here.post('/v1/coins/credit', { installId: own, coins: 4, key: 'a' });
    const session = await signIn(here, own);
    const reply = await provision(here, freshId('user'), { cookies: session, installId: named });
    expect(reply.body).toMatchObject({ moved: true, movedCoins: 3 });
    expect((await here.get('/v1/balance', { cookies: session })).body.balanceCoins).toBe(4);
    // A session of a store account does not prevent the move of another guest.
    const again = await provision(here, freshId('user'), { cookies: reply.cookies, installId: own });
    expect(again.body).toMatchObject({ moved: true, movedCoins: 4 });
  });

  test('ignores a moved installId and moves the guest of the session', async () => {
    const [moved, own] = [freshId(), freshId()];
    await signInToStore(here, freshId('user'), { installId: moved });
    await here.post('/v1/coins/credit', { installId: own, coins: 4, key: 'a' });
    const reply = await provision(here, freshId('user'), { cookies: await signIn(here, own), installId: moved });
    expect(reply.body).toMatchObject({ moved: true, movedCoins: 4 });
  });
});

test('a guest is refused everywhere by its move record alone', async () => {
  const installId = freshId();
  const session = await signIn(here, installId);
  await here.service.redis.set(standingKey(accountIdOf(installId)), `>${accountIdOf(freshId())}`);
  for (const codes of [await everythingByInstallId(installId), await everythingBySession(session)])
    expect(codes).toEqual(allRefused(codes));
});

test('a session that an earlier version gave to a moved installId is invalid', async () => {
  const [guest, lone] = [await signInToStore(here, freshId('user'), { installId: freshId() }), await signInToStore(here, freshId('user'))];
  // Earlier versions issued such sessions for the account itself, with ids of 16 characters.
  const before = async (subject: string, id: string): Promise<string> => {
    const issuedAt = here.now();
    const claims = { subject, id, issuedAt, expiresAt: issuedAt + 86_400_000 };
    return `svc_session=${await new TokenSigner(testKeys).sign('session', claims)}`;
  };
  const isSignedIn = async (cookies: string) => (await there.get('/v1/session', { cookies })).body.authenticated;
  expect(await isSignedIn(await before(guest.body.accountId, 'c2Vzc2lvbi1pZA-1'))).toBe(false);
  expect(await isSignedIn(await before(guest.body.accountId, '1234567890123456'))).toBe(false);
  // Sessions of an account without guests stay valid.
  expect(await isSignedIn(await before(lone.body.accountId, 'c2Vzc2lvbi1pZA-2'))).toBe(true);
  expect([await isSignedIn(guest.cookies), await isSignedIn(lone.cookies)]).toEqual([true, true]);
});

describe('during the move of a guest', () => {
  test('every credit by session or installId either reaches the account or is refused', async () => {
    const installId = freshId();
    const sessions = [await signIn(here, installId), await signIn(there, installId)];
    const { token } = await issue(here, { kind: 'id_token', subject: freshId('user') });
    const codes: string[] = [];
    let asked = 0;
    let isMoved = false;
    let signedIn: TestReply;
    const clients = Array.from({ length: 20 }, async (_, client) => {
      const service = client % 2 === 0 ? here : there;
      const options = client % 4 < 2 ? { cookies: sessions[client % 2]! } : {};
      for (let left = 2; left > 0; left -= Number(isMoved)) {
        const credit = { installId, coins: 1, key: `key-${asked++}` };
        let reply = await service.post('/v1/coins/credit', credit, options);
        // A 503 on a slow machine leaves the outcome unknown. A retry before the move reveals it, a retry after does not.
        const isOpen = reply.status === 503;
        while (reply.status === 503) reply = await service.post('/v1/coins/credit', credit, options);
        codes.push(reply.status === 200 ? '200' : isOpen ? 'unknown' : codeOf(reply));
      }
    });
    try {
      await expect.poll(() => codes.length).toBeGreaterThan(50);
    } finally {
      signedIn = await here.post('/v1/account/store-provision', { token, installId });
      isMoved = true;
      await Promise.all(clients);
    }
    const { body, cookies } = signedIn;
    expect(body.moved).toBe(true);
    const done = codes.filter((code) => code === '200').length;
    const refused = codes.filter((code) => code === MOVED).length;
    const unknown = codes.filter((code) => code === 'unknown').length;
    expect([done + refused + unknown, done > 50, refused >= 20]).toEqual([codes.length, true, true]);
    expect(body.movedCoins).toBeGreaterThanOrEqual(done);
    expect(body.movedCoins).toBeLessThanOrEqual(done + unknown);
    expect((await here.get('/v1/balance', { cookies })).body.balanceCoins).toBe(body.movedCoins);
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
