import { describe, expect, test } from 'vitest';
import { forFile, freshId, signIn, start, type TestReply } from '../../harness.ts';
import { issue, provision, signInToStore } from '../../store.ts';

const service = await forFile(start());
/** Another process on the same data, whose clock moves. */
const other = await forFile(start());

const send = (body: object, to = service): Promise<TestReply> => to.post('/v1/account/store-provision', body);
const outcome = ({ status, body, setCookies }: TestReply) => [status, body.error, setCookies];
const BAD_TOKEN = [401, { code: 'bad_token', message: 'The token does not verify.', field: 'token' }, []];

describe('POST /v1/account/store-provision', () => {
  test('creates the account of a new subject and signs it in', async () => {
    const before = service.now();
    const { body, cookies } = await signInToStore(service, freshId('subject'));
    const accountId = expect.stringMatching(/^[\w-]{22}$/);
    expect(body).toEqual({ ok: true, accountId, created: true, expiresAt: expect.any(String), moved: false });
    expect(Math.round((Date.parse(body.expiresAt) - before) / 86_400_000)).toBe(30);
    expect((await service.get('/v1/session', { cookies })).body).toMatchObject({ authenticated: true, accountId: body.accountId });
    expect((await service.get('/v1/coins/history', { cookies })).body.entries).toEqual([]);
  });

  test('finds the account of a known subject on every process, and creates it once for concurrent sign-ins', async () => {
    const subject = freshId('subject');
    const replies = await Promise.all(Array.from({ length: 12 }, (_, index) => signInToStore(index % 2 === 0 ? service : other, subject)));
    expect(new Set(replies.map(({ body }) => body.accountId)).size).toBe(1);
    expect(replies.filter(({ body }) => body.created)).toHaveLength(1);
    expect((await signInToStore(service, freshId('subject'))).body.accountId).not.toBe(replies[0]!.body.accountId);
  });

  test('identifies the user by subject, not by e-mail address', async () => {
    const tokens = [1, 2].map(() => issue(service, { kind: 'id_token', email: 'ada@a.example' }));
    const ids = await Promise.all(tokens.map(async (issued) => (await send({ token: (await issued).token })).body.accountId));
    expect(new Set(ids).size).toBe(2);
  });

  test('sets one session cookie with the attributes of a login', async () => {
    const reply = await provision(service, freshId('subject'), { cookies: await signIn(service, freshId()) });
    expect(reply.setCookies).toHaveLength(1);
    expect(reply.setCookies[0]).toMatch(/^svc_session=[\w.-]+; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/);
  });
});

describe('the token of POST /v1/account/store-provision', () => {
  test.each(['a.b.c', 'x', `${'e'.repeat(4000)}.${'e'.repeat(4000)}.e`])(
    'is refused with bad_token, and the guest keeps its coins: %.20s',
    async (token) => {
      const installId = freshId();
      await service.post('/v1/coins/credit', { installId, coins: 5, key: 'a' });
      expect(outcome(await send({ token, installId }))).toEqual(BAD_TOKEN);
      expect((await service.get('/v1/balance', { headers: { 'x-install-id': installId } })).body.balanceCoins).toBe(5);
    },
  );

  test('is refused with bad_token after it expired, and when its signature is changed', async () => {
    const { token } = await issue(service, { kind: 'id_token', subject: freshId() });
    const [header, payload, signature] = token.split('.');
    const flipped = `${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`;
    expect(outcome(await send({ token: [header, payload, flipped].join('.') }))).toEqual(BAD_TOKEN);
    expect((await send({ token })).status).toBe(200);
    other.advance(2 * 3_600_000);
    expect(outcome(await send({ token }, other))).toEqual(BAD_TOKEN);
  });

  test.each([
    ['token', undefined],
    ['token', 'a b'],
    ['token', 'x'.repeat(8193)],
    ['installId', 'short'],
  ])('is checked after the shape of the request: %s', async (field, value) => {
    const reply = await send({ token: 'a.b.c', [field]: value });
    expect([reply.status, reply.body.error.code, reply.body.error.field]).toEqual([400, 'invalid_request', field]);
  });
});

test.each([{ STORE: 'off' }, { STORE: 'google' }])('without a configured store answers store_unconfigured: %o', async (settings) => {
  await using own = await start({ settings });
  const { token } = await issue(service, { kind: 'id_token' });
  const unconfigured = { code: 'store_unconfigured', message: 'No app store is configured on this service.' };
  for (const body of [{ token: 'a.b.c' }, { token, installId: freshId() }])
    expect(outcome(await send(body, own))).toEqual([503, unconfigured, []]);
});

test('sign-ins count against the creation limit of the address', async () => {
  await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_CREATIONS_PER_MINUTE: '3' } });
  const { token } = await issue(service, { kind: 'id_token' });
  const statuses = [];
  for (let index = 0; index < 4; index++) statuses.push((await send({ token }, limited)).status);
  expect(statuses).toEqual([200, 200, 200, 429]);
});
