import { once } from 'node:events';
import { connect } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { refuse, type Refusal } from '../../../src/errors.ts';
import { AnswerLog, type LoggedRequests } from '../../../src/server/http/answer-log.ts';
import { endpoint, type Endpoint } from '../../../src/server/http/endpoint.ts';
import type { Exchange } from '../../../src/server/http/exchange.ts';
import { freshId, sleep, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { RawSocket } from '../../realtime/raw-socket.ts';
import { eventually } from '../../realtime/watcher.ts';
import { startServer } from './own-server.ts';

type Line = Record<string, unknown> & { msg: string };
const parsed = (lines: readonly string[]): Line[] => lines.map((line) => JSON.parse(line) as Line);

describe('AnswerLog', () => {
  const name = { method: 'POST', route: '/v1/coins/credit' };

  function logWith(slowMs: number, requests: LoggedRequests = 'off') {
    const lines: string[] = [];
    const answers = new AnswerLog(pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(line) }), {
      slowMs,
      requests,
    });
    const answer = (status: number, { workedMs = 1, refusal, now = 0 }: { workedMs?: number; refusal?: Refusal; now?: number } = {}) =>
      answers.answered(
        { requestId: 'r-1', accountId: 'account', refusal, workedMs: () => workedMs } as unknown as Exchange,
        name,
        status,
        now,
      );
    return { lines, answers, answer };
  }

  const away = refuse('store_unavailable', { retryAfterMs: 1000 }, new Error('Redis is away'));
  const unknown = refuse('store_unavailable', { retryAfterMs: 1000, outcome: 'unknown' }, new Error('Connection is closed.'));
  const line = { requestId: 'r-1', ...name, accountId: 'account', durationMs: 1 };

  test('writes a line for each answer of status 500 and above, with its error or its reason, and none for fast answers below', () => {
    const { lines, answer } = logWith(250);
    for (const status of [0, 101, 200, 204, 304, 400, 401, 403, 404, 409, 422]) answer(status, { workedMs: 249.9 });
    answer(500, { refusal: refuse('internal', {}, new Error('a defect')) });
    answer(503, { refusal: unknown, workedMs: 3.14159 });
    answer(503, { refusal: refuse('store_unconfigured') });
    const err = expect.objectContaining({ message: 'a defect', stack: expect.any(String) });
    const failed = { ...line, msg: 'request failed', status: 503, level: 40 };
    expect(parsed(lines)).toEqual([
      { ...failed, level: 50, status: 500, code: 'internal', err },
      { ...failed, code: 'store_unavailable', outcome: 'unknown', durationMs: 3.1, reason: 'Connection is closed.' },
      { ...failed, code: 'store_unconfigured' },
    ]);
  });

  test('writes one line a second at most for failures of an outage, with their number since the last one', () => {
    const { lines, answer, answers } = logWith(250);
    for (let count = 0; count < 1000; count++) answer(503, { refusal: away, now: count * 2 });
    answers.sweep(3000);
    // Long after the outage, a failure is logged with its usual line again.
    answer(503, { refusal: away, now: 60_000 });
    const failure = { ...line, level: 40, status: 503, code: 'store_unavailable', reason: 'Redis is away' };
    expect(parsed(lines)).toEqual([
      { ...failure, msg: 'request failed' },
      { ...failure, failed: 500, msg: 'requests failed' },
      { ...failure, failed: 499, msg: 'requests failed' },
      { ...failure, msg: 'request failed' },
    ]);
  });

  test('ten failures a second with an unknown outcome have lines of their own, and the others are counted', () => {
    const { lines, answer, answers } = logWith(250);
    for (let count = 0; count < 500; count++) answer(503, { refusal: unknown, now: count });
    answers.sweep(2000);
    const written = parsed(lines);
    expect(written.filter((line) => line['outcome'] === 'unknown' && line['failed'] === undefined)).toHaveLength(11);
    expect(written.at(-1)).toMatchObject({ failed: 489, unknown: 489, msg: 'requests failed' });
    expect(written).toHaveLength(12);
  });

  test('samples no 500, and no 503 of a store that lacks settings', () => {
    const { lines, answer } = logWith(250);
    for (let count = 0; count < 20; count++) answer(500, { refusal: refuse('internal', {}, new Error('a defect')) });
    for (let count = 0; count < 20; count++) answer(503, { refusal: refuse('store_unconfigured') });
    expect(lines).toHaveLength(40);
  });

  const failed = ['request refused', 'request refused', 'request failed', 'request failed'];
  test.each([
    ['refused', 'a line for each answer of status 400 and above', failed],
    ['all', 'a line for each request', ['request', 'request', 'request', 'request', ...failed]],
  ] as const)('LOG_REQUESTS=%s writes %s, and samples none', (requests, _, messages) => {
    const { lines, answer } = logWith(250, requests);
    for (const status of [0, 101, 200, 304]) answer(status);
    answer(404, { refusal: refuse('room_not_found') });
    answer(429, { refusal: refuse('rate_limited', { retryAfterMs: 1000 }) });
    for (let count = 0; count < 20; count++) answer(503, { refusal: away });
    answer(404, { refusal: refuse('room_not_found'), workedMs: 300 });
    const written = parsed(lines).map(({ msg }) => msg);
    expect(written).toEqual([...messages, ...Array<string>(18).fill('request failed'), 'slow request']);
  });

  test('writes the refusals that are left when the process ends', () => {
    const { lines, answer, answers } = logWith(250);
    for (let count = 0; count < 3; count++) answer(429, { refusal: refuse('rate_limited', { retryAfterMs: 1000 }) });
    answers.close();
    answers.close();
    expect(parsed(lines).map((line) => line['refused'])).toEqual([{ rate_limited: 1 }, { rate_limited: 2 }]);
  });
});

