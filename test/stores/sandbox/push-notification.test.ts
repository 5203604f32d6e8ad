import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from 'jose';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import type { IssuedSubscription, IssuableState } from '../../../src/stores/sandbox/subscription-lifecycle.ts';
import { changeOf, notificationOf, pushNotification } from '../../../src/stores/sandbox/push-notification.ts';
import { Sandbox } from '../../../src/stores/sandbox/sandbox.ts';
import type { ScriptRunner } from '../../../src/redis/script-runner.ts';

const AT = 1_700_000_000_000;

const issued = (state: IssuableState): IssuedSubscription => ({
  packageName: 'com.some.thing',
  productId: 'monthly001',
  state,
  issuedAt: AT,
  until: AT + 60_000,
  startedAt: AT,
  periodMs: 60_000,
  graceMs: 0,
  renew: 'declined',
  orderId: 'GPA.1111-2222-3333-44444',
  renewals: 0,
});

/** An HTTP server that records pushes and answers with this status. */
async function receiver(status: number) {
  const taken: { headers: IncomingHttpHeaders; method: string; path: string; body: string }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      taken.push({ headers: request.headers, method: request.method!, path: request.url!, body });
      response.writeHead(status, { location: '/elsewhere', connection: 'close' }).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, taken, [Symbol.asyncDispose]: async () => void (await once(server.close(), 'close')) };
}

const kept = new Map<string, string>();
const scripts = {
  run: async (_script: object, { keys }: { keys: string }, { made }: { made: string }) => {
    if (made !== '' && !kept.has(keys)) kept.set(keys, made);
    return kept.has(keys) ? ['kept', kept.get(keys)] : ['none'];
  },
} as unknown as ScriptRunner;

const servicesAt = (url: string) => ({ sandbox: new Sandbox(scripts, () => url), now: () => AT, log: pino({ level: 'silent' }) });

describe('a notification of the sandbox', () => {
  test('is pushed in the shape of Pub/Sub with an OIDC token of the pusher', async () => {
    await using at = await receiver(204);
    const services = servicesAt(at.url);
    const notification = notificationOf(issued('active'), 'the-token', 'purchased');
    expect(await pushNotification(services, notification)).toBe(true);
    const [push] = at.taken;
    expect([push!.method, push!.path, push!.headers['content-type']]).toEqual([
      'POST',
      '/v1/store/google/notifications',
      'application/json',
    ]);
    const { message, subscription } = JSON.parse(push!.body);
    expect(message).toEqual({
      attributes: {},
      data: expect.any(String),
      messageId: expect.stringMatching(/^\d+$/),
      message_id: message.messageId,
      publishTime: '2023-11-14T22:13:20.000Z',
      publish_time: '2023-11-14T22:13:20.000Z',
    });
    expect(subscription).toBe('projects/sandbox/subscriptions/coinop');
    expect(JSON.parse(Buffer.from(message.data, 'base64').toString())).toEqual({
      version: '1.0',
      packageName: 'com.some.thing',
      eventTimeMillis: '1700000000000',
      subscriptionNotification: { version: '1.0', notificationType: 4, purchaseToken: 'the-token', subscriptionId: 'monthly001' },
    });
    const { jwks } = await services.sandbox.keys.get();
    const { payload, protectedHeader } = await jwtVerify(
      push!.headers.authorization!.replace('Bearer ', ''),
      createLocalJWKSet(jwks as JSONWebKeySet),
      { currentDate: new Date(AT), algorithms: ['RS256'] },
    );
    expect(protectedHeader).toEqual({ alg: 'RS256', kid: jwks.keys[0]!.kid, typ: 'JWT' });
    expect(payload).toEqual({
      iss: 'https://accounts.sandbox.coinop',
      aud: `${at.url}/v1/store/google/notifications`,
      azp: payload.sub,
      sub: expect.stringMatching(/^\d{21}$/),
      email: 'notifications@sandbox.coinop',
      email_verified: true,
      iat: 1_700_000_000,
      exp: 1_700_003_600,
    });
    expect(services.sandbox.settings.notifications).toEqual({ audience: payload.aud, email: payload['email'] });
  });

  test('shares the token of its push for a minute', async () => {
    await using at = await receiver(204);
    let now = AT;
    const services = { ...servicesAt(at.url), now: () => now };
    for (const later of [0, 59_999, 60_000]) {
      now = AT + later;
      await pushNotification(services, {});
    }
    const [first, second, third] = at.taken.map(({ headers }) => headers.authorization);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  test.each([302, 401, 404, 500])('pushNotification is false when the receiver answers %i', async (status) => {
    await using at = await receiver(status);
    expect(await pushNotification(servicesAt(at.url), {})).toBe(false);
    expect(at.taken).toHaveLength(1);
  });

  test('pushNotification is false when the receiver is unreachable', async () => {
    const { url, [Symbol.asyncDispose]: close } = await receiver(200);
    await close();
    expect(await pushNotification(servicesAt(url), {})).toBe(false);
  });

  test.each<[state: IssuableState, before: IssuableState | undefined, type: number]>([
    ['active', undefined, 4],
    ['active', 'pending', 4],
    ['active', 'active', 2],
    ['active', 'grace', 2],
    ['active', 'expired', 2],
    ['active', 'on_hold', 1],
    ['active', 'paused', 1],
    ['active', 'canceled', 7],
    ['grace', 'active', 6],
    ['grace', undefined, 6],
    ['on_hold', 'active', 5],
    ['paused', 'active', 10],
    ['canceled', 'active', 3],
    ['expired', 'active', 12],
    ['expired', undefined, 13],
  ])('of state %s after state %s has notificationType %i', (state, before, type) => {
    const change = changeOf(issued(state), before === undefined ? undefined : issued(before), AT);
    expect(notificationOf(issued(state), 't', change)).toMatchObject({ subscriptionNotification: { notificationType: type } });
  });
});

describe('the settings of the sandbox', () => {
  test('are cached until the address of the service changes', async () => {
    let url = 'http://127.0.0.1:1';
    const sandbox = new Sandbox(scripts, () => url);
    const first = sandbox.settings;
    expect(sandbox.settings).toBe(first);
    url = 'http://127.0.0.1:2';
    expect(sandbox.settings.jwksUrl).toBe('http://127.0.0.1:2/sandbox/jwks.json');
    expect((await sandbox.settings.serviceAccount!()).tokenUrl).toBe('http://127.0.0.1:2/sandbox/token');
  });

  test('hold a service account key and integrity keys, as Google issues them', async () => {
    const { serviceAccount, integrityKeys } = new Sandbox(scripts, () => 'http://127.0.0.1:1').settings;
    expect(await serviceAccount!()).toEqual({
      clientEmail: 'service-account@sandbox.coinop',
      privateKey: expect.stringMatching(/^-----BEGIN PRIVATE KEY-----\n/),
      privateKeyId: expect.stringMatching(/^[\w-]{43}$/),
      tokenUrl: 'http://127.0.0.1:1/sandbox/token',
    });
    const { decryption, verification } = await integrityKeys!();
    expect([decryption.byteLength, verification.byteLength]).toEqual([32, 91]);
  });
});
