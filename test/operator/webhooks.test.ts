import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { hookKeys, MOST_HOOKS } from '../../src/features/webhooks/model.ts';
import { SECRET } from '../../src/features/webhooks/signature.ts';
import { startReceiver } from '../features/webhooks/receiver.ts';
import { freshId, start, type TestReply, type TestService } from '../harness.ts';
import { eventually } from '../realtime/watcher.ts';
import { makeServerKey } from '../server-keys.ts';
import { logged } from './parts.ts';

/** Webhooks of a whole service: an operator adds one over HTTP, a player's coins change, and the endpoint gets the event. */

let service: TestService;
let bearer: string;
const lines: string[] = [];
beforeAll(async () => {
  service = await start({ settings: { ADMIN_API: 'on', EVENTS: 'on', WEBHOOKS_PRIVATE: 'on' }, logLines: lines });
  ({ token: bearer } = await makeServerKey(service, ['admin']));
});
afterEach(async () => {
  for (const { id } of (await look('')).body.webhooks) await change(`/${id}/remove`);
});
afterAll(() => service[Symbol.asyncDispose]());

const look = (path: string, of = service): Promise<TestReply> => of.get(`/v1/admin/webhooks${path}`, { bearer });
const change = (path: string, body: object = {}, of = service): Promise<TestReply> =>
  of.post(`/v1/admin/webhooks${path}`, body, { bearer });

const time = expect.any(String);

/** @returns the accountId */
async function credit(installId = freshId(), coins = 5): Promise<string> {
  await service.post('/v1/coins/credit', { installId, coins, key: freshId('key') });
  return accountIdOf(installId);
}

