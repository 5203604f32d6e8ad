import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseSessionKeys } from '../../../src/config.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { freshId, signIn, tokenFor, type RequestOptions, type TestService } from '../../harness.ts';
import { ownRedis } from '../../realtime/own.ts';
import { signInToStore } from '../../store.ts';

const DAY_MS = 86_400_000;
const NOBODY = { ok: true, authenticated: false };

let redis: Awaited<ReturnType<typeof ownRedis>>;
let service: TestService;
let elsewhere: TestService;
beforeAll(async () => {
  redis = await ownRedis();
  [service, elsewhere] = await Promise.all([redis.start({ settings: { SESSION_VERIFY: 'on' } }), redis.start()]);
});
afterAll(async () => {
  await Promise.all([service, elsewhere].map((one) => one[Symbol.asyncDispose]()));
  await redis[Symbol.asyncDispose]();
});

const verify = async (sessionToken: unknown, options?: RequestOptions, on = service) => {
  const { status, body, setCookies } = await on.post('/v1/sessions/verify', { sessionToken }, options);
  expect(setCookies).toEqual([]);
  return [status, body.error?.code ?? body];
};

describe('POST /v1/sessions/verify', () => {
  test('names the account and the end of a session, by the token or the value of the cookie', async () => {
    const installId = freshId();
    const { body } = await service.post('/v1/login', { installId, session: 'token' });
    const { accountId, expiresAt, sessionToken } = body;
    expect(accountId).toBe(accountIdOf(installId));
    const answer = [200, { ok: true, authenticated: true, accountId, expiresAt }];
    expect(await verify(sessionToken)).toEqual(answer);
    expect(await verify(sessionToken)).toEqual(answer);
    const cookie = await signIn(service, installId);
    expect(await verify(cookie.slice('svc_session='.length))).toMatchObject([200, { authenticated: true, accountId }]);
  });

  test.each([
    '',
    'x',
    'a.b.c',
    '..',
    'null',
    '\0',
    'é'.repeat(100),
    'a'.repeat(10_000),
    `${'a'.repeat(5000)}.${'b'.repeat(5000)}.${'c'.repeat(43)}`,
  ])('the text %.20j is nobody', async (text) => {
    expect(await verify(text)).toEqual([200, NOBODY]);
  });

  test('a token of another deployment, with a flipped bit, or of a device cookie is nobody', async () => {
    await using stranger = await redis.start({ sessionKeys: parseSessionKeys(`other:${Buffer.alloc(32, 8).toString('base64url')}`) });
    expect(await verify(await tokenFor(stranger, freshId()))).toEqual([200, NOBODY]);
    const token = await tokenFor(service, freshId());
    expect(await verify(token.slice(0, -3) + (token.at(-3) === 'A' ? 'B' : 'A') + token.slice(-2))).toEqual([200, NOBODY]);
    const { cookies } = await service.post('/v1/trial/touch', { deviceId: freshId('device') });
    expect(await verify(cookies[0]!.slice('svc_device='.length))).toEqual([200, NOBODY]);
  });

  test('a session that expired is nobody', async () => {
    await using earlier = await redis.start();
    earlier.advance(-31 * DAY_MS);
    expect(await verify(await tokenFor(earlier, freshId()))).toEqual([200, NOBODY]);
  });

  test('a session that signed out on another process is nobody at once, though it was verified before', async () => {
    const installId = freshId();
    const [one, other] = [await tokenFor(service, installId), await tokenFor(service, installId)];
    expect(await verify(one)).toMatchObject([200, { authenticated: true }]);
    await elsewhere.post('/v1/logout', {}, { bearer: one });
    expect(await verify(one)).toEqual([200, NOBODY]);
    expect(await verify(one)).toEqual([200, NOBODY]);
    expect(await verify(other)).toMatchObject([200, { authenticated: true }]);
    await elsewhere.post('/v1/logout', { everywhere: true }, { bearer: other });
    expect(await verify(other)).toEqual([200, NOBODY]);
  });

  test('a session of a guest that moved is nobody, and that of its store account is the account', async () => {
    const installId = freshId();
    const token = await tokenFor(service, installId);
    const { body, cookies } = await signInToStore(service, freshId('subject'), { installId });
    expect(await verify(token)).toEqual([200, NOBODY]);
    expect(await verify(cookies.slice('svc_session='.length))).toMatchObject([200, { authenticated: true, accountId: body.accountId }]);
  });

  test("the asking server's own cookie and bearer do not count, valid or not", async () => {
    const own = await tokenFor(service, freshId());
    const player = await tokenFor(service, freshId());
    for (const options of [
      { bearer: own },
      { bearer: 'a.b.c' },
      { cookies: `svc_session=${own}` },
      { headers: { 'x-install-id': 'short' } },
    ]) {
      expect(await verify('a.b.c', options)).toEqual([200, NOBODY]);
      expect(await verify(player, options)).toMatchObject([200, { authenticated: true }]);
    }
    const { status, body } = await service.post('/v1/sessions/verify', {}, { bearer: own });
    expect([status, body.error.field]).toEqual([400, 'sessionToken']);
  });

  test.each([undefined, null, 7, ['a.b.c'], { token: 'a.b.c' }])('refuses the sessionToken %j', async (sessionToken) => {
    expect(await verify(sessionToken)).toEqual([400, 'invalid_request']);
  });

  test('changes nothing in Redis and renews nothing', async () => {
    await using later = await redis.start({ settings: { SESSION_VERIFY: 'on' } });
    const token = await tokenFor(later, freshId());
    later.advance(16 * DAY_MS);
    // The service asks its store for refunds a second after its start.
    const keys = async () =>
      (await service.service.redis.keys('*')).filter((key) => !/^(product-purchases:asked:|\{sandbox:)/.test(key)).toSorted();
    const before = await keys();
    const [, answer] = await verify(token, {}, later);
    expect(Object.keys(answer).toSorted()).toEqual(['accountId', 'authenticated', 'expiresAt', 'ok']);
    expect(await keys()).toEqual(before);
  });

  test('counts against the request limit of the address', async () => {
    await using limited = await redis.start({
      settings: { SESSION_VERIFY: 'on', RATE_LIMIT: 'on', RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '2' },
      stoppedClock: true,
    });
    const statuses = [];
    for (let round = 0; round < 3; round++) statuses.push((await verify('a.b.c', {}, limited))[0]);
    expect(statuses).toEqual([200, 200, 429]);
  });
});

test.each<Record<string, string>>([{}, { SESSION_VERIFY: 'off' }])(
  'with the settings %o it is 403 server_only, and tells nothing',
  async (settings) => {
    await using off = await redis.start({ settings });
    const token = await tokenFor(off, freshId());
    expect(await verify(token, {}, off)).toEqual([403, 'server_only']);
    expect(await verify('a.b.c', { bearer: token }, off)).toEqual([403, 'server_only']);
  },
);
