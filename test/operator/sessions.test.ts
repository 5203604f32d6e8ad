import { expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { isSignedIn, phoneWithBrowsers } from '../features/sessions/paired.ts';
import { forFile } from '../harness.ts';
import { logged, openDesk } from './parts.ts';

/** The sessions of an account, as operators see and end them. */

const { service, read, change } = await forFile(openDesk({ role: 'support' }));

const sessionsOf = async (accountId: string) => (await read(`/accounts/${accountId}`)).body.sessions;
const end = async (accountId: string, session: string) => (await change(`/accounts/${accountId}/end-session`, { session })).body;

test('sessions are listed with their browsers, and end one by one, also while the account is banned', async () => {
  const { installId, phone, first, second } = await phoneWithBrowsers(service);
  const accountId = accountIdOf(installId);
  const areSignedIn = () => Promise.all([first, second, phone].map((cookies) => isSignedIn(service, cookies)));
  const { listed, signOutsEverywhere } = await sessionsOf(accountId);
  const time = expect.any(String);
  const session = { id: time, kind: 'pairing', createdAt: time, lastSeenAt: time, expiresAt: time };
  expect([listed, signOutsEverywhere]).toEqual([
    [
      { ...session, userAgent: 'Second' },
      { ...session, userAgent: 'First' },
    ],
    0,
  ]);
  const [latest, former] = listed;
  const ended = await end(accountId, former.id);
  expect(ended).toEqual({ ok: true, accountId, logged });
  expect(ended.logged).toMatchObject({ action: 'accounts end-session', what: { account: accountId, session: former.id } });
  expect(await areSignedIn()).toEqual([false, true, true]);
  expect((await end(accountId, former.id)).ok).toBe(true);
  await change(`/accounts/${accountId}/ban`);
  expect((await sessionsOf(accountId)).listed).toMatchObject([{ id: latest.id }]);
  expect((await end(accountId, latest.id)).ok).toBe(true);
  await change(`/accounts/${accountId}/unban`);
  expect(await areSignedIn()).toEqual([false, false, true]);
});

test('sessions of another account and unknown sessions give 404 session_not_found', async () => {
  const [one, other] = [await phoneWithBrowsers(service), await phoneWithBrowsers(service)];
  const [{ id }] = (await sessionsOf(accountIdOf(one.installId))).listed;
  for (const [session, code] of [
    [id, 'session_not_found'],
    ['0.AAAAAAAAAAAAAAAA', 'session_not_found'],
    ...['', '}{a:', 'x'.repeat(60)].map((text) => [text, 'invalid_request']),
  ])
    expect([session, (await end(accountIdOf(other.installId), session)).error.code]).toEqual([session, code]);
  expect(await isSignedIn(service, one.second)).toBe(true);
});
