import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { isSignedIn, phoneWithBrowsers } from '../features/sessions/paired.ts';
import { freshId, start, type TestService } from '../harness.ts';
import { makeServerKey } from '../server-keys.ts';
import { logged } from './parts.ts';

/** The sessions of an account, as operators see and end them. */

let service: TestService;
let bearer: string;
beforeAll(async () => {
  service = await start({ settings: { ADMIN_API: 'on' } });
  ({ token: bearer } = await makeServerKey(service, ['admin'], { role: 'support' }));
});
afterAll(() => service[Symbol.asyncDispose]());

const sessionsOf = async (accountId: string) => (await service.get(`/v1/admin/accounts/${accountId}`, { bearer })).body.sessions;
const change = (accountId: string, verb: string, fields: object) =>
  service.post(`/v1/admin/accounts/${accountId}/${verb}`, { ...fields, reason: 'ticket 4711' }, { bearer });

test('are listed with their browsers, and end one by one, also while the account is banned', async () => {
  const { installId, phone, first, second } = await phoneWithBrowsers(service);
  const accountId = accountIdOf(installId);
  const { listed, signOutsEverywhere } = await sessionsOf(accountId);
  const time = expect.any(String);
  const session = { id: time, kind: 'pairing', createdAt: time, lastSeenAt: time, expiresAt: time };
  expect(listed).toEqual([
    { ...session, userAgent: 'Second' },
    { ...session, userAgent: 'First' },
  ]);
  expect(signOutsEverywhere).toBe(0);
  const [latest, former] = listed;
  const ended = await change(accountId, 'end-session', { session: former.id });
  expect(ended.body).toEqual({ ok: true, accountId, logged });
  expect(ended.body.logged).toMatchObject({
    action: 'accounts end-session',
    what: { account: accountId, session: former.id },
    why: 'ticket 4711',
  });
  expect([await isSignedIn(service, first), await isSignedIn(service, second), await isSignedIn(service, phone)]).toEqual([
    false,
    true,
    true,
  ]);
  expect((await change(accountId, 'end-session', { session: former.id })).status).toBe(200);
  await change(accountId, 'ban', {});
  expect((await sessionsOf(accountId)).listed).toMatchObject([{ id: latest.id }]);
  expect((await change(accountId, 'end-session', { session: latest.id })).status).toBe(200);
  await change(accountId, 'unban', {});
  expect([await isSignedIn(service, second), await isSignedIn(service, phone)]).toEqual([false, true]);
});

test('of another account and unknown sessions give 404 session_not_found', async () => {
  const [one, other] = [await phoneWithBrowsers(service), await phoneWithBrowsers(service)];
  const [{ id }] = (await sessionsOf(accountIdOf(one.installId))).listed;
  for (const session of [id, '0.AAAAAAAAAAAAAAAA'])
    expect((await change(accountIdOf(other.installId), 'end-session', { session })).body.error.code).toBe('session_not_found');
  expect(await isSignedIn(service, one.second)).toBe(true);
  for (const session of ['', '}{a:', 'x'.repeat(60)])
    expect((await change(accountIdOf(other.installId), 'end-session', { session })).body.error.code).toBe('invalid_request');
  expect((await change(accountIdOf(freshId()), 'end-session', { session: id })).body.error.code).toBe('account_not_found');
});
