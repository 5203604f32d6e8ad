import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { generateKeyPairSync } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { AppleRevocation } from '../../../src/stores/openid/apple-revocation.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { issue } from '../../store.ts';

const own = await forFile(startRedis());
const service = await forFile(start({ redis: own.location, settings: { STORE: 'sandbox' } }));
const enter = async (subject: string): Promise<{ token: string; authorizationCode: string }> => {
  const { token, authorizationCode } = await issue(service, { kind: 'id_token', provider: 'apple', subject });
  expect((await service.post('/v1/account/store-provision', { token })).status).toBe(200);
  return { token, authorizationCode };
};

/** Deletes an account in two calls, the second with a code. */
async function remove(proof: object, authorizationCode: string) {
  const { confirm } = (await service.post('/v1/account/delete', proof)).body;
  const { body } = await service.post('/v1/account/delete', { ...proof, confirm, authorizationCode });
  return [body.deleted, body.appleRevoked];
}

describe('a deletion with a code', () => {
  test('of the user revokes at Apple, and keeps no token', async () => {
    const { token, authorizationCode } = await enter(freshId('ada'));
    expect(await remove({ token }, authorizationCode)).toEqual([true, true]);
    const kept = await Promise.all((await own.redis.keys('*')).map(async (key) => (await own.redis.dump(key))!.toString()));
    expect(kept.join('')).not.toContain(authorizationCode.slice(-40));
  });

  test.each([
    ['of another user', async () => (await enter(freshId('eve'))).authorizationCode],
    ['that is none', async () => 'a.b.c'],
    [
      'that has expired',
      async () => {
        const { authorizationCode } = await enter(freshId('ada'));
        service.advance(6 * 60_000);
        return authorizationCode;
      },
    ],
  ])('%s deletes all the same, and revokes nothing', async (_, codeOf) => {
    const code = await codeOf();
    const { token } = await enter(freshId('ada'));
    expect(await remove({ token }, code)).toEqual([true, false]);
  });

  test('by a guest revokes nothing', async () => {
    const installId = freshId();
    await service.post('/v1/coins/credit', { installId, coins: 1, key: 'one' });
    expect(await remove({ installId }, (await enter(freshId('eve'))).authorizationCode)).toEqual([true, false]);
  });

  test('in the first call does nothing yet', async () => {
    const { token, authorizationCode } = await enter(freshId('ada'));
    const { body } = await service.post('/v1/account/delete', { token, authorizationCode });
    expect([body.deleted, body.appleRevoked]).toEqual([false, undefined]);
    expect(await remove({ token }, authorizationCode)).toEqual([true, true]);
  });
});

test('without the keys a deletion revokes nothing', async () => {
  await using without = await start({ settings: { STORE: 'google' } });
  const installId = freshId();
  await without.post('/v1/coins/credit', { installId, coins: 1, key: 'one' });
  const { confirm } = (await without.post('/v1/account/delete', { installId })).body;
  const { body } = await without.post('/v1/account/delete', { installId, confirm, authorizationCode: 'code' });
  expect([body.deleted, body.appleRevoked]).toEqual([true, false]);
});

describe('at Apple', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  /** Apple's REST API. @param answers by path */
  async function appleOf(answers: Readonly<Record<string, (form: URLSearchParams, response: ServerResponse) => void>>) {
    const forms: [path: string, form: URLSearchParams][] = [];
    const server = createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      forms.push([request.url!, new URLSearchParams(text)]);
      answers[request.url!]!(new URLSearchParams(text), response);
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const lines: string[] = [];
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const settings = { teamId: 'TEAM', keyId: 'KEY', privateKey: () => privateKey, url: () => url, clientIds: ['web', 'app'] };
    const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
    const revocation = new AppleRevocation({ settings, wallClock: Date.now, log });
    const close = () => {
      server.closeAllConnections();
      server.close();
    };
    return { forms, lines, revocation, [Symbol.dispose]: close };
  }

  const granted = async (_: URLSearchParams, response: ServerResponse) => {
    const idToken = await new SignJWT({}).setProtectedHeader({ alg: 'ES256' }).setSubject('ada').sign(privateKey);
    response.end(JSON.stringify({ access_token: 'access-secret', refresh_token: 'refresh-secret', id_token: idToken }));
  };
  const fine = (_: URLSearchParams, response: ServerResponse) => void response.end();
  const failing = (_: URLSearchParams, response: ServerResponse) => void response.writeHead(500).end();
  const isAda = (subject: string) => Promise.resolve(subject === 'ada');

  test('a code is exchanged for the app of the ID token, with a secret of the key, and its token is revoked', async () => {
    using apple = await appleOf({ '/auth/token': granted, '/auth/revoke': fine });
    expect(await apple.revocation.revoke('code-secret', 'app', isAda)).toBe(true);
    const [[, exchange], [, revoke]] = apple.forms as [[string, URLSearchParams], [string, URLSearchParams]];
    const { client_secret: secret, ...fields } = Object.fromEntries(exchange);
    expect(fields).toEqual({ client_id: 'app', code: 'code-secret', grant_type: 'authorization_code' });
    const rules = { issuer: 'TEAM', audience: 'https://appleid.apple.com', subject: 'app' };
    expect((await jwtVerify(secret!, publicKey, rules)).protectedHeader).toMatchObject({ alg: 'ES256', kid: 'KEY' });
    expect(Object.fromEntries(revoke)).toMatchObject({ client_id: 'app', token: 'refresh-secret', token_type_hint: 'refresh_token' });
    expect(apple.lines.join('')).not.toContain('secret');
  });

  test('each client id is tried if the proof names none', async () => {
    const refusesWeb = (form: URLSearchParams, response: ServerResponse) =>
      form.get('client_id') === 'web' ? void response.writeHead(400).end('{"error":"invalid_grant"}') : void granted(form, response);
    using apple = await appleOf({ '/auth/token': refusesWeb, '/auth/revoke': fine });
    expect(await apple.revocation.revoke('code', undefined, isAda)).toBe(true);
  });

  test.each([
    ['fails for the code', { '/auth/token': failing }],
    ['fails for the token', { '/auth/token': granted, '/auth/revoke': failing }],
    ['answers nonsense', { '/auth/token': fine }],
    ['cuts the connection', { '/auth/token': (_: URLSearchParams, response: ServerResponse) => void response.destroy() }],
  ])('an Apple that %s has revoked nothing', async (_, answers) => {
    using apple = await appleOf(answers);
    expect(await apple.revocation.revoke('code-secret', 'app', isAda)).toBe(false);
    expect(apple.lines).toHaveLength(1);
    expect(apple.lines.join('')).not.toContain('secret');
  });
});
