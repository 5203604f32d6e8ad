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

interface Fake {
  readonly exchange: Exchange;
  readonly sent: { status: number; body: string; headers: string }[];
  readonly deadlines: number[];
  end(): void;
}

function fake(requestId: string, startedAt = 0): Fake {
  const sent: Fake['sent'] = [];
  const deadlines: number[] = [];
  const exchange = {
    isFinished: false,
    startedAt,
    requestId,
    headers: { origin: '' },
    takePlace: () => false,
    setDeadline: (milliseconds: number) => deadlines.push(milliseconds),
    send(status: number, body: string, headers: string) {
      sent.push({ status, body, headers });
      exchange.isFinished = true;
    },
  };
  return { exchange: exchange as unknown as Exchange, sent, deadlines, end: () => void (exchange.isFinished = true) };
}

describe('Overload', () => {
  const full = { isFull: true } as Admission;
  const refused = (overload: Overload, count: number, startedAt = 0): Fake[] => {
    const fakes = Array.from({ length: count }, (_, index) => fake(`id-${index}`, startedAt));
    for (const { exchange } of fakes) expect(overload.refuses(exchange)).toBe(true);
    return fakes;
  };
  const answered = (fakes: readonly Fake[]): number => fakes.filter(({ sent }) => sent.length === 1).length;

  test('refuses with the error body of the contract', () => {
    const [{ sent }] = refused(new Overload(new Origins([], undefined), full), 1) as [Fake];
    expect(sent[0]!.status).toBe(503);
    expect(JSON.parse(sent[0]!.body)).toEqual({
      ok: false,
      error: { code: 'overloaded', message: 'Too much is under way here: try again.', retryAfterMs: 1000 },
      requestId: 'id-0',
    });
    expect(sent[0]!.headers).toContain('\r\nretry-after: 1');
  });

  test('holds refusals back beyond a number in an interval, and sends the oldest in the next', () => {
    const overload = new Overload(new Origins([], undefined), full);
    const fakes = refused(overload, AT_ONCE + 300);
    expect(answered(fakes)).toBe(AT_ONCE);
    expect(fakes.at(-1)!.deadlines).toEqual([Infinity]);
    overload.sweep(100);
    expect(answered(fakes)).toBe(2 * AT_ONCE);
    expect(answered(fakes.slice(0, 2 * AT_ONCE))).toBe(2 * AT_ONCE);
    overload.sweep(200);
    expect(answered(fakes)).toBe(AT_ONCE + 300);
  });

  test('holds no refusal back for longer than a second', () => {
    const overload = new Overload(new Origins([], undefined), full);
    const fakes = refused(overload, 10 * AT_ONCE);
    overload.sweep(999);
    expect(answered(fakes)).toBe(2 * AT_ONCE);
    overload.sweep(1000);
    expect(answered(fakes)).toBe(10 * AT_ONCE);
    // These refusals were more than an interval's share. The next interval has its whole share again.
    overload.sweep(1100);
    expect(answered(refused(overload, AT_ONCE, 1100))).toBe(AT_ONCE);
  });

  test('a client that has gone does not use up the share of an interval', () => {
    const overload = new Overload(new Origins([], undefined), full);
    const fakes = refused(overload, 3 * AT_ONCE);
    for (const { end } of fakes.slice(AT_ONCE, 2 * AT_ONCE)) end();
    overload.sweep(100);
    expect(answered(fakes.slice(2 * AT_ONCE))).toBe(AT_ONCE);
  });
});

describe('a service with all places taken', () => {
  /** A service whose only place is taken by a request that waits for Redis. */
  async function fullService(settings: Record<string, string> = {}): Promise<TestService> {
    const redis = await startRedis();
    const service = await start({ redis: redis.location, settings: { MAX_IN_FLIGHT: '1', ...settings } });
    await service.service.redis.call('CLIENT', 'PAUSE', '1900', 'ALL');
    void service.get(`/v1/balance?installId=${freshId()}`).catch(() => {});
    await eventually(async () => (await service.get('/metrics')).body.includes('coinop_http_requests_in_flight 1\n'));
    const stop = service[Symbol.asyncDispose];
    return Object.assign(service, {
      async [Symbol.asyncDispose]() {
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

  test('refuses a body without a safe end, and closes its connection', async () => {
    await using service = await fullService();
    using lines = new Lines(service);
    const line = await lines.open();
    line.socket.write('POST /v1/coins/credit HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n');
    await eventually(() => line.received.includes('"code":"overloaded"'));
    expect(line.received).toMatch(/\r\nconnection: close/i);
    await eventually(() => line.isClosed);
  });

  test('refuses a body that is too large as such, and closes its connection', async () => {
    await using service = await fullService();
    using lines = new Lines(service);
    const line = await lines.open();
    line.socket.write('POST /v1/coins/credit HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n{');
    await eventually(() => line.received.includes('"code":"payload_too_large"'));
    await eventually(() => line.isClosed);
  });

  test('refuses an upgrade', async () => {
    await using service = await fullService();
    using lines = new Lines(service);
    const line = await lines.open();
    const headers = 'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==';
    line.socket.write(`GET /v1/rooms/BCDFG/live HTTP/1.1\r\nhost: a\r\n${headers}\r\n\r\n`);
    await eventually(() => line.received.includes('"code":"overloaded"'));
    expect(line.received).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n/);
  });

  test('lets pages of an allowed origin read the refusal', async () => {
    await using service = await fullService({ ALLOWED_ORIGINS: 'https://play.example' });
    const { body, headers } = await service.get(`/v1/balance?installId=${freshId()}`, { headers: { origin: 'https://play.example' } });
    expect(body.error.code).toBe('overloaded');
    expect(headers.get('access-control-allow-origin')).toBe('https://play.example');
    expect(headers.get('retry-after')).toBe('1');
  });

  test('answers every refusal, those held back too, and probes at once', async () => {
    await using service = await fullService();
    const startedAt = performance.now();
    const replies = all(2 * AT_ONCE, () => service.get(`/v1/balance?installId=${freshId()}`));
    expect((await service.get('/health')).status).toBe(200);
    const codes = (await replies).map(({ body }) => body.error.code);
    expect(codes.filter((code) => code === 'overloaded')).toHaveLength(2 * AT_ONCE);
    // Held back until a sweep, and no longer than the service's second. A loaded machine takes longer for so many answers.
    expect(performance.now() - startedAt).toBeLessThan(4000);
  });

  test('a drain waits for the refusals that are held back', async () => {
    await using service = await fullService();
    const replies = all(2 * AT_ONCE, () => service.get(`/v1/balance?installId=${freshId()}`));
    await eventually(async () => (await service.get('/metrics')).body.includes('status="503"'));
    await service.service.drain();
    expect((await replies).every(({ body }) => body.error.code === 'overloaded')).toBe(true);
  });
});
