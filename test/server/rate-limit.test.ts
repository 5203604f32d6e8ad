import { describe, expect, test } from 'vitest';
import { RateLimit } from '../../src/server/rate-limit.ts';
import { freshId, start } from '../harness.ts';

describe('RateLimit', () => {
  test('lets a burst pass, then one per interval', () => {
    const limit = new RateLimit(50, 1000, 200);
    const passed = (now: number) => Array.from({ length: 300 }, () => limit.take('a', now)).filter((waitMs) => waitMs === 0).length;
    expect(passed(1000)).toBe(200);
    expect(limit.take('a', 1000)).toBeCloseTo(20, 6);
    expect(passed(1019)).toBe(0);
    expect(passed(1020)).toBe(1);
    expect(passed(2020)).toBe(50);
    expect(passed(100_000)).toBe(200);
  });

  test('counts each address for itself', () => {
    const limit = new RateLimit(1, 1000, 1);
    expect(limit.take('a', 0)).toBe(0);
    expect(limit.take('b', 0)).toBe(0);
    expect(limit.take('a', 0)).toBe(1000);
  });

  test('what is given back can be taken again, by its own address alone', () => {
    const limit = new RateLimit(2, 1000, 2);
    expect([limit.take('a', 0), limit.take('a', 0), limit.take('a', 0)]).toEqual([0, 0, 500]);
    limit.giveBack('b');
    expect(limit.take('a', 0)).toBe(500);
    limit.giveBack('a');
    expect([limit.take('a', 0), limit.take('a', 0)]).toEqual([0, 500]);
    limit.giveBack('a');
    limit.giveBack('a');
    expect([limit.take('a', 0), limit.take('a', 0), limit.take('a', 0)]).toEqual([0, 0, 500]);
  });

  test('a flood of addresses does not grow without bound', () => {
    const limit = new RateLimit(1, 1000, 1);
    for (let index = 0; index < 250_000; index++) limit.take(`a${index}`, index);
    expect(limit.size).toBeLessThanOrEqual(100_000);
  });
});

describe('through the server', () => {
  const limited = { RATE_LIMIT: 'on' };

  test('a burst of 200 passes, the next is told when to come back', async () => {
    await using service = await start({ settings: limited, stoppedClock: true });
    const replies = await Promise.all(Array.from({ length: 260 }, () => service.get('/v1/session')));
    const refused = replies.filter(({ status }) => status === 429);
    // Some come back while the burst goes on.
    expect(replies.length - refused.length).toBeGreaterThanOrEqual(200);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]!.body.error).toMatchObject({ code: 'rate_limited' });
    expect(refused[0]!.body.error.retryAfterMs).toBeGreaterThan(0);
    expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    service.advance(refused.at(-1)!.body.error.retryAfterMs);
    expect((await service.get('/v1/session')).status).toBe(200);
  });

  test('unknown paths and probes count too; only /health does not', async () => {
    await using service = await start({ settings: { ...limited, RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '1' }, stoppedClock: true });
    expect((await service.get('/nothing')).status).toBe(404);
    expect((await service.get('/nothing')).status).toBe(429);
    expect((await service.get('/health')).status).toBe(200);
    expect((await service.get('/ready')).status).toBe(429);
    service.advance(1000);
    expect((await service.get('/ready')).status).toBe(200);
  });

  test('60 creations a minute; existing accounts go on being served', async () => {
    await using service = await start({ settings: limited, stoppedClock: true });
    const known = freshId();
    const credit = (installId: string, key: string) => service.post('/v1/coins/credit', { installId, coins: 1, key });
    expect((await credit(known, 'a')).status).toBe(200);
    for (let index = 1; index < 60; index++) expect((await service.post('/v1/login', { installId: freshId() })).status).toBe(200);
    const refused = await service.post('/v1/login', { installId: freshId() });
    expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limited']);
    const fresh = freshId();
    const first = await credit(fresh, 'a');
    expect(first.status).toBe(429);
    // One creation a second comes back.
    expect(first.body.error.retryAfterMs).toBeGreaterThan(0);
    expect(first.body.error.retryAfterMs).toBeLessThanOrEqual(1000);
    expect((await credit(known, 'b')).body.balanceAfterCoins).toBe(2);
    service.advance(60_000);
    expect((await credit(fresh, 'a')).body.balanceAfterCoins).toBe(1);
  });

  test('30 wrong room codes a minute, and then not even right ones', async () => {
    await using service = await start({ settings: limited, stoppedClock: true });
    const { body } = await service.post('/v1/rooms', { installId: freshId() });
    for (let index = 0; index < 30; index++) {
      expect((await service.get('/v1/rooms/BBBBB')).status).toBe(404);
    }
    expect((await service.get(`/v1/rooms/${body.room.code}`)).status).toBe(429);
    service.advance(60_000);
    expect((await service.get(`/v1/rooms/${body.room.code}`)).status).toBe(200);
  });

  test('behind a trusted proxy the client is the rightmost address that is not one', async () => {
    await using service = await start({
      settings: { ...limited, RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '1', TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8' },
      stoppedClock: true,
    });
    const from = async (forwardedFor: string) =>
      (await service.get('/v1/session', { headers: { 'x-forwarded-for': forwardedFor } })).status;
    expect(await from('203.0.113.1')).toBe(200);
    expect(await from('203.0.113.1')).toBe(429);
    // What the client itself claims, further left, does not help it.
    expect(await from('198.51.100.7, 203.0.113.1')).toBe(429);
    expect(await from('203.0.113.1, 10.1.2.3')).toBe(429);
    expect(await from('203.0.113.2')).toBe(200);
    // IPv6 counts by /64.
    expect(await from('2001:db8:0:1::1')).toBe(200);
    expect(await from('2001:db8::1:ffff:0:0:2')).toBe(429);
    expect(await from('2001:db8:0:2::1')).toBe(200);
  });

  test('nobody else is believed about X-Forwarded-For', async () => {
    await using service = await start({ settings: { ...limited, RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '1' }, stoppedClock: true });
    expect((await service.get('/v1/session', { headers: { 'x-forwarded-for': '203.0.113.1' } })).status).toBe(200);
    expect((await service.get('/v1/session', { headers: { 'x-forwarded-for': '203.0.113.2' } })).status).toBe(429);
  });
});
