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

export async function balanceOf(service: TestService, who: Who): Promise<number> {
  const options = 'cookies' in who ? who : { headers: { 'x-install-id': who.installId } };
  return (await service.get('/v1/balance', options)).body.balanceCoins;
}

/** Deletes an account in two calls. Its owner proves itself by its installId or a token of the store. */
export async function deleteAccount(service: TestService, proof: { installId: string } | { token: string }): Promise<TestReply['body']> {
  const { confirm } = (await service.post('/v1/account/delete', proof)).body;
  const { status, body } = await service.post('/v1/account/delete', { ...proof, confirm });
  expect([status, body.error, body.deleted]).toEqual([200, undefined, true]);
  return body;
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
