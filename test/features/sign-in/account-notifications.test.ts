import { describe, expect, test, vi } from 'vitest';
import { IssuerKeys } from '../../../src/stores/openid/issuer-keys.ts';
import { appStoreUnavailable } from '../../../src/stores/store-refusals.ts';
import { audited } from '../../consistency/audited.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { deskOf } from '../../operator/parts.ts';
import { startRedis } from '../../own-redis.ts';
import { balanceOf, issue } from '../../store.ts';

const own = await forFile(startRedis());
const service = await forFile(start({ redis: own.location, settings: { STORE: 'sandbox', ADMIN_API: 'on' } }));
const desk = await deskOf(service);

const PATH = '/v1/store/apple/account-notifications';
const tokenOf = async (subject: string, provider = 'apple', nonce?: string): Promise<string> =>
  (await issue(service, { kind: 'id_token', provider, subject, nonce })).token;
const payloadOf = async (subject: string, type: string): Promise<string> =>
  (await issue(service, { kind: 'account_notification', subject, type })).payload;
const notify = async (payload: string) => {
  const { status, body } = await service.post(PATH, { payload });
  return status === 200 ? body.ended : body.error.code;
};
const isSignedIn = async (cookies: string): Promise<boolean> => (await service.get('/v1/session', { cookies })).body.authenticated;

/** Signs in, a second later, so that what happened before is older. */
async function enter(subject: string, provider = 'apple') {
  service.advance(1000);
  const { body, cookies } = await service.post('/v1/account/store-provision', { token: await tokenOf(subject, provider) });
  expect(body.error).toBeUndefined();
  service.advance(1000);
  return { subject, accountId: body.accountId as string, cookies: cookies.find((cookie) => cookie.startsWith('svc_session='))! };
}

/** Adds a sign-in of Apple's to the account of a session. */
async function addApple(to: Awaited<ReturnType<typeof enter>>, provider: string): Promise<string> {
  const { nonce } = (await service.post('/v1/account/sign-ins/nonce', {}, { cookies: to.cookies })).body;
  const subject = freshId('apple');
  const proof = await tokenOf(to.subject, provider);
  const { body } = await service.post(
    '/v1/account/sign-ins',
    { token: await tokenOf(subject, 'apple', nonce), proof },
    { cookies: to.cookies },
  );
  expect(body.added).toBe(true);
  return subject;
}

const shown = async (accountId: string) => (await desk.read(`/accounts/${accountId}`)).body;

describe('a user who withdraws consent', () => {
  test('is signed out everywhere, and finds everything again', async () => {
    const ada = await enter(freshId('ada'));
    const again = await enter(ada.subject);
    await service.post('/v1/coins/credit', { coins: 7, key: 'seven' }, { cookies: ada.cookies });
    expect(await notify(await payloadOf(ada.subject, 'consent-revoked'))).toBe('sessions');
    for (const { cookies } of [ada, again]) expect(await isSignedIn(cookies)).toBe(false);
    const back = await enter(ada.subject);
    expect([back.accountId, await balanceOf(service, back)]).toEqual([ada.accountId, 7]);
  });

  test('and consents again is not signed out by the late notification, nor by its repetition', async () => {
    const ada = await enter(freshId('ada'));
    const late = await payloadOf(ada.subject, 'consent-revoked');
    expect(await notify(late)).toBe('sessions');
    const back = await enter(ada.subject);
    expect(await notify(late)).toBe('nothing');
    expect(await isSignedIn(back.cookies)).toBe(true);
  });

  test('keeps the sessions of other sign-ins', async () => {
    const ada = await enter(freshId('ada'), 'google');
    const subject = await addApple(ada, 'google');
    const apple = await enter(subject);
    expect(apple.accountId).toBe(ada.accountId);
    expect(await notify(await payloadOf(subject, 'consent-revoked'))).toBe('sessions');
    expect([await isSignedIn(apple.cookies), await isSignedIn(ada.cookies)]).toEqual([false, true]);
    expect((await shown(ada.accountId)).signIns).toHaveLength(2);
  });
});

