import { describe, expect, test } from 'vitest';
import type { Admission } from '../../../src/server/admission.ts';
import { Origins } from '../../../src/server/identity/origin.ts';
import type { Exchange } from '../../../src/server/http/exchange.ts';
import { Overload } from '../../../src/server/http/overload.ts';
import { freshId, start, type TestService } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { eventually } from '../../realtime/watcher.ts';
import { all, Lines } from '../connection-lines.ts';

/** Refusals that leave at once in an interval. */
const AT_ONCE = 200;

/** A request that finds no place. */
function withoutPlace(startedAt: number) {
  const request = {
    isFinished: false,
    deadlineMs: 0,
    startedAt,
    headers: { origin: '' },
    takePlace: () => false,
    setDeadline: (milliseconds: number) => void (request.deadlineMs = milliseconds),
    send: () => void (request.isFinished = true),
  };
  return request;
}

describe('Overload', () => {
  const full = { isFull: true } as Admission;
  const refused = (overload: Overload, count: number, startedAt = 0) => {
    const requests = Array.from({ length: count }, () => withoutPlace(startedAt));
    for (const request of requests) expect(overload.refuses(request as unknown as Exchange)).toBe(true);
    return requests;
  };
  const answered = (requests: readonly { isFinished: boolean }[]): number => requests.filter(({ isFinished }) => isFinished).length;

  test('holds refusals back beyond a number in an interval, and sends the oldest in the next', () => {
    const overload = new Overload(new Origins([], undefined), full);
    const requests = refused(overload, AT_ONCE + 300);
    expect(answered(requests)).toBe(AT_ONCE);
    expect(requests.at(-1)!.deadlineMs).toBe(Infinity);
    overload.sweep(100);
    expect(answered(requests)).toBe(2 * AT_ONCE);
    expect(answered(requests.slice(0, 2 * AT_ONCE))).toBe(2 * AT_ONCE);
    overload.sweep(200);
    expect(answered(requests)).toBe(AT_ONCE + 300);
  });

  test('holds no refusal back for longer than a second', () => {
    const overload = new Overload(new Origins([], undefined), full);
    const requests = refused(overload, 10 * AT_ONCE);
    overload.sweep(999);
    expect(answered(requests)).toBe(2 * AT_ONCE);
    overload.sweep(1000);
    expect(answered(requests)).toBe(10 * AT_ONCE);
    // These refusals were more than an interval's share. The next interval has its whole share again.
    overload.sweep(1100);
    expect(answered(refused(overload, AT_ONCE, 1100))).toBe(AT_ONCE);
  });
});

describe('a service with all places taken', () => {
  const CHUNKED = 'transfer-encoding: chunked';
  const UPGRADE = 'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==';

  const metric = ({ service }: TestService, name: string) => service.metrics.registry.getSingleMetricAsString(name);

  /** A service whose only place is taken by a request that waits for Redis, until the test ends or for so long. */
  async function fullService(settings: Record<string, string> = {}, waitsMs = 60_000): Promise<TestService> {
    const redis = await startRedis();
    const service = await start({ redis: redis.location, settings: { MAX_IN_FLIGHT: '1', ...settings } });
    await redis.redis.call('CLIENT', 'PAUSE', waitsMs, 'WRITE');
    void service.post('/v1/coins/credit', { installId: freshId(), coins: 1, key: 'waits' }).catch(() => {});
    await eventually(async () => (await metric(service, 'coinop_http_requests_in_flight')).includes('in_flight 1'));
    const stop = service[Symbol.asyncDispose];
    return Object.assign(service, {
      async [Symbol.asyncDispose]() {
        await redis.redis.call('CLIENT', 'UNPAUSE');
        await stop.call(service);
        await redis[Symbol.asyncDispose]();
      },
    });
  }

  test('refuses a POST before its body arrives, and answers the next request of the connection', async () => {
    await using service = await fullService();
    using lines = new Lines(service);
    const line = await lines.beginBody();
    await eventually(() => line.received.includes('"code":"overloaded"'));
    expect(line.received).not.toMatch(/\r\nconnection: close/i);
    line.received = '';
    // The other 79 bytes of the body, and a request in the same packet.
    line.socket.write(`${'x'.repeat(79)}GET /health HTTP/1.1\r\nhost: a\r\n\r\n`);
    await eventually(() => line.received.includes('"service":"coinop"'));
    expect(line.received).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(line.isClosed).toBe(false);
  });

  test.each([
    ['a body without a safe end', 'POST /v1/coins/credit', CHUNKED, 'overloaded', true],
    ['a body that is too large', 'POST /v1/coins/credit', 'content-length: 1000000', 'payload_too_large', true],
    ['an upgrade', 'GET /v1/rooms/BCDFG/live', UPGRADE, 'overloaded', false],
  ])('refuses %s', async (_, line, headers, code, closes) => {
    await using service = await fullService();
    using lines = new Lines(service);
    const client = await lines.open();
    client.socket.write(`${line} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${headers}\r\n\r\n`);
    await eventually(() => client.received.includes(`"code":"${code}"`));
    if (closes) await eventually(() => client.isClosed);
  });

  test('lets pages of an allowed origin read the refusal', async () => {
    await using service = await fullService({ ALLOWED_ORIGINS: 'https://play.example' });
    const { body, headers } = await service.get(`/v1/balance?installId=${freshId()}`, { headers: { origin: 'https://play.example' } });
    expect(body.error.code).toBe('overloaded');
    expect(headers.get('access-control-allow-origin')).toBe('https://play.example');
    expect(headers.get('retry-after')).toBe('1');
  });

  test('answers a probe before the refusals that are held back, and a drain waits for those', async () => {
    await using service = await fullService({}, 1900);
    const replies = all(2 * AT_ONCE, () => service.get(`/v1/balance?installId=${freshId()}`));
    expect((await service.get('/health')).status).toBe(200);
    await eventually(async () => (await metric(service, 'coinop_http_requests_total')).includes('status="503"'));
    await service.service.drain();
    // On a slow machine Redis answers the last of them.
    expect((await replies).filter(({ body }) => body.error?.code === 'overloaded').length).toBeGreaterThan(AT_ONCE);
  });
});
