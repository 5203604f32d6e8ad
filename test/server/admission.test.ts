import { describe, expect, test } from 'vitest';
import { freshId, start } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { eventually, watchRoom } from '../realtime/watcher.ts';
import { all, credit, limited, Lines } from './connection-lines.ts';

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

  test.each([
    [
      'behind a trusted proxy the rightmost address of X-Forwarded-For that is no proxy is charged',
      '127.0.0.1,10.0.0.0/8',
      // A client writes the addresses further left by itself.
      ['203.0.113.1', '203.0.113.1', '198.51.100.7, 203.0.113.1', '203.0.113.1, 10.1.2.3', '203.0.113.2'],
      [200, 429, 429, 429, 200],
    ],
    [
      'an IPv6 client is charged by its /64',
      '127.0.0.1',
      ['2001:db8:0:1::1', '2001:db8::1:ffff:0:0:2', '2001:db8:0:2::1'],
      [200, 429, 200],
    ],
    ['X-Forwarded-For of a client that is no trusted proxy changes nothing', '192.0.2.1', ['203.0.113.1', '203.0.113.2'], [200, 429]],
  ])('%s', async (_, proxies, senders, expected) => {
    await using service = await start({ settings: { ...one, TRUSTED_PROXIES: proxies }, stoppedClock: true });
    const statuses: number[] = [];
    for (const from of senders) statuses.push((await service.get('/v1/session', { headers: { 'x-forwarded-for': from } })).status);
    expect(statuses).toEqual(expected);
  });

  test('messages on a live channel are charged like requests, and a refused message is told to retry after a random 1 to 3 s', async () => {
    await using service = await start({ settings: { ...limited, RATE_LIMIT_PER_SECOND: '2', RATE_LIMIT_BURST: '8' }, stoppedClock: true });
    const host = freshId();
    const { body } = await service.post('/v1/rooms', { installId: host });
    const watcher = await watchRoom(service, body.room.code);
    // The room and the upgrade took two of the eight.
    for (let index = 0; index < 6; index++) expect((await watcher.hello(freshId())).error.code).toBe('not_in_room');
    const waits = new Set<number>();
    for (let times = 0; times < 3; times++) {
      const { error } = await watcher.hello(host);
      expect(error).toMatchObject({ code: 'rate_limited', retryAfterMs: expect.toSatisfy((ms: number) => ms >= 1000 && ms <= 3000) });
      waits.add(error.retryAfterMs);
    }
    expect(waits.size).toBeGreaterThan(1);
    service.advance(3000);
    expect((await watcher.hello(host)).you).toEqual({ playerId: 'p1', host: true });
    await watcher.close();
  });
});

describe('MAX_IN_FLIGHT', () => {
  test('requests beyond it are refused as overloaded, and those within it wait for Redis', async () => {
    await using redis = await startRedis();
    await using service = await start({ redis: redis.location, settings: { MAX_IN_FLIGHT: '10' }, redisDeadlineMs: 2000 });
    // Longer than an answer may take, so that ten requests keep their places until their deadline.
    await service.service.redis.call('CLIENT', 'PAUSE', '2400', 'ALL');
    const replies = await all(30, () => service.get(`/v1/balance?installId=${freshId()}`));
    const refused = replies.filter(({ body }) => body.error.code === 'overloaded');
    expect(refused).toHaveLength(20);
    expect(replies.filter(({ body }) => body.error.code === 'store_unavailable')).toHaveLength(10);
    expect(refused[0]!.headers.get('retry-after')).toBe('1');
  });

  test('a request whose body does not come takes no place', async () => {
    await using service = await start({ settings: { MAX_IN_FLIGHT: '2' } });
    using lines = new Lines(service);
    await all(20, () => lines.beginBody());
    for (let index = 0; index < 5; index++) expect((await credit(service, freshId())).status).toBe(200);
    await eventually(async () => (await service.get('/metrics')).body.includes('coinop_http_requests_in_flight 0\n'));
  });
});