describe.each(['account-delete', 'account-deleted'])('a user whose Apple Account is deleted (%s)', (type) => {
  test('loses the sign-in, and the account is kept and shown to operators', async () => {
    const ada = await enter(freshId('ada'));
    await service.post('/v1/coins/credit', { coins: 7, key: 'seven' }, { cookies: ada.cookies });
    const payload = await payloadOf(ada.subject, type);
    expect(await notify(payload)).toBe('sign_in');
    expect(await isSignedIn(ada.cookies)).toBe(false);
    expect(await shown(ada.accountId)).toMatchObject({ balanceCoins: 7, kind: 'store', signIns: [], signInLostAt: expect.any(String) });
    expect(await notify(payload)).toBe('nothing');
    // The same subject is another user now.
    expect((await enter(ada.subject)).accountId).not.toBe(ada.accountId);
  });

  test('keeps the account by another sign-in', async () => {
    const ada = await enter(freshId('ada'), 'google');
    const subject = await addApple(ada, 'google');
    expect(await notify(await payloadOf(subject, type))).toBe('sign_in');
    const found = await shown(ada.accountId);
    expect(found.signIns.map(({ provider }: { provider: string }) => provider)).toEqual(['google']);
    expect(found.signInLostAt).toBeUndefined();
    expect((await enter(ada.subject, 'google')).accountId).toBe(ada.accountId);
    expect((await enter(subject)).accountId).not.toBe(ada.accountId);
  });

  test('keeps a sign-in that was used since', async () => {
    const ada = await enter(freshId('ada'));
    const late = await payloadOf(ada.subject, type);
    const back = await enter(ada.subject);
    expect(await notify(late)).toBe('nothing');
    expect(await isSignedIn(back.cookies)).toBe(true);
  });
});

test.each(['email-enabled', 'email-disabled', 'something-new', '__proto__'])('%s changes nothing', async (type) => {
  const ada = await enter(freshId('ada'));
  expect(await notify(await payloadOf(ada.subject, type))).toBe('nothing');
  expect(await isSignedIn(ada.cookies)).toBe(true);
});

test('an unknown user is answered, and creates nothing', async () => {
  const before = await own.redis.dbsize();
  expect(await notify(await payloadOf(freshId('nobody'), 'account-delete'))).toBe('nothing');
  expect(await own.redis.dbsize()).toBe(before);
});

test('what Apple has not signed as a notification is bad_token', async () => {
  const ada = await enter(freshId('ada'));
  const payload = await payloadOf(ada.subject, 'account-delete');
  const other = await payloadOf(freshId('other'), 'account-delete');
  const [head, , signature] = payload.split('.');
  const [, body] = other.split('.');
  for (const text of ['a.b.c', `${head}.${body}.${signature}`, await tokenOf(ada.subject), await tokenOf(ada.subject, 'google')])
    expect(await notify(text)).toBe('bad_token');
  // A notification is no ID token.
  expect((await service.post('/v1/account/store-provision', { token: payload })).body.error.code).toBe('bad_token');
  expect(await isSignedIn(ada.cookies)).toBe(true);
});

test('without the client ids of Apple nothing is accepted', async () => {
  await using without = await start({ settings: { STORE: 'google', GOOGLE_CLIENT_IDS: 'a.apps.googleusercontent.com' } });
  expect((await without.post(PATH, { payload: 'a.b.c' })).body.error.code).toBe('store_unconfigured');
});

test('while the keys of Apple cannot be fetched, the answer says so', async () => {
  const payload = await payloadOf(freshId('ada'), 'account-delete');
  const find = vi.spyOn(IssuerKeys.prototype, 'find').mockRejectedValueOnce(appStoreUnavailable(1000));
  expect(await notify(payload)).toBe('app_store_unavailable');
  find.mockRestore();
  expect(await notify(payload)).toBe('nothing');
});

test('the audit finds nothing in the data that these tests leave', async () => {
  expect((await audited(own.location, { now: service.now })).findings).toEqual([]);
});
