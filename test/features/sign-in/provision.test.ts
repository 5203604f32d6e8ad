import { describe, expect, test } from 'vitest';
import { hash } from 'node:crypto';
import { codeOf, forFile, freshId, signIn, start, tokenFor, type RequestOptions, type TestReply, type TestService } from '../../harness.ts';
import { Issuer, rsaKey, signed } from '../../stores/google/issuer.ts';
import { balanceOf, issue, provision, signInToStore } from '../../store.ts';
import { peopleOf, person } from './people.ts';

const service = await forFile(start());
/** Another process on the same data, whose clock moves. */
const other = await forFile(start());

const send = (body: object, to = service, options: RequestOptions = {}): Promise<TestReply> =>
  to.post('/v1/account/store-provision', body, options);
const outcome = ({ status, body, setCookies }: TestReply) => [status, body.error, setCookies];
const BAD_TOKEN = [401, { code: 'bad_token', message: 'The token does not verify.', field: 'token' }, []];

describe('POST /v1/account/store-provision', () => {
  test('creates the account of a new subject and signs it in by a cookie with the attributes of a login', async () => {
    const before = service.now();
    const { body, cookies, setCookies } = await provision(service, freshId('subject'));
    const accountId = expect.stringMatching(/^[\w-]{22}$/);
    expect(body).toEqual({ ok: true, accountId, provider: 'google', created: true, expiresAt: expect.any(String), moved: false });
    expect(Math.round((Date.parse(body.expiresAt) - before) / 86_400_000)).toBe(30);
    expect(setCookies).toEqual([expect.stringMatching(/^svc_session=[\w.-]+; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/)]);
    expect((await service.get('/v1/session', { cookies })).body).toMatchObject({ authenticated: true, accountId: body.accountId });
  });

  test('finds the account of a known subject on every process, and creates it once for concurrent sign-ins', async () => {
    const subject = freshId('subject');
    const replies = await Promise.all(Array.from({ length: 12 }, (_, index) => signInToStore(index % 2 === 0 ? service : other, subject)));
    expect(new Set(replies.map(({ body }) => body.accountId)).size).toBe(1);
    expect(replies.filter(({ body }) => body.created)).toHaveLength(1);
  });

  test('with session: token, or for a request with a bearer, answers with the token and sets no cookie', async () => {
    await using later = await start();
    const [cookies, bearer, other] = [await signIn(later, freshId()), await tokenFor(later, freshId()), await tokenFor(later, freshId())];
    // The service does not renew the guest's cookie, which the move ends.
    later.advance(16 * 86_400_000);
    for (const [session, options] of [
      ['token', { cookies }],
      ['cookie', { bearer }],
      [undefined, { bearer: other }],
    ] as const) {
      const { token } = await issue(later, { kind: 'id_token', subject: freshId('subject') });
      const { body, setCookies, headers } = await send({ token, session }, later, options);
      expect([body.moved, setCookies, headers.get('cache-control')]).toEqual([true, [], 'no-store']);
      expect((await later.get('/v1/session', { bearer: body.sessionToken })).body.accountId).toBe(body.accountId);
    }
  });
});

describe('the token of POST /v1/account/store-provision', () => {
  test('is refused with bad_token if it is forged or expired, and the guest keeps its coins', async () => {
    const installId = freshId();
    await service.post('/v1/coins/credit', { installId, coins: 5, key: 'a' });
    const { token } = await issue(service, { kind: 'id_token', subject: freshId() });
    const [header, payload, signature] = token.split('.');
    const flipped = `${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}`;
    for (const forged of ['a.b.c', 'x', `${'e'.repeat(4000)}.${'e'.repeat(4000)}.e`, [header, payload, flipped].join('.')])
      expect([forged, ...outcome(await send({ token: forged, installId }))]).toEqual([forged, ...BAD_TOKEN]);
    other.advance(2 * 3_600_000);
    expect(outcome(await send({ token, installId }, other))).toEqual(BAD_TOKEN);
    expect(await balanceOf(service, { installId })).toBe(5);
    expect((await send({ token })).status).toBe(200);
  });

  test.each([
    ['token', undefined],
    ['token', 'a b'],
    ['token', 'x'.repeat(8193)],
    ['installId', 'short'],
    ['session', 'header'],
  ])('is checked after the shape of the request: %s', async (field, value) => {
    const reply = await send({ token: 'a.b.c', [field]: value });
    expect([codeOf(reply), reply.body.error.field]).toEqual(['400 invalid_request', field]);
  });
});

test.each([{ STORE: 'off' }, { STORE: 'google' }])('without a configured store answers store_unconfigured: %o', async (settings) => {
  await using own = await start({ settings });
  for (const body of [{ token: 'a.b.c' }, { token: 'a.b.c', installId: freshId() }])
    expect(codeOf(await send(body, own))).toBe('503 store_unconfigured');
});

