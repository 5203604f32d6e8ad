import { describe, expect, test } from 'vitest';
import { parseSessionKeys } from '../../../src/config.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { forFile, freshId, signIn, tokenFor, type RequestOptions } from '../../harness.ts';
import { twoProcesses } from '../../realtime/own.ts';
import { signInToStore } from '../../store.ts';

const NOBODY = [200, { ok: true, authenticated: false }];

const { redis, there: elsewhere } = await twoProcesses();
const on = { settings: { SESSION_VERIFY: 'on' } };
const service = await forFile(redis.start(on));

const verify = async (sessionToken: unknown, options?: RequestOptions, by = service) => {
  const { status, body, setCookies } = await by.post('/v1/sessions/verify', { sessionToken }, options);
  expect(setCookies).toEqual([]);
  return [status, body.error?.code ?? body];
};

describe('POST /v1/sessions/verify', () => {
  test('names the account and the end of a session, by the token or the value of the cookie', async () => {
    const installId = freshId();
    const { accountId, expiresAt, sessionToken } = (await service.post('/v1/login', { installId, session: 'token' })).body;
    const answer = [200, { ok: true, authenticated: true, accountId: accountIdOf(installId), expiresAt }];
    expect([accountId, await verify(sessionToken), await verify(sessionToken)]).toEqual([accountIdOf(installId), answer, answer]);
    const cookie = await signIn(service, installId);
    expect(await verify(cookie.slice('svc_session='.length))).toMatchObject([200, { authenticated: true, accountId }]);
  });

  test('a text that is no token, and one that is expired, changed, of another deployment or of a device, is nobody', async () => {
    await using stranger = await redis.start({ sessionKeys: parseSessionKeys(`other:${Buffer.alloc(32, 8).toString('base64url')}`) });
    await using earlier = await redis.start();
    earlier.advance(-31 * 86_400_000);
    const token = await tokenFor(service, freshId());
    const { cookies } = await service.post('/v1/trial/touch', { deviceId: freshId('device') });
    for (const text of [
      ...['', 'x', 'a.b.c', '..', 'null', '\0', 'é'.repeat(100), 'a'.repeat(10_000)],
      `${'a'.repeat(5000)}.${'b'.repeat(5000)}.${'c'.repeat(43)}`,
      await tokenFor(stranger, freshId()),
      await tokenFor(earlier, freshId()),
      token.slice(0, -3) + (token.at(-3) === 'A' ? 'B' : 'A') + token.slice(-2),
      cookies[0]!.slice('svc_device='.length),
    ])
      expect([text, await verify(text)]).toEqual([text, NOBODY]);
  });

  test('a session that signed out on another process is nobody at once, though it was verified before', async () => {
    const installId = freshId();
    const [one, other] = [await tokenFor(service, installId), await tokenFor(service, installId)];
    expect(await verify(one)).toMatchObject([200, { authenticated: true }]);
    await elsewhere.post('/v1/logout', {}, { bearer: one });
    expect([await verify(one), await verify(one)]).toEqual([NOBODY, NOBODY]);
    expect(await verify(other)).toMatchObject([200, { authenticated: true }]);
    await elsewhere.post('/v1/logout', { everywhere: true }, { bearer: other });
    expect(await verify(other)).toEqual(NOBODY);
  });

  test('a session of a guest that moved is nobody, and that of its store account is the account', async () => {
    const installId = freshId();
    const token = await tokenFor(service, installId);
    const { body, cookies } = await signInToStore(service, freshId('subject'), { installId });
    expect(await verify(token)).toEqual(NOBODY);
    expect(await verify(cookies.slice('svc_session='.length))).toMatchObject([200, { authenticated: true, accountId: body.accountId }]);
  });

  test("the asking server's own cookie and bearer do not count, valid or not", async () => {
    const [own, player] = [await tokenFor(service, freshId()), await tokenFor(service, freshId())];
    const headers = { 'x-install-id': 'short' };
    for (const options of [{ bearer: own }, { bearer: 'a.b.c' }, { cookies: `svc_session=${own}` }, { headers }]) {
      expect(await verify('a.b.c', options)).toEqual(NOBODY);
      expect(await verify(player, options)).toMatchObject([200, { authenticated: true }]);
    }
    for (const sessionToken of [undefined, null, 7, ['a.b.c'], { token: 'a.b.c' }])
      expect(await verify(sessionToken, { bearer: own })).toEqual([400, 'invalid_request']);
  });

  test.each<Record<string, string>>([{}, { SESSION_VERIFY: 'off' }])('with the settings %o is 403 server_only', async (settings) => {
    await using off = await redis.start({ settings });
    const token = await tokenFor(off, freshId());
    expect(await verify(token, {}, off)).toEqual([403, 'server_only']);
    expect(await verify('a.b.c', { bearer: token }, off)).toEqual([403, 'server_only']);
  });
});
