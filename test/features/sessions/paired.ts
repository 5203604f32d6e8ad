import { expect } from 'vitest';
import { freshId, signIn, type TestReply, type TestService } from '../../harness.ts';

/** Signs a browser in by a pairing. The claimant is named by its installId or its cookie. */
export async function pair(
  service: TestService,
  claimant: { installId?: string; cookies?: string },
  userAgent = 'Browser/1.0',
): Promise<{ cookies: string; token: string }> {
  const { installId, cookies } = claimant;
  const pairing = await service.post('/v1/pair/new', {}, { headers: { 'user-agent': userAgent } });
  const { token } = pairing.body;
  const claimed = await service.post('/v1/pair/claim', { token, installId }, cookies === undefined ? {} : { cookies });
  expect([claimed.status, claimed.body.error]).toEqual([200, undefined]);
  const polled = await service.get(`/v1/pair/status?token=${token}`, { cookies: pairing.cookies });
  return { token, cookies: polled.cookies.find((cookie) => cookie.startsWith('svc_session='))! };
}

/** An install with a login and two paired browsers. */
export async function phoneWithBrowsers(service: TestService) {
  const installId = freshId('phone');
  const phone = await signIn(service, installId);
  service.advance(1000);
  const first = (await pair(service, { installId }, 'First')).cookies;
  service.advance(1000);
  const second = (await pair(service, { cookies: phone }, 'Second')).cookies;
  return { installId, phone, first, second };
}

export const listOf = async (service: TestService, cookies: string): Promise<TestReply['body'][]> =>
  (await service.get('/v1/sessions', { cookies })).body.sessions;

export const isSignedIn = async (service: TestService, cookies: string): Promise<boolean> =>
  (await service.get('/v1/session', { cookies })).body.authenticated === true;

/** For each session whether it is signed in. */
export const areSignedIn = (service: TestService, sessions: readonly string[]): Promise<boolean[]> =>
  Promise.all(sessions.map((cookies) => isSignedIn(service, cookies)));
