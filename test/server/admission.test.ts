import { describe, expect, test } from 'vitest';
import { Admission, Held } from '../../src/server/admission.ts';
import type { Reservations } from '../../src/server/reservations.ts';
import { freshId, start } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { eventually, watchRoom } from '../realtime/watcher.ts';
import { all, credit, limited, Lines } from './connection-lines.ts';

/** Records every question, and gives the same answer to each. */
class FakeReservations implements Reservations {
  readonly asked: string[] = [];
  answer: number | Promise<number> = 0;
  takeEntries() {
    return { count: 1, waitMs: 0 };
  }
  giveBackEntries(): void {}
  take(kind: string): number | Promise<number> {
    this.asked.push(`take ${kind}`);
    return this.answer;
  }
  giveBack(kind: string): void {
    this.asked.push(`give back ${kind}`);
  }
  spend(kind: string): void {
    this.asked.push(`keep ${kind}`);
  }
}

describe('Admission', () => {
  const admissionOf = (reservations: Reservations, requests?: { perSecond: number; burst: number }): Admission =>
    new Admission({
      requests,
      actsPerSecond: 1000,
      keyedPerSecond: 1,
      uncountedPerSecond: 1,
      maxInFlight: 2,
      reservations,
      entries: undefined,
      monotonic: () => 0,
    });

  test('no more requests are in flight than there are places', () => {
    const admission = admissionOf(new FakeReservations());
    expect([admission.takePlace(), admission.takePlace(), admission.takePlace()]).toEqual([true, true, false]);
    expect(admission.inFlight).toBe(2);
    admission.leavePlace();
    expect([admission.takePlace(), admission.takePlace()]).toEqual([true, false]);
  });

  test('with RATE_LIMIT=off requests pass, and sockets alone are reserved', () => {
    const reservations = new FakeReservations();
    const admission = admissionOf(reservations);
    expect(admission.limitsAddresses).toBe(false);
    expect(Array.from({ length: 1000 }, () => admission.charge('a')).every((waitMs) => waitMs === 0)).toBe(true);
    for (const kind of ['misses', 'creations', 'sockets'] as const) {
      expect(admission.reserve(kind, 'a')).toBe(0);
      admission.giveBack(kind, 'a');
      admission.spend(kind, 'a');
    }
    expect(reservations.asked).toEqual(['take sockets', 'give back sockets', 'keep sockets']);
  });

  test('with limits on requests are charged, and everything is reserved', () => {
    const reservations = new FakeReservations();
    const admission = admissionOf(reservations, { perSecond: 10, burst: 1 });
    expect([admission.charge('a'), admission.charge('a'), admission.charge('b')]).toEqual([0, 100, 0]);
    for (const kind of ['misses', 'creations', 'sockets'] as const) admission.reserve(kind, 'a');
    expect(reservations.asked).toEqual(['take misses', 'take creations', 'take sockets']);
  });
});

describe('Held', () => {
  const heldOf = (reservations: Reservations): Held =>
    new Held(
      new Admission({
        requests: { perSecond: 1, burst: 1 },
        actsPerSecond: 1000,
        keyedPerSecond: 1,
        uncountedPerSecond: 1,
        maxInFlight: 1,
        reservations,
        entries: undefined,
        monotonic: () => 0,
      }),
      'a',
    );

  test('gives each reservation back once', () => {
    const reservations = new FakeReservations();
    const held = heldOf(reservations);
    expect(held.reserve('misses')).toBe(0);
    held.giveBack('misses');
    held.giveBack('misses');
    held.spend('misses');
    expect(reservations.asked).toEqual(['take misses', 'give back misses']);
  });

  test('gives nothing back if the reservation was refused', async () => {
    const reservations = new FakeReservations();
    const held = heldOf(reservations);
    reservations.answer = 500;
    expect(held.reserve('misses')).toBe(500);
    reservations.answer = Promise.resolve(700);
    expect(await held.reserve('misses')).toBe(700);
    held.giveBack('misses');
    expect(reservations.asked).toEqual(['take misses', 'take misses']);
  });

  test('holds a reservation once its answer has come', async () => {
    const reservations = new FakeReservations();
    const held = heldOf(reservations);
    reservations.answer = Promise.resolve(0);
    expect(await held.reserve('sockets')).toBe(0);
    held.spend('sockets');
    expect(reservations.asked).toEqual(['take sockets', 'keep sockets']);
  });
});

