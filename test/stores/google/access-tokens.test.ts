import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { decodeJwt, decodeProtectedHeader, exportPKCS8, generateKeyPair } from 'jose';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { AccessTokens, Misconfigured } from '../../../src/stores/google/access-tokens.ts';
import { Fault } from '../../../src/stores/google/bounded-fetch.ts';
import type { ServiceAccount } from '../../../src/stores/google/settings.ts';

const AT = Date.parse('2026-01-02T03:04:05.678Z');
const GRANT = '{"access_token":"access-1","expires_in":3600}';

let answer: { status: number; body: string; headers?: Record<string, string> };
const asked: URLSearchParams[] = [];
const server = createServer((request, response) => {
  void text(request).then((body) => {
    asked.push(new URLSearchParams(body));
    response.writeHead(answer.status, answer.headers).end(answer.body);
  });
});
let account: ServiceAccount;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  account = {
    clientEmail: 'coinop@project.iam.gserviceaccount.com',
    privateKey: await exportPKCS8(privateKey),
    privateKeyId: undefined,
    tokenUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
  };
});
beforeEach(() => void asked.splice(0));
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const tokens = (): AccessTokens =>
  new AccessTokens({
    settings: () => {
      throw new Error('no setting is needed');
    },
    log: pino({ level: 'silent' }),
    now: () => AT,
    wallClock: () => AT,
    monotonic: () => 0,
  });

test.each([
  ['names its key where the account does', 'key-1', { alg: 'RS256', typ: 'JWT', kid: 'key-1' }],
  ['names no key where the account names none', undefined, { alg: 'RS256', typ: 'JWT' }],
])('the assertion %s', async (_, privateKeyId, header) => {
  answer = { status: 200, body: GRANT };
  expect(await tokens().current(() => Promise.resolve({ ...account, privateKeyId }))).toBe('access-1');
  const assertion = asked[0]!.get('assertion')!;
  expect(decodeProtectedHeader(assertion)).toEqual(header);
  expect(decodeJwt(assertion)).toEqual({
    iss: 'coinop@project.iam.gserviceaccount.com',
    aud: account.tokenUrl,
    scope: 'https://www.googleapis.com/auth/androidpublisher https://www.googleapis.com/auth/playintegrity',
    // 2026-01-02T03:04:05Z and ten minutes later.
    iat: 1_767_323_045,
    exp: 1_767_323_645,
  });
  expect(asked[0]!.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
});

test.each([
  ['a 400 with a word of OAuth', 400, '{"error":"invalid_grant"}', 'no access token: invalid_grant'],
  ['a 403 with an error of the API', 403, '{"error":{"code":403,"message":"secret"}}', 'no access token: 403'],
  ['a 400 with a sentence', 400, '{"error":"some secret text"}', 'no access token: 400'],
])('a refused grant is a mistake in the settings: %s', async (_, status, body, message) => {
  answer = { status, body };
  await expect(tokens().current(() => Promise.resolve(account))).rejects.toStrictEqual(new Misconfigured(message));
});

test.each([
  ['a 200 without a token', { status: 200, body: '{"expires_in":3600}' }, 'no access token'],
  ['a token that no header can hold', { status: 200, body: '{"access_token":"a b","expires_in":3600}' }, 'no access token'],
  ['a token that has expired', { status: 200, body: '{"access_token":"access-1","expires_in":0}' }, 'no access token'],
  ['a 400 that is no JSON', { status: 400, body: 'Bad Request' }, 'not JSON'],
  ['a 429 that names a wait', { status: 429, body: '', headers: { 'retry-after': '7' } }, 'status 429'],
])('a grant that fails is asked for again by the next call: %s', async (_, given, message) => {
  answer = given;
  const held = tokens();
  const retryAfterMs = given.status === 429 ? 7000 : undefined;
  await expect(held.current(() => Promise.resolve(account))).rejects.toStrictEqual(new Fault(message, retryAfterMs));
  answer = { status: 200, body: GRANT };
  expect(await held.current(() => Promise.resolve(account))).toBe('access-1');
});
