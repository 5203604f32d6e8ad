import { expect } from 'vitest';
import type { RequestOptions, TestReply, TestService } from './harness.ts';

/** Lets the sandbox store issue an ID token, an integrity token or a subscription. */
export async function issue(service: TestService, order: { kind: string; [field: string]: unknown }): Promise<TestReply['body']> {
  const { status, body } = await service.post('/sandbox/issue', order);
  expect([status, body.error]).toEqual([200, undefined]);
  return body;
}

/** Who sends a request: an install, or a session by its cookie. */
export type Who = { installId: string } | { cookies: string };

export function postAs(service: TestService, path: string, fields: object, who: Who): Promise<TestReply> {
  return 'cookies' in who ? service.post(path, fields, who) : service.post(path, { ...fields, ...who });
}

/** Signs a store user in. `guest` names the guest that moves into the account, by installId or cookie. */
export async function provision(
  service: TestService,
  subject: string,
  guest: { installId?: string } & RequestOptions = {},
): Promise<TestReply> {
  const { installId, ...options } = guest;
  const { token } = await issue(service, { kind: 'id_token', subject });
  return service.post('/v1/account/store-provision', { token, installId }, options);
}

/** As `provision`, but fails the test unless the sign-in succeeds. Returns the session cookie and the body. */
export async function signInToStore(
  service: TestService,
  subject: string,
  guest: { installId?: string } & RequestOptions = {},
): Promise<{ cookies: string; body: TestReply['body'] }> {
  const { status, body, cookies } = await provision(service, subject, guest);
  expect([status, body.error]).toEqual([200, undefined]);
  return { body, cookies: cookies.find((cookie) => cookie.startsWith('svc_session='))! };
}

interface HistoryEntry {
  id: string;
  type: string;
  coins: number;
  balanceAfterCoins: number;
  key: string;
  at: string;
}

/** The whole history, newest entry first, in pages of `limit`. */
export async function historyOf(service: TestService, cookies: string, limit = 100): Promise<HistoryEntry[]> {
  const entries: HistoryEntry[] = [];
  let cursor = '';
  do {
    const { body } = await service.get(`/v1/coins/history?limit=${limit}${cursor}`, { cookies });
    expect(body.entries.length).toBeLessThanOrEqual(limit);
    entries.push(...body.entries);
    cursor = body.nextCursor === undefined ? '' : `&cursor=${body.nextCursor}`;
  } while (cursor !== '');
  return entries;
}
