import { beforeEach, expect, test } from 'vitest';
import { SESSION_LIFE_MS } from '../../../src/accounts/session-list.ts';
import { Sessions } from '../../../src/server/identity/sessions.ts';
import { TokenSigner } from '../../../src/server/identity/signed-token.ts';
import { testKeys } from '../../harness.ts';

let now: number;
let sessions: Sessions;
let verified: number;
beforeEach(() => {
  [now, verified] = [1_800_000_000_000, 0];
  const signer = new TokenSigner(testKeys);
  const verify = signer.verify.bind(signer);
  signer.verify = (...args) => (verified++, verify(...args));
  sessions = new Sessions(signer, { now: () => now });
});

const startOne = (): string => `svc_session=${sessions.start({ accountId: 'account', generation: '3', kind: 'login' }).token}`;

test('a verified cookie is remembered for a minute. The cookie of an ended session is refused without another verification', () => {
  const cookie = startOne();
  sessions.ofCookies(cookie);
  now += 59_999;
  expect([sessions.ofCookies(cookie)?.accountId, verified]).toEqual(['account', 1]);
  now += 1;
  const session = sessions.ofCookies(cookie)!;
  expect([session.accountId, verified]).toEqual(['account', 2]);
  sessions.markEnded(session);
  expect([sessions.ofCookies(cookie), verified]).toEqual([undefined, 2]);
});

test('a token that shares only its signature with a remembered one is refused, remembered or ended', () => {
  const cookie = startOne();
  const session = sessions.ofCookies(cookie)!;
  const [head, , signature] = cookie.split('.');
  const forged = `${head}.${Buffer.from(JSON.stringify({ sub: 'another-account' })).toString('base64url')}.${signature}`;
  expect([sessions.ofCookies(forged), sessions.ofCookies(cookie)]).toEqual([undefined, session]);
  sessions.markEnded(session);
  expect([sessions.ofCookies(forged), sessions.ofCookies(cookie)]).toEqual([undefined, undefined]);
});

test('a session ends 30 days after its start', () => {
  const cookie = startOne();
  now += SESSION_LIFE_MS - 1;
  expect(sessions.ofCookies(cookie)).toBeDefined();
  now += 1;
  expect(sessions.ofCookies(cookie)).toBeUndefined();
});
