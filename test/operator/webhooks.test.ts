import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { hookKeys, MOST_HOOKS } from '../../src/features/webhooks/model.ts';
import { SECRET } from '../../src/features/webhooks/signature.ts';
import { startReceiver } from '../features/webhooks/receiver.ts';
import { forFile, freshId } from '../harness.ts';
import { eventually } from '../realtime/watcher.ts';
import { makeServerKey } from '../server-keys.ts';
import { logged, openDesk, type Desk } from './parts.ts';

/** Webhooks of a whole service: an operator adds one over HTTP, a player's coins change, and the endpoint gets the event. */

const lines: string[] = [];
const desk = await forFile(openDesk({ settings: { EVENTS: 'on', WEBHOOKS_PRIVATE: 'on' }, logLines: lines }));
const { service } = desk;
const { redis } = service.service;
afterEach(async () => {
  for (const { id } of (await read('')).webhooks) await change(`/${id}/remove`);
});

const read = async (path: string, of: Desk = desk) => (await of.read(`/webhooks${path}`)).body;
const change = async (path: string, body: object = {}, of: Desk = desk) => (await of.change(`/webhooks${path}`, body)).body;

const time = expect.any(String);

/** @returns the accountId */
async function credit(): Promise<string> {
  const installId = freshId();
  await service.post('/v1/coins/credit', { installId, coins: 5, key: 'a' });
  return accountIdOf(installId);
}