const own = (handle: () => unknown, declaration: Partial<Endpoint<object>> = {}): Endpoint<object> => ({
  ...endpoint({ method: 'GET', path: '/own/{code}', caller: 'none', summary: '', reply: z.object({}), example: '', handle: () => ({}) }),
  handle,
  ...declaration,
});
const slowRequestMs = 400;
/** Milliseconds by which the clock of the process is ahead. A handler that moves it has worked so long. */
let clock = 0;
const realNow = performance.now.bind(performance);
beforeAll(() => void vi.spyOn(performance, 'now').mockImplementation(() => realNow() + clock));
afterAll(() => void vi.restoreAllMocks());
const slowly = (milliseconds: number) => async () => {
  await sleep(0);
  clock += milliseconds;
  return {};
};
const serve = (...endpoints: Endpoint<object>[]) => startServer(endpoints, undefined, { slowRequestMs });

describe('through the server', () => {
  test('a slow request, one with Connection: close, and one whose client has gone write a line each, with the template of the path', async () => {
    const begun = Promise.withResolvers<void>();
    const endless = () => {
      begun.resolve();
      return new Promise(() => {});
    };
    await using server = await serve(own(slowly(450)), own(endless, { path: '/endless' }));
    const { headers } = await fetch(`${server.url}/own/secret?token=secret`, {
      headers: { cookie: 'a=secret', authorization: 'Bearer secret' },
    });
    const ask = (path: string, more: string) => {
      const socket = connect(server.port, '127.0.0.1').resume();
      socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n${more}\r\n`);
      return socket;
    };
    await once(ask('/own/a', 'connection: close\r\n'), 'close');
    const leaving = ask('/endless', '');
    await begun.promise;
    clock += 500;
    leaving.destroy();
    await eventually(() => server.logLines.length === 3);
    const slow = { msg: 'slow request', method: 'GET', route: '/own/{code}', durationMs: expect.toSatisfy((ms: number) => ms >= 450) };
    expect(parsed(server.logLines)).toMatchObject([
      { ...slow, status: 200, requestId: headers.get('x-request-id') },
      { ...slow, status: 200 },
      { ...slow, status: 0, route: '/endless' },
    ]);
    expect(server.logLines.join('')).not.toContain('secret');
  });

  test('the time in which a client sends its body or reads its answer does not count', async () => {
    const text = 'x'.repeat(20_000_000);
    await using server = await serve(
      own(() => ({}), { method: 'POST', body: z.object({}) }),
      own(() => ({ text }), { path: '/long' }),
    );
    for (const [head, rest, size] of [
      ['POST /own/a HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{', '}', 100],
      ['POST /own/a HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{', ']', 100],
      ['GET /long HTTP/1.1\r\nhost: a\r\n\r\n', '', text.length],
    ] as const) {
      const socket = connect(server.port, '127.0.0.1').pause();
      let received = 0;
      socket.on('data', (chunk) => (received += chunk.length)).pause();
      socket.write(head);
      // The server has read the head above when it answers this request.
      await fetch(`${server.url}/nowhere`);
      clock += 500;
      socket.write(rest);
      socket.resume();
      await eventually(() => received > size);
      socket.destroy();
    }
    expect(server.logLines).toEqual([]);
  });

  test('the time that a long-poll asks to wait does not count, but work beyond it does', async () => {
    for (const workMs of [0, 450]) {
      await using server = await serve(own(slowly(1000 + workMs), { waitSeconds: () => 1 }));
      await fetch(`${server.url}/own/a`);
      expect(parsed(server.logLines).map(({ durationMs }) => Number(durationMs) >= 450 && Number(durationMs) < 1000)).toEqual(
        workMs === 0 ? [] : [true],
      );
    }
  });

  test('the line of an error has its stack and the request id, also after the answer, but not the command of Redis that it came with', async () => {
    for (const late of [false, true]) {
      const fail = async () => {
        if (late) await sleep(400);
        const command = { name: 'hmget', args: ['{pair:secret-token}'] };
        throw Object.assign(new Error('WRONGTYPE', { cause: Object.assign(new Error('the cause'), { command }) }), { command });
      };
      await using server = await serve(own(fail, { deadlineMs: late ? 100 : 2000 }));
      const { headers } = await fetch(`${server.url}/own/a`);
      await eventually(() => server.logLines.some((line) => line.includes('WRONGTYPE')));
      const err = { type: 'Error', message: expect.stringContaining('WRONGTYPE'), stack: expect.stringContaining('the cause') };
      const lines = parsed(server.logLines);
      expect(lines.pop()).toMatchObject({ msg: 'request failed', requestId: headers.get('x-request-id'), err });
      expect(lines.map(({ status, code, reason }) => [status, code, reason])).toEqual(
        late ? [[503, 'store_unavailable', 'no answer in time']] : [],
      );
      expect(server.logLines.join('')).not.toContain('secret-token');
    }
  });

  test('refusals by the rate limit write few lines, which count all of them', async () => {
    await using server = await startServer([own(() => ({}))], undefined, { slowRequestMs, perSecond: 5 });
    const statuses = await Promise.all(Array.from({ length: 50 }, async () => (await fetch(`${server.url}/own/a`)).status));
    const refused = statuses.filter((status) => status === 429).length;
    const counts = () => parsed(server.logLines).map((line) => (line['refused'] as { rate_limited: number }).rate_limited);
    await eventually(() => counts().reduce((sum, count) => sum + count, 0) === refused);
    expect(counts().length).toBeLessThan(refused / 3);
  });

  test('the request id and the trace of a refusal lead to its line with LOG_REQUESTS=refused', async () => {
    await using server = await startServer([own(() => refuse('room_not_found'))], undefined, { loggedRequests: 'refused' });
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    const { headers } = await fetch(`${server.url}/own/secret`, { headers: { traceparent: `00-${trace}-00f067aa0ba902b7-01` } });
    await fetch(`${server.url}/nowhere`);
    await eventually(() => server.logLines.length === 2);
    expect(parsed(server.logLines)).toMatchObject([
      { msg: 'request refused', requestId: headers.get('x-request-id'), traceId: trace, route: '/own/{code}', code: 'room_not_found' },
      { msg: 'request refused', route: 'unmatched', status: 404, code: 'not_found' },
    ]);
    expect(server.logLines.join('')).not.toContain('secret');
  });

  test('a write with an unknown outcome writes a line with the account, a refused upgrade too, and no line has a secret', async () => {
    await using redis = await startRedis();
    const logLines: string[] = [];
    await using service = await start({ redis: redis.location, logLines, redisDeadlineMs: 2000 });
    const installId = freshId('secret');
    const { cookies, body } = await service.post('/v1/login', { installId });
    const { accountId } = body;
    await service.service.redis.call('CLIENT', 'PAUSE', '2500', 'ALL');
    const upgrade = RawSocket.open(service.port, '/v1/rooms/BCDFG/live', {});
    const answers = await Promise.all([
      service.post('/v1/coins/credit', { coins: 1, key: 'secret-key' }, { cookies }),
      service.post('/v1/coins/credit', { coins: 1, key: 'secret-key', installId }),
      service.get('/v1/balance?note=secret-query', { headers: { 'x-install-id': installId } }),
    ]);
    const raw = await upgrade;
    raw.destroy();
    expect([...answers, raw].map(({ status, body: { error } }) => [status, error.outcome])).toEqual([
      [503, 'unknown'],
      [503, 'unknown'],
      [503, undefined],
      [503, undefined],
    ]);
    const failures = () => parsed(logLines).filter(({ msg }) => msg === 'request failed');
    await eventually(() => failures().length === 4);
    for (const [index, { headers }] of answers.entries()) {
      const route = index < 2 ? '/v1/coins/credit' : '/v1/balance';
      const line = { requestId: headers.get('x-request-id'), accountId, route, code: 'store_unavailable' };
      expect(failures()).toContainEqual(expect.objectContaining(index < 2 ? { ...line, outcome: 'unknown' } : line));
    }
    expect(failures()).toContainEqual(expect.objectContaining({ route: '/v1/rooms/{code}/live', status: 503 }));
    for (const secret of ['secret', cookies[0]!.split('=')[1]!]) expect(logLines.join('')).not.toContain(secret);
  });
});