describe('a webhook', () => {
  test('gets events from its creation on, signed with the secret that was shown', async () => {
    await using receiver = await startReceiver();
    const { token } = await makeServerKey(service, ['events']);
    const before = await credit();
    // The account's event is in the log.
    await eventually(async () => JSON.stringify((await service.get('/v1/events?limit=1000', { bearer: token })).body).includes(before));
    const { status, body } = await change('', { url: receiver.url, types: ['coins.changed'], reason: 'the website' });
    expect(status).toBe(200);
    const { id, secret } = body;
    expect(secret).toMatch(SECRET);
    const webhook = {
      id,
      url: receiver.url,
      types: ['coins.changed'],
      createdAt: time,
      state: 'active',
      waitingAccounts: 0,
      delivering: false,
    };
    expect(body).toEqual({ ok: true, id, secret, webhook, logged });
    expect(body.logged).toMatchObject({
      action: 'webhooks add',
      what: { url: new URL(receiver.url).origin, types: 'coins.changed' },
      why: 'the website',
      outcome: { word: 'done', id },
    });
    const accountId = await credit();
    await eventually(() => receiver.received.length > 0);
    const [{ headers, body: text }] = receiver.received as [(typeof receiver.received)[0]];
    const event = new Webhook(secret).verify(text, headers);
    expect(event).toEqual({
      id: headers['webhook-id'],
      type: 'coins.changed',
      at: time,
      accountId,
      number: expect.any(Number),
      data: { entryId: '1', type: 'credit', coins: 5, balanceAfterCoins: 5 },
    });
    await eventually(async () => (await look(`/${id}/deliveries`)).body.deliveries.length === 1);
    expect((await look(`/${id}/deliveries`)).body.deliveries).toEqual([
      {
        event: headers['webhook-id'],
        type: 'coins.changed',
        at: time,
        attempt: 1,
        outcome: 'delivered',
        status: 204,
        durationMs: expect.any(Number),
      },
    ]);
    await eventually(async () => (await look(`/${id}`)).body.webhook.lagSeconds === 0);
    const whole = { ...webhook, delivering: true, lagSeconds: 0, lastDeliveredAt: time };
    expect((await look(`/${id}`)).body).toEqual({ ok: true, webhook: whole });
    expect((await look('')).body.webhooks).toEqual([whole]);
    const shown = JSON.stringify([
      (await look('')).body,
      (await look(`/${id}`)).body,
      (await service.get('/v1/admin/log', { bearer })).body,
      lines,
    ]);
    expect(shown).not.toContain(secret);
  });

  test.each([
    ['https://ada:secret@play.example/', 'It must hold no user and no password'],
    ['ftp://play.example/', 'It must begin with https://'],
    ['http://169.254.169.254/', 'It must not lead to 169.254.169.254'],
  ])('to %s is refused', async (url, message) => {
    const { status, body } = await change('', { url });
    expect([status, body.error.code, body.error.issues]).toEqual([400, 'invalid_request', [{ path: 'url', message }]]);
  });

  test('to a private address, or of an unknown type, is refused', async () => {
    expect((await change('', { url: 'https://play.example/', types: ['coins.stolen'] })).body.error.code).toBe('invalid_request');
    await using strict = await start({ settings: { ADMIN_API: 'on' } });
    for (const [url, problem] of [
      ['http://play.example/', 'It must begin with https://: http:// needs WEBHOOKS_PRIVATE=on'],
      ['https://10.0.0.1/', 'It must not lead to 10.0.0.1, a private address, without WEBHOOKS_PRIVATE=on'],
      ['https://[::1]:8443/', 'It must not lead to ::1, a private address, without WEBHOOKS_PRIVATE=on'],
    ])
      expect((await change('', { url }, strict)).body.error.issues).toEqual([{ path: 'url', message: problem }]);
    expect((await look('', strict)).body.webhooks).toEqual([]);
  });

  test('is refused beyond 50', async () => {
    const { id } = (await change('', { url: 'http://127.0.0.1:65001/' })).body;
    const { redis } = service.service;
    const text = (await redis.hget(hookKeys.hooks, id))!;
    const disabled = JSON.stringify({ ...JSON.parse(text), disabled: { by: 'operator', at: 0 } });
    for (let count = 1; count < MOST_HOOKS; count++) await redis.hset(hookKeys.hooks, `full${String(count).padStart(4, '0')}`, disabled);
    const { status, body } = await change('', { url: 'http://127.0.0.1:65001/' });
    expect([status, body.error.code]).toEqual([409, 'webhooks_full']);
  });

  test('is disabled and enabled, and its secret is rotated', async () => {
    await using receiver = await startReceiver();
    const { id, secret } = (await change('', { url: receiver.url, types: ['coins.changed'] })).body;
    expect((await change(`/${id}/disable`, { reason: 'moves' })).body.webhook).toMatchObject({
      state: 'disabled',
      disabledBy: 'operator',
      disabledAt: time,
    });
    const accountId = await credit();
    // The disabled webhook lags behind the event, because it does not get it.
    service.advance(100_000);
    await eventually(async () => (await look(`/${id}`)).body.webhook.lagSeconds > 90);
    service.advance(-100_000);
    const rotated = (await change(`/${id}/rotate`, { overlapMinutes: 60 })).body;
    expect(rotated).toEqual({
      ok: true,
      secret: expect.stringMatching(SECRET),
      webhook: expect.objectContaining({ id, state: 'disabled', oldSecretsUntil: time }),
      logged,
    });
    expect(rotated.secret).not.toBe(secret);
    expect((await change(`/${id}/enable`)).body.webhook).toMatchObject({ state: 'active' });
    await eventually(() => receiver.received.length === 1);
    const { headers, body } = receiver.received[0]!;
    for (const each of [secret, rotated.secret]) expect(new Webhook(each).verify(body, headers)).toMatchObject({ accountId });
    // The replaced secrets end at once, also the one that the first rotation lets sign for an hour.
    const newest = (await change(`/${id}/rotate`, { overlapMinutes: 0 })).body;
    expect(newest.webhook.oldSecretsUntil).toBeUndefined();
    expect(JSON.parse((await service.service.redis.hget(hookKeys.hooks, id))!).secrets).toEqual([{ secret: newest.secret }]);
    // The process that delivers sees the change within a second.
    await eventually(async () => {
      await credit();
      return receiver.received.at(-1)!.headers['webhook-signature']!.split(' ').length === 1;
    });
    const last = receiver.received.at(-1)!;
    expect(new Webhook(newest.secret).verify(last.body, last.headers)).toMatchObject({ type: 'coins.changed' });
    receiver.answer = (_, response) => void response.writeHead(503).end();
    await credit();
    await eventually(async () => (await look(`/${id}`)).body.webhook.lastFailure !== undefined);
    // Events of other tests arrive too.
    const failing = (await look('')).body.webhooks.find((hook: { id: string }) => hook.id === id);
    expect(failing).toMatchObject({ lastDeliveredAt: time, lastFailure: { at: time, status: 503 } });
    expect(receiver.received.map(({ headers: sent }) => sent['webhook-id'])).toContain(failing.lastFailure.event);
  });

  test('gets an event again if an operator repeats it, and all events since a time if an operator replays them', async () => {
    await using receiver = await startReceiver();
    const { id } = (await change('', { url: receiver.url, types: ['coins.changed'] })).body;
    const before = new Date(Date.now() - 1000).toISOString();
    for (let count = 0; count < 3; count++) await credit();
    await eventually(() => receiver.received.length === 3);
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']!);
    const repeated = await change(`/${id}/repeat`, { event: ids[1], reason: 'lost' });
    expect(repeated.body).toEqual({ ok: true, id, event: ids[1], logged });
    await eventually(() => receiver.received.length === 4);
    expect(receiver.received[3]!.headers['webhook-id']).toBe(ids[1]);
    const replayed = await change(`/${id}/replay`, { from: before });
    expect(replayed.body).toEqual({ ok: true, id, from: before, logged });
    // Events of other tests, from before the time, may arrive too.
    await eventually(() => ids.every((each) => receiver.received.slice(4).some(({ headers }) => headers['webhook-id'] === each)));
    for (const event of ['nosuch', 'hoiulqkme8-0-0']) {
      const { status, body } = await change(`/${id}/repeat`, { event });
      expect([status, body.error.code]).toEqual([404, 'event_not_found']);
    }
    await change(`/${id}/disable`);
    await service.service.redis.rpush(hookKeys.asked(id), ...Array<string>(1000).fill('{}'));
    expect((await change(`/${id}/repeat`, { event: ids[0] })).body.error.code).toBe('webhooks_full');
  });

  test('with EVENTS=off is stored with a warning, gets no events, and has no events to replay', async () => {
    await using off = await start({ settings: { ADMIN_API: 'on', WEBHOOKS_PRIVATE: 'on' } });
    const { id, warning } = (await change('', { url: 'http://127.0.0.1:65001/' }, off)).body;
    expect(warning).toMatch(/^No process carries events: EVENTS is off,/);
    expect((await change(`/${id}/replay`, { from: '2026-11-22T12:00:00Z' }, off)).body.error.code).toBe('event_not_found');
    expect((await change(`/${id}/repeat`, { event: 'hoiulqkme8-0-0' }, off)).body.error.code).toBe('event_not_found');
  });
});
