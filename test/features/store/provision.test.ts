import { describe, expect, test } from 'vitest';
import { forFile, freshId, signIn, start } from '../../harness.ts';
import { issue, provision, signInToStore } from '../../store.ts';

const service = await forFile(start());

const send = (body: object, to = service) => to.post('/v1/account/store-provision', body);

describe('POST /v1/account/store-provision', () => {
  test('creates the account of a new subject and signs it in', async () => {
    const before = service.now();
    const { body, cookies } = await signInToStore(service, freshId('subject'));
    expect(body).toEqual({
      ok: true,
      accountId: expect.stringMatching(/^[\w-]{22}$/),
      created: true,
      expiresAt: expect.any(String),
      moved: false,
    });
    const days = (Date.parse(body.expiresAt) - before) / 86_400_000;
    expect(Math.round(days)).toBe(30);
    expect((await service.get('/v1/session', { cookies })).body).toMatchObject({ authenticated: true, accountId: body.accountId });
    expect((await service.get('/v1/coins/history', { cookies })).body.entries).toEqual([]);
  });

  test('finds the account of a known subject on every process', async () => {
    await using other = await start();
    const subject = freshId('subject');
    const { body: first } = await signInToStore(service, subject);
    for (const at of [service, other]) {
      const { body } = await signInToStore(at, subject);
      expect([body.accountId, body.created]).toEqual([first.accountId, false]);
    }
    expect((await signInToStore(service, freshId('subject'))).body.accountId).not.toBe(first.accountId);
  });

  test('20 concurrent sign-ins of a new subject create one account', async () => {
    const subject = freshId('subject');
    const replies = await Promise.all(Array.from({ length: 20 }, () => signInToStore(service, subject)));
    expect(new Set(replies.map(({ body }) => body.accountId)).size).toBe(1);
    expect(replies.filter(({ body }) => body.created)).toHaveLength(1);
  });

  test('identifies the user by subject, not by e-mail address', async () => {
    const one = await issue(service, { kind: 'id_token', email: 'ada@a.example' });
    const other = await issue(service, { kind: 'id_token', email: 'ada@a.example' });
    const ids = await Promise.all([one, other].map(async ({ token }) => (await send({ token })).body.accountId));
    expect(new Set(ids).size).toBe(2);
  });

  test('sets one session cookie with the attributes of a login', async () => {
    const session = await signIn(service, freshId());
    const reply = await provision(service, freshId('subject'), { cookies: session });
    expect(reply.setCookies).toHaveLength(1);
    expect(reply.setCookies[0]).toMatch(/^svc_session=[\w.-]+; /);
    for (const part of ['HttpOnly', 'SameSite=Lax', 'Path=/', 'Max-Age=2592000']) expect(reply.setCookies[0]).toContain(part);
  });
});

describe('the token of POST /v1/account/store-provision', () => {
  test.each(['a.b.c', 'x', '..', `${'e'.repeat(4000)}.${'e'.repeat(4000)}.e`])(
    'is refused with bad_token, and the guest keeps its coins: %.20s',
    async (token) => {
      const installId = freshId();
      await service.post('/v1/coins/credit', { installId, coins: 5, key: 'a' });
      const reply = await send({ token, installId });
      expect([reply.status, reply.body.error]).toEqual([401, { code: 'bad_token', message: 'The token does not verify.', field: 'token' }]);
      expect(reply.setCookies).toEqual([]);
      expect((await service.get('/v1/balance', { headers: { 'x-install-id': installId } })).body.balanceCoins).toBe(5);
    },
  );

  test('is refused with bad_token after it expired', async () => {
    const { token } = await issue(service, { kind: 'id_token' });
    await using later = await start();
    later.advance(2 * 3_600_000);
    expect((await send({ token }, later)).body.error.code).toBe('bad_token');
  });

  test('is refused with bad_token when its signature is changed', async () => {
    const { token } = await issue(service, { kind: 'id_token', subject: freshId() });
    const [header, payload, signature] = token.split('.');
    const flipped = `${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`;
    expect((await send({ token: [header, payload, flipped].join('.') })).body.error.code).toBe('bad_token');
    expect((await send({ token })).status).toBe(200);
  });

  test('is checked after the shape of the request', async () => {
    for (const token of [undefined, null, 7, '', 'a b', 'x'.repeat(8193)]) {
      const reply = await send({ token });
      expect([reply.status, reply.body.error.code, reply.body.error.field]).toEqual([400, 'invalid_request', 'token']);
    }
    const reply = await send({ token: 'a.b.c', installId: 'short' });
    expect([reply.status, reply.body.error.code, reply.body.error.field]).toEqual([400, 'invalid_request', 'installId']);
  });
});

describe('POST /v1/account/store-provision without a configured store', () => {
  test.each([{ STORE: 'off' }, { STORE: 'google' }])(
    'answers store_unconfigured and sets no cookie with the settings %o',
    async (settings) => {
      await using own = await start({ settings });
      const { token } = await issue(service, { kind: 'id_token' });
      for (const body of [{ token: 'a.b.c' }, { token }, { token, installId: freshId() }]) {
        const reply = await send(body, own);
        expect([reply.status, reply.body.error]).toEqual([
          503,
          { code: 'store_unconfigured', message: 'No app store is configured on this service.' },
        ]);
        expect(reply.setCookies).toEqual([]);
      }
    },
  );
});

test('sign-ins count against the creation limit of the address', async () => {
  await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_CREATIONS_PER_MINUTE: '3' } });
  const { token } = await issue(service, { kind: 'id_token' });
  const statuses = [];
  for (let index = 0; index < 4; index++) statuses.push((await send({ token }, limited)).status);
  expect(statuses).toEqual([200, 200, 200, 429]);
});
