import { describe, expect, test } from 'vitest';
import { forFile, freshId, signIn, start, type TestReply, tokenFor } from '../../harness.ts';
import { issue } from '../../store.ts';

const DAY_MS = 86_400_000;

const service = await forFile(start());

/** The account of a token, when it is sent as a bearer. */
const accountOf = async (bearer: string): Promise<string> => (await service.get('/v1/session', { bearer })).body.accountId;

/** Checks that an answer gives a session only as a token. Returns the token. */
function handed({ status, body, headers, setCookies }: TestReply): string {
  expect([status, body.error, setCookies, headers.get('cache-control')]).toEqual([200, undefined, [], 'no-store']);
  expect(body.sessionToken).toMatch(/^[\w-]+\.[\w-]+\.[\w-]{43}$/);
  return body.sessionToken;
}

describe.each(['/v1/login', '/login'])('POST %s with session: token', (path) => {
  test('adds the token to its usual answer, and sets no cookie', async () => {
    const installId = freshId();
    const reply = await service.post(path, { installId, session: 'token' });
    const bearer = handed(reply);
    const { accountId, expiresAt } = reply.body;
    expect(reply.body).toEqual({ ok: true, accountId, expiresAt, sessionToken: bearer });
    expect((await service.get('/v1/session', { bearer })).body).toEqual({
      ok: true,
      authenticated: true,
      accountId,
      expiresAt,
      installVerified: false,
    });
  });

  test('leaves a cookie of the browser as it is, past half its life too', async () => {
    await using later = await start();
    const cookies = await signIn(later, freshId());
    later.advance(16 * DAY_MS);
    handed(await later.post(path, { installId: freshId(), session: 'token' }, { cookies }));
  });

  test('session: cookie is the default', async () => {
    for (const session of ['cookie', undefined]) {
      const { body, setCookies } = await service.post(path, { installId: freshId(), session });
      expect([body.sessionToken, setCookies]).toEqual([undefined, [expect.stringMatching(/^svc_session=/)]]);
    }
  });

  test('a request with a bearer gets the token, even if it asks for the cookie', async () => {
    const bearer = await tokenFor(service, freshId());
    for (const session of ['cookie', 'token', undefined]) {
      const installId = freshId();
      const token = handed(await service.post(path, { installId, session }, { bearer }));
      expect(await accountOf(token)).toBe((await service.post('/v1/account/resolve', { installId })).body.accountId);
    }
  });

  test.each([null, '', 'Token', 'both', 7, ['token'], { token: true }])('refuses the form %j', async (session) => {
    const { status, body, setCookies } = await service.post(path, { installId: freshId(), session });
    expect([status, body.error.code, body.error.field, setCookies]).toEqual([400, 'invalid_request', 'session', []]);
  });
});

describe('POST /v1/account/store-provision with session: token', () => {
  const provision = async (body: object, options = {}, on = service): Promise<TestReply> => {
    const { token } = await issue(on, { kind: 'id_token', subject: freshId('subject') });
    return on.post('/v1/account/store-provision', { token, ...body }, options);
  };

  test('adds the token to its usual answer, and sets no cookie', async () => {
    const installId = freshId();
    await service.post('/v1/coins/credit', { installId, coins: 7, key: 'a' });
    const reply = await provision({ installId, session: 'token' });
    const bearer = handed(reply);
    expect(reply.body).toMatchObject({ created: true, moved: true, movedCoins: 7 });
    expect(await accountOf(bearer)).toBe(reply.body.accountId);
    expect((await service.get('/v1/balance', { bearer })).body.balanceCoins).toBe(7);
  });

  test("does not renew the guest's cookie, which the move ends", async () => {
    await using later = await start();
    const cookies = await signIn(later, freshId());
    later.advance(16 * DAY_MS);
    handed(await provision({ session: 'token' }, { cookies }, later));
  });

  test('a request with a bearer gets the token, even if it asks for the cookie: its guest has moved, and has no other session', async () => {
    for (const session of ['cookie', undefined]) {
      const guest = await tokenFor(service, freshId());
      const reply = await provision({ session }, { bearer: guest });
      expect(reply.body.moved).toBe(true);
      expect(await accountOf(handed(reply))).toBe(reply.body.accountId);
    }
  });

  test('refuses another form, and nothing moves', async () => {
    const installId = freshId();
    const reply = await provision({ installId, session: 'header' });
    expect([reply.status, reply.body.error.field]).toEqual([400, 'session']);
    expect((await service.post('/v1/account/resolve', { installId })).status).toBe(200);
  });
});

describe('GET /v1/pair/status with session=token', () => {
  const status = (token: string, cookies: string[], query = '&session=token') =>
    service.get(`/v1/pair/status?token=${token}${query}`, { cookies });

  test('answers the browser that holds svc_pair with the token, once', async () => {
    const opened = await service.post('/v1/pair/new');
    const { token } = opened.body;
    expect((await status(token, opened.cookies)).body).toEqual({ ok: true, status: 'pending' });
    const installId = freshId();
    const { accountId } = (await service.post('/v1/account/resolve', { installId })).body;
    await service.post('/v1/pair/claim', { token, installId });
    const stranger = await status(token, []);
    expect([stranger.body, stranger.setCookies]).toEqual([{ ok: true, status: 'claimed' }, []]);
    const reply = await status(token, opened.cookies);
    expect(reply.body).toEqual({ ok: true, status: 'claimed', claimedBy: {}, sessionToken: expect.any(String) });
    expect(await accountOf(handed(reply))).toBe(accountId);
    for (const query of ['&session=token', '']) {
      const again = await status(token, opened.cookies, query);
      expect([again.body, again.setCookies]).toEqual([{ ok: true, status: 'claimed', claimedBy: {} }, []]);
    }
  });

  test('refuses another form, and the session waits', async () => {
    const opened = await service.post('/v1/pair/new');
    const { token } = opened.body;
    await service.post('/v1/pair/claim', { token, installId: freshId() });
    const refused = await status(token, opened.cookies, '&session=both');
    expect([refused.status, refused.body.error.field]).toEqual([400, 'session']);
    handed(await status(token, opened.cookies));
  });

  test('a guest whose token came from a pairing moves only with the installId of its account', async () => {
    const opened = await service.post('/v1/pair/new');
    const { token } = opened.body;
    const guest = freshId();
    await service.post('/v1/pair/claim', { token, installId: guest });
    const bearer = handed(await status(token, opened.cookies));
    for (const [more, moved] of [
      [{}, false],
      [{ move: true }, false],
      [{ installId: guest }, true],
    ] as const) {
      const { token: idToken } = await issue(service, { kind: 'id_token', subject: freshId('subject') });
      const { body } = await service.post('/v1/account/store-provision', { token: idToken, ...more }, { bearer });
      expect(body.moved).toBe(moved);
    }
  });
});
