import { describe, expect, test } from 'vitest';
import { forFile, freshId, start, type TestReply } from '../../harness.ts';
import { sendRaw, statusesIn } from '../../raw.ts';

const service = await forFile(start());
const elsewhere = await forFile(start());

const open = (body: object = { session: 'token' }, options = {}): Promise<TestReply> => service.post('/v1/pair/new', body, options);
const claim = async (token: string, installId = freshId()): Promise<void> => {
  expect((await service.post('/v1/pair/claim', { token, installId })).status).toBe(200);
};
const poll = (token: string, secret?: string, options: { cookies?: string[]; query?: string } = {}, on = service): Promise<TestReply> =>
  on.get(`/v1/pair/status?token=${token}${options.query ?? ''}`, {
    ...options,
    ...(secret === undefined ? {} : { headers: { 'x-pair-secret': secret } }),
  });
const CLAIMED = { ok: true, status: 'claimed' };
/** The status that the client of the pairing reads. */
const OWN = { ...CLAIMED, claimedBy: {} };
const HANDED = { ...OWN, sessionToken: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]{43}$/) };

describe('POST /v1/pair/new with session: token', () => {
  test('answers with a secret of 192 bits besides the usual fields, and sets no cookie', async () => {
    const { status, body, setCookies, headers } = await open();
    expect([status, setCookies, headers.get('cache-control')]).toEqual([200, [], 'no-store']);
    expect(body).toEqual({
      ok: true,
      token: expect.stringMatching(/^[\w-]{24}$/),
      pairingId: expect.stringMatching(/^[0-9a-f]{22}$/),
      secret: expect.stringMatching(/^[\w-]{32}$/),
      expiresIn: 180,
      interval: 2,
      matchCode: expect.stringMatching(/^\d\d$/),
      url: `${service.url}/pair?token=${body.token}`,
    });
    const kept = await service.service.redis.hgetall(`{pair:${body.token}}`);
    expect(JSON.stringify(kept)).not.toContain(body.secret);
  });

  test('leaves a cookie svc_pair as it is', async () => {
    const cookies = (await open({})).cookies;
    expect((await open({ session: 'token' }, { cookies })).setCookies).toEqual([]);
  });

  test('gives no secret if the cookie holds it', async () => {
    for (const body of [{}, { session: 'cookie' }]) {
      const opened = await open(body);
      expect([opened.body.secret, opened.setCookies.length]).toEqual([undefined, 1]);
    }
  });

  test.each([null, 'secret', 1])('refuses the form %j', async (session) => {
    const { status, body } = await open({ session });
    expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'session']);
  });
});

describe('GET /v1/pair/status with x-pair-secret', () => {
  test('hands the token out once, on any process, and sets no cookie', async () => {
    const { token, secret } = (await open()).body;
    expect((await poll(token, secret)).body).toEqual({ ok: true, status: 'pending' });
    const installId = freshId();
    await claim(token, installId);
    const { body, setCookies, headers } = await poll(token, secret, {}, elsewhere);
    expect([body, setCookies, headers.get('cache-control')]).toEqual([HANDED, [], 'no-store']);
    const { accountId } = (await service.post('/v1/account/resolve', { installId })).body;
    expect((await service.get('/v1/session', { bearer: body.sessionToken })).body).toMatchObject({ authenticated: true, accountId });
    // As with the cookie, a lost session is not given again.
    for (const query of ['', '&session=token', '&session=cookie']) {
      const again = await poll(token, secret, { query });
      expect([again.body, again.setCookies]).toEqual([OWN, []]);
    }
  });

  test('two concurrent polls get one token', async () => {
    for (let round = 0; round < 4; round++) {
      const { token, secret } = (await open()).body;
      await claim(token);
      const replies = await Promise.all([poll(token, secret), poll(token, secret, {}, elsewhere)]);
      expect(replies.filter(({ body }) => body.sessionToken !== undefined)).toHaveLength(1);
    }
  });

  test('with a wrong secret reads the status only, and the right one still gets the session', async () => {
    const { token, secret } = (await open()).body;
    const other = (await open()).body;
    await claim(token);
    const kept = await service.service.redis.hget(`{pair:${token}}`, 'secretHash');
    for (const wrong of [
      undefined,
      '',
      ' ',
      token,
      other.secret,
      `${secret.slice(0, -1)}!`,
      secret.slice(0, -1),
      `${secret}a`,
      `${secret}.${secret}`,
      secret.toLowerCase() === secret ? secret.toUpperCase() : secret.toLowerCase(),
      'A'.repeat(32),
      'x'.repeat(10_000),
      kept!,
    ]) {
      const { status, body, setCookies } = await poll(token, wrong);
      expect([wrong, status, body, setCookies]).toEqual([wrong, 200, CLAIMED, []]);
    }
    // A secret in the query or in the body is ignored.
    expect((await poll(token, undefined, { query: `&secret=${secret}&x-pair-secret=${secret}` })).body).toEqual(CLAIMED);
    expect((await poll(token, secret)).body).toEqual(HANDED);
  });

  test('the secret of another pairing in the cookie does not hide the one in the header', async () => {
    const { cookies } = await open({});
    const { token, secret } = (await open()).body;
    await claim(token);
    const { body, setCookies } = await poll(token, secret, { cookies });
    expect([body, setCookies]).toEqual([HANDED, []]);
  });

  test('counts as the cookie if the pairing was opened with one', async () => {
    const opened = await open({});
    const secret = opened.cookies[0]!.slice('svc_pair='.length);
    await claim(opened.body.token);
    const { body, setCookies } = await poll(opened.body.token, secret);
    expect([body, setCookies]).toEqual([OWN, [expect.stringMatching(/^svc_session=/)]]);
  });

  test('in a long-poll gets the token with the claim', async () => {
    const { token, secret } = (await open()).body;
    const polled = poll(token, secret, { query: '&wait=20&since=pending' });
    await claim(token);
    expect((await polled).body).toEqual(HANDED);
  });

  test.each([{ session: 'token' }, {}])('a HEAD does not use up the session of a pairing opened with %j', async (form) => {
    const { body, cookies } = await open(form);
    const options = { cookies, headers: { 'x-pair-secret': body.secret ?? '' } };
    await claim(body.token);
    for (const query of ['', '&session=token', '&wait=1&since=pending']) {
      const head = await service.get(`/v1/pair/status?token=${body.token}${query}`, { ...options, method: 'HEAD' });
      expect([head.status, head.setCookies]).toEqual([200, []]);
    }
    expect((await service.get(`/v1/pair/status?token=${body.token}&session=token`, options)).body).toEqual(HANDED);
  });

  test('sent twice is refused', async () => {
    const { token, secret } = (await open()).body;
    await claim(token);
    const { text } = await sendRaw(
      service.port,
      `GET /v1/pair/status?token=${token} HTTP/1.1\r\nHost: a\r\nx-pair-secret: ${secret}\r\nx-pair-secret: ${secret}\r\n\r\n`,
    );
    expect(statusesIn(text)).toEqual([400]);
    expect((await poll(token, secret)).body).toEqual(HANDED);
  });
});
