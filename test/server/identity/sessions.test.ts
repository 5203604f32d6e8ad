import { beforeEach, describe, expect, test } from 'vitest';
import { SESSION_LIFE_MS } from '../../../src/accounts/session-list.ts';
import { clearedSessionCookie, sessionCookie, Sessions } from '../../../src/server/identity/sessions.ts';
import { TokenSigner } from '../../../src/server/identity/signed-token.ts';
import { freshId, signIn, start, testKeys } from '../../harness.ts';

const DAY_MS = 86_400_000;

describe('Sessions', () => {
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

  test('a session names its account, and carries the generation in its id', () => {
    const cookie = startOne();
    expect(sessions.ofCookies(`a=b; ${cookie}`)).toMatchObject({
      accountId: 'account',
      id: expect.stringMatching(/^3\.[\w-]{16}$/),
      issuedAt: now,
      expiresAt: now + 30 * DAY_MS,
      kind: 'login',
      renewal: undefined,
    });
  });

  test('a cookie that verified is remembered for a minute, and verified again after it', () => {
    const cookie = startOne();
    sessions.ofCookies(cookie);
    now += 59_999;
    expect(sessions.ofCookies(cookie)).toMatchObject({ accountId: 'account' });
    expect(verified).toBe(1);
    now += 1;
    expect(sessions.ofCookies(cookie)).toMatchObject({ accountId: 'account' });
    expect(verified).toBe(2);
  });

  test('a token that shares only its signature with a remembered one is refused, remembered or ended', () => {
    const cookie = startOne();
    const session = sessions.ofCookies(cookie)!;
    const [name, token] = cookie.split('=') as [string, string];
    const [head, , signature] = token.split('.') as [string, string, string];
    const payload = Buffer.from(JSON.stringify({ sub: 'another-account' })).toString('base64url');
    const forged = `${name}=${head}.${payload}.${signature}`;
    expect(sessions.ofCookies(forged)).toBeUndefined();
    expect(sessions.ofCookies(cookie)).toBe(session);
    sessions.markEnded(session);
    expect(sessions.ofCookies(forged)).toBeUndefined();
    expect(sessions.ofCookies(cookie)).toBeUndefined();
  });

  test('a session that was signed out is refused without another check of its signature', () => {
    const cookie = startOne();
    sessions.markEnded(sessions.ofCookies(cookie)!);
    expect(sessions.ofCookies(cookie)).toBeUndefined();
    expect(verified).toBe(1);
  });

  test('a session ends 30 days after its start', () => {
    const cookie = startOne();
    now += SESSION_LIFE_MS - 1;
    expect(sessions.ofCookies(cookie)).toBeDefined();
    now += 1;
    expect(sessions.ofCookies(cookie)).toBeUndefined();
  });

  test('a session past half its life brings a renewal with the same id and 30 days more', () => {
    const cookie = startOne();
    const first = sessions.ofCookies(cookie)!;
    now += 15 * DAY_MS;
    const { renewal } = sessions.ofCookies(cookie)!;
    expect(sessions.find(renewal!.token)).toMatchObject({ accountId: 'account', id: first.id, expiresAt: now + 30 * DAY_MS });
  });
});