describe('requests a second', () => {
  const one = { ...limited, RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '1' };

  test('a burst of 200 passes, and the next request is told when to come back', async () => {
    await using service = await start({ settings: limited, stoppedClock: true });
    const replies = await all(260, () => service.get('/v1/session'));
    const refused = replies.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(60);
    const { body, headers } = refused[0]!;
    expect(body.error).toMatchObject({ code: 'rate_limited' });
    expect(body.error.retryAfterMs).toBeCloseTo(20, 6);
    expect(headers.get('retry-after')).toBe('1');
    service.advance(Math.ceil(body.error.retryAfterMs));
    expect((await service.get('/v1/session')).status).toBe(200);
  });

  test('unknown paths and /ready count as requests, /health does not', async () => {
    await using service = await start({ settings: one, stoppedClock: true });
    expect((await service.get('/nothing')).status).toBe(404);
    expect((await service.get('/nothing')).status).toBe(429);
    expect((await service.get('/health')).status).toBe(200);
    expect((await service.get('/ready')).status).toBe(429);
    service.advance(1000);
    expect((await service.get('/ready')).status).toBe(200);
  });

  test('behind a trusted proxy the rightmost address of X-Forwarded-For that is no proxy is charged', async () => {
    await using service = await start({ settings: { ...one, TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8' }, stoppedClock: true });
    const from = async (forwardedFor: string) =>
      (await service.get('/v1/session', { headers: { 'x-forwarded-for': forwardedFor } })).status;
    expect(await from('203.0.113.1')).toBe(200);
    expect(await from('203.0.113.1')).toBe(429);
    // A client writes the addresses further left by itself.
    expect(await from('198.51.100.7, 203.0.113.1')).toBe(429);
    expect(await from('203.0.113.1, 10.1.2.3')).toBe(429);
    expect(await from('203.0.113.2')).toBe(200);
  });

  test('an IPv6 client is charged by its /64', async () => {
    await using service = await start({ settings: { ...one, TRUSTED_PROXIES: '127.0.0.1' }, stoppedClock: true });
    const from = async (forwardedFor: string) =>
      (await service.get('/v1/session', { headers: { 'x-forwarded-for': forwardedFor } })).status;
    expect(await from('2001:db8:0:1::1')).toBe(200);
    expect(await from('2001:db8::1:ffff:0:0:2')).toBe(429);
    expect(await from('2001:db8:0:2::1')).toBe(200);
  });

  test('X-Forwarded-For of a client that is no trusted proxy changes nothing', async () => {
    await using service = await start({ settings: one, stoppedClock: true });
    expect((await service.get('/v1/session', { headers: { 'x-forwarded-for': '203.0.113.1' } })).status).toBe(200);
    expect((await service.get('/v1/session', { headers: { 'x-forwarded-for': '203.0.113.2' } })).status).toBe(429);
  });

  test('messages on a live channel are charged like requests, and a refused message is told to retry after a random 1 to 3 s', async () => {
    await using service = await start({ settings: { ...limited, RATE_LIMIT_PER_SECOND: '2', RATE_LIMIT_BURST: '8' }, stoppedClock: true });
    const host = freshId();
    const { body } = await service.post('/v1/rooms', { installId: host });
    const watcher = await watchRoom(service, body.room.code);
    // The room and the upgrade took two of the eight.
    for (let index = 0; index < 6; index++) expect((await watcher.hello(freshId())).error.code).toBe('not_in_room');
    const refused = [await watcher.hello(host), await watcher.hello(host), await watcher.hello(host)].map(({ error }) => error);
    expect(refused.map(({ code }) => code)).toEqual(['rate_limited', 'rate_limited', 'rate_limited']);
    for (const { retryAfterMs } of refused) {
      expect(retryAfterMs).toBeGreaterThanOrEqual(1000);
      expect(retryAfterMs).toBeLessThanOrEqual(3000);
      expect(Number.isInteger(retryAfterMs)).toBe(true);
    }
    expect(new Set(refused.map(({ retryAfterMs }) => retryAfterMs)).size).toBeGreaterThan(1);
    service.advance(3000);
    expect((await watcher.hello(host)).you).toEqual({ playerId: 'p1', host: true });
    await watcher.close();
  });
});

describe('MAX_IN_FLIGHT', () => {
  test('requests beyond it are refused as overloaded, and those within it wait for Redis', async () => {
    await using redis = await startRedis();
    await using service = await start({ redis: redis.location, settings: { MAX_IN_FLIGHT: '10' } });
    // Longer than an answer may take, so that ten requests keep their places until their deadline.
    await service.service.redis.call('CLIENT', 'PAUSE', '2400', 'ALL');
    const replies = await all(30, () => service.get(`/v1/balance?installId=${freshId()}`));
    const codes = replies.map(({ body }) => body.error.code);
    expect(codes.filter((code) => code === 'overloaded')).toHaveLength(20);
    expect(codes.filter((code) => code === 'store_unavailable')).toHaveLength(10);
    expect(replies.find(({ body }) => body.error.code === 'overloaded')!.headers.get('retry-after')).toBe('1');
  });

  test('a request whose body does not come takes no place', async () => {
    await using service = await start({ settings: { MAX_IN_FLIGHT: '2' } });
    using lines = new Lines(service);
    await all(20, () => lines.beginBody());
    for (let index = 0; index < 5; index++) expect((await credit(service, freshId())).status).toBe(200);
    await eventually(async () => (await service.get('/metrics')).body.includes('coinop_http_requests_in_flight 0\n'));
  });
});