test('sign-ins count against the creation limit of the address', async () => {
  await using limited = await start({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_CREATIONS_PER_MINUTE: '3' }, stoppedClock: true });
  const { token } = await issue(service, { kind: 'id_token' });
  const codes = [];
  for (let index = 0; index < 4; index++) codes.push(codeOf(await send({ token }, limited)));
  expect(codes).toEqual(['200', '200', '200', '429 rate_limited']);
});

describe('a provider of the sandbox', () => {
  const tokenOf = async (order: object) => (await issue(service, { kind: 'id_token', ...order })).token;

  test('has accounts of its own for each subject, and its name is in the reply', async () => {
    const subject = freshId('subject');
    const signedIn = [];
    for (const provider of [undefined, 'google', 'apple', 'acme', 'apple'])
      signedIn.push((await send({ token: await tokenOf({ provider, subject }) })).body);
    expect(signedIn.map(({ provider, created }) => [provider, created])).toEqual([
      ['google', true],
      ['google', false],
      ['apple', true],
      ['acme', true],
      ['apple', false],
    ]);
    expect(new Set(signedIn.map(({ accountId }) => accountId)).size).toBe(3);
  });

  test.each<[status: number, provider: string, tokens: string | undefined, given: string | undefined]>([
    [200, 'google', 'n-1', 'n-1'],
    [200, 'google', 'n-1', undefined],
    [401, 'google', 'n-1', 'n-2'],
    [401, 'google', undefined, 'n-1'],
    [401, 'google', hash('sha256', 'n-1', 'hex'), 'n-1'],
    [200, 'apple', hash('sha256', 'n-1', 'hex'), 'n-1'],
  ])('answers %s for a token of %s with the nonce %s where %s is given', async (status, provider, nonce, given) => {
    const reply = await send({ token: await tokenOf({ provider, nonce }), nonce: given });
    expect(reply.status).toBe(status);
    if (status === 401) expect(outcome(reply)).toEqual(BAD_TOKEN);
  });
});

describe('a provider of OPENID_PROVIDERS', () => {
  const key = rsaKey('acme');
  const tokenOf = (issuer: Issuer, more: object = {}) => {
    const at = Math.floor(Date.now() / 1000);
    return signed(
      { alg: 'RS256', kid: 'acme' },
      { iss: issuer.url, aud: 'game', sub: freshId(), iat: at, exp: at + 600, ...more },
      key.privateKey,
    );
  };

  test.each([
    [
      'signs users in beside the sandbox',
      async (own: TestService, issuer: Issuer) => (await send({ token: tokenOf(issuer) }, own)).body.provider,
    ],
    [
      'is added to an account of the sandbox',
      async (own: TestService, issuer: Issuer) => {
        const { enter, add, nonceOf } = peopleOf(own);
        const ada = await enter(person());
        const token = tokenOf(issuer, { nonce: await nonceOf(ada) });
        return (await add(ada, { token })).body.signIns[1].provider;
      },
    ],
  ])('%s, and keeps its issuer: the name cannot pass to another one', async (_, use) => {
    const name = freshId('p').toLowerCase().slice(0, 20);
    await using issuer = await Issuer.start([key]);
    {
      await using own = await start({ settings: { OPENID_PROVIDERS: `${name}=${issuer.url}=game` } });
      expect(await use(own, issuer)).toBe(name);
    }
    await expect(start({ settings: { OPENID_PROVIDERS: `${name}=https://other.example=game` } })).rejects.toThrow(
      `OPENID_PROVIDERS ${name} has accounts of the issuer ${issuer.url}`,
    );
    await using renamed = await start({ settings: { OPENID_PROVIDERS: `${name}2=${issuer.url}=game` } });
    expect((await send({ token: tokenOf(issuer) }, renamed)).body).toMatchObject({ ok: true, provider: `${name}2` });
  });

  test('that does not answer is 503 app_store_unavailable within 10 s, and nobody else is hurt', async () => {
    await using issuer = await Issuer.start([key]);
    issuer.fault = () => {};
    await using own = await start({ settings: { OPENID_PROVIDERS: `away=${issuer.url}=game` } });
    const before = performance.now();
    const [away, ...others] = await Promise.all([
      send({ token: tokenOf(issuer) }, own),
      ...Array.from({ length: 5 }, async () => send({ token: await tokenFrom(own) }, own)),
    ]);
    expect([codeOf(away), performance.now() - before < 10_000]).toEqual(['503 app_store_unavailable', true]);
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });
});

async function tokenFrom(from: TestService): Promise<string> {
  return (await issue(from, { kind: 'id_token' })).token;
}