describe('a webhook', () => {
  test('gets events from its creation on, signed with the secret that was shown', async () => {
    await using receiver = await startReceiver();
    const { token } = await makeServerKey(service, ['events']);
    const before = await credit();
    // The account's event is in the log.
    await eventually(async () => JSON.stringify((await service.get('/v1/events?limit=1000', { bearer: token })).body).includes(before));
    const body = await change('', { url: receiver.url, types: ['coins.changed'], reason: 'the website' });
    const { id, secret } = body;
    expect(secret).toMatch(SECRET);
    const webhook = {
      ...{ id, url: receiver.url, types: ['coins.changed'], createdAt: time, state: 'active' },
      ...{ waitingAccounts: 0, delivering: false },
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
    const event = headers['webhook-id'];
    expect(new Webhook(secret).verify(text, headers)).toEqual({
      ...{ id: event, type: 'coins.changed', at: time, accountId, number: expect.any(Number) },
      data: { entryId: '1', type: 'credit', coins: 5, balanceAfterCoins: 5 },
    });
    await eventually(async () => (await read(`/${id}/deliveries`)).deliveries.length === 1);
    const delivery = {
      event,
      type: 'coins.changed',
      at: time,
      attempt: 1,
      outcome: 'delivered',
      status: 204,
      durationMs: expect.any(Number),
    };
    expect((await read(`/${id}/deliveries`)).deliveries).toEqual([delivery]);
    await eventually(async () => (await read(`/${id}`)).webhook.lagSeconds === 0);
    const whole = { ...webhook, delivering: true, failing: false, lagSeconds: 0, lastDeliveredAt: time };
    const shown = [await read(`/${id}`), await read('')];
    expect(shown).toEqual([
      { ok: true, webhook: whole },
      { ok: true, webhooks: [whole] },
    ]);
    expect(JSON.stringify([shown, (await desk.read('/log')).body, lines])).not.toContain(secret);
  });

  test('to a private address, or of an unknown type, is refused', async () => {
    expect((await change('', { url: 'https://play.example/', types: ['coins.stolen'] })).error.code).toBe('invalid_request');
    await using strict = await openDesk();
    for (const [url, message] of [
      ['https://ada:secret@play.example/', 'It must hold no user and no password'],
      ['http://play.example/', 'It must begin with https://: http:// needs WEBHOOKS_PRIVATE=on'],
      ['https://[::1]:8443/', 'It must not lead to ::1, a private address, without WEBHOOKS_PRIVATE=on'],
    ])
      expect((await change('', { url }, strict)).error).toMatchObject({ code: 'invalid_request', issues: [{ path: 'url', message }] });
    expect((await read('', strict)).webhooks).toEqual([]);
    expect((await change('', { url: 'http://169.254.169.254/' })).error.issues[0].message).toBe('It must not lead to 169.254.169.254');
  });

  test('is refused beyond 50', async () => {
    const { id } = await change('', { url: 'http://127.0.0.1:65001/' });
    const record = JSON.parse((await redis.hget(hookKeys.hooks, id))!);
    const disabled = JSON.stringify({ ...record, disabled: { by: 'operator', at: 0 } });
    for (let count = 1; count < MOST_HOOKS; count++) await redis.hset(hookKeys.hooks, `full${String(count).padStart(4, '0')}`, disabled);
    expect((await change('', { url: 'http://127.0.0.1:65001/' })).error.code).toBe('webhooks_full');
  });

  test('is disabled and enabled, and its secret is rotated', async () => {
    await using receiver = await startReceiver();
    const { id, secret } = await change('', { url: receiver.url, types: ['coins.changed'] });
    const disabled = { state: 'disabled', disabledBy: 'operator', disabledAt: time };
    expect((await change(`/${id}/disable`)).webhook).toMatchObject(disabled);
    const accountId = await credit();
    // The disabled webhook lags behind the event, because it does not get it.
    service.advance(100_000);
    await eventually(async () => (await read(`/${id}`)).webhook.lagSeconds > 90);
    service.advance(-100_000);
    const rotated = await change(`/${id}/rotate`, { overlapMinutes: 60 });
    expect(rotated).toEqual({
      ok: true,
      secret: expect.stringMatching(SECRET),
      webhook: expect.objectContaining({ id, state: 'disabled', oldSecretsUntil: time }),
      logged,
    });
    expect(rotated.secret).not.toBe(secret);
    expect((await change(`/${id}/enable`)).webhook.state).toBe('active');
    const signatures = () => receiver.received.at(-1)?.headers['webhook-signature']!.split(' ').length;
    // The process that delivers sees a change within a second.
    await eventually(async () => {
      if (receiver.received.length > 0) await credit();
      return signatures() === 2;
    });
    expect(JSON.parse(receiver.received[0]!.body)).toMatchObject({ accountId });
    const { headers, body } = receiver.received.at(-1)!;
    for (const each of [secret, rotated.secret]) expect(new Webhook(each).verify(body, headers)).toMatchObject({ type: 'coins.changed' });
    // The replaced secrets end at once, also the one that the first rotation lets sign for an hour.
    const newest = await change(`/${id}/rotate`, { overlapMinutes: 0 });
    expect(newest.webhook.oldSecretsUntil).toBeUndefined();
    expect(JSON.parse((await redis.hget(hookKeys.hooks, id))!).secrets).toEqual([{ secret: newest.secret }]);
    await eventually(async () => {
      await credit();
      return signatures() === 1;
    });
    const last = receiver.received.at(-1)!;
    expect(new Webhook(newest.secret).verify(last.body, last.headers)).toMatchObject({ type: 'coins.changed' });
    receiver.answer = (_, response) => void response.writeHead(503).end();
    await credit();
    await eventually(async () => (await read(`/${id}`)).webhook.lastFailure !== undefined);
    // Events of other tests arrive too.
    const failing = (await read(`/${id}`)).webhook;
    expect(failing).toMatchObject({ lastDeliveredAt: time, lastFailure: { at: time, status: 503 } });
    expect(receiver.received.map(({ headers: sent }) => sent['webhook-id'])).toContain(failing.lastFailure.event);
  });

  test('that fails says so at the first failure, with what the endpoint says and when it is tried again, and one act repeats all failed', async () => {
    await using receiver = await startReceiver();
    receiver.answer = (_, response) => void response.writeHead(500).end(`no\u001b[31m\n such   table ${'x'.repeat(5000)}`);
    const { id } = await change('', { url: receiver.url, types: ['account.banned'] });
    expect(await change(`/${id}/repeat-failed`)).toEqual({ ok: true, id, waitingAccounts: 0, givenUp: 0 });
    await eventually(async () => (await read(`/${id}`)).webhook.delivering);
    for (let count = 0; count < 3; count++) await desk.change(`/accounts/${await credit()}/ban`, {});
    await eventually(async () => (await read(`/${id}`)).webhook.waitingAccounts === 3);
    const { webhook } = await read(`/${id}`);
    const answer = `no [31m such table ${'x'.repeat(200)}`.slice(0, 200);
    expect(webhook).toMatchObject({ failing: true, state: 'active', lastFailure: { status: 500, answer, nextAt: time } });
    expect(Date.parse(webhook.lastFailure.nextAt)).toBeGreaterThan(Date.parse(webhook.lastFailure.at));
    const { deliveries } = await read(`/${id}/deliveries`);
    expect(deliveries[0]).toMatchObject({ outcome: 'failed', answer, nextAt: time });
    // After the second failure the next attempt is five minutes away.
    service.advance(6000);
    await eventually(
      async () => (await read(`/${id}/deliveries`)).deliveries.filter(({ attempt }: { attempt: number }) => attempt === 2).length === 3,
    );
    receiver.answer = (_, response) => void response.writeHead(204).end();
    expect(await change(`/${id}/repeat-failed`)).toMatchObject({ id, waitingAccounts: 3, givenUp: 0 });
    await eventually(async () => (await read(`/${id}`)).webhook.failing === false);
    const delivered = (await read(`/${id}/deliveries`)).deliveries.filter(({ outcome }: { outcome: string }) => outcome === 'delivered');
    expect(delivered.map(({ attempt }: { attempt: number }) => attempt)).toEqual([3, 3, 3]);
    expect(delivered[0].answer).toBeUndefined();
    await change(`/${id}/disable`);
    await redis.hset(hookKeys.waiting(id), 'a'.repeat(22), '{"steps":"1","failedSince":1,"attempts":1,"nextAt":1}');
    await redis.rpush(hookKeys.asked(id), ...Array<string>(1000).fill('{}'));
    expect((await change(`/${id}/repeat-failed`)).error.code).toBe('webhooks_full');
  });

  test('gets an event again if an operator repeats it, and all events since a time if an operator replays them', async () => {
    await using receiver = await startReceiver();
    const { id } = await change('', { url: receiver.url, types: ['coins.changed'] });
    const from = new Date(Date.now() - 1000).toISOString();
    for (let count = 0; count < 3; count++) await credit();
    await eventually(() => receiver.received.length === 3);
    const idsOf = (at = 0) => receiver.received.slice(at).map(({ headers }) => headers['webhook-id']!);
    const ids = idsOf();
    expect(await change(`/${id}/repeat`, { event: ids[1] })).toEqual({ ok: true, id, event: ids[1], logged });
    await eventually(() => receiver.received.length === 4);
    expect(idsOf()[3]).toBe(ids[1]);
    expect(await change(`/${id}/replay`, { from })).toEqual({ ok: true, id, from, logged });
    // Events of other tests, from before the time, may arrive too.
    await eventually(() => ids.every((each) => idsOf(4).includes(each)));
    for (const event of ['nosuch', 'hoiulqkme8-0-0']) expect((await change(`/${id}/repeat`, { event })).error.code).toBe('event_not_found');
    await change(`/${id}/disable`);
    await redis.rpush(hookKeys.asked(id), ...Array<string>(1000).fill('{}'));
    expect((await change(`/${id}/repeat`, { event: ids[0] })).error.code).toBe('webhooks_full');
  });

  test('with EVENTS=off is stored with a warning, gets no events, and has no events to replay', async () => {
    await using off = await openDesk({ settings: { WEBHOOKS_PRIVATE: 'on' } });
    const { id, warning } = await change('', { url: 'http://127.0.0.1:65001/' }, off);
    expect(warning).toMatch(/^No process carries events: EVENTS is off,/);
    for (const [verb, body] of [
      ['replay', { from: '2026-11-22T12:00:00Z' }],
      ['repeat', { event: 'hoiulqkme8-0-0' }],
    ] as const)
      expect((await change(`/${id}/${verb}`, body, off)).error.code).toBe('event_not_found');
  });
});
