import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startRedis } from '../own-redis.ts';
import { freshId, start, type TestReply, type TestService } from '../harness.ts';
import { startChild } from '../realtime/child.ts';
import { frame, opcodes, RawSocket } from '../realtime/raw-socket.ts';
import { eventually, watchRoom } from '../realtime/watcher.ts';

const limited = { RATE_LIMIT: 'on' };
/** Room for all that a test asks at once. */
const roomy = { ...limited, RATE_LIMIT_PER_SECOND: '10000', RATE_LIMIT_BURST: '10000' };

/** A connection, and what it was sent. */
interface Line {
  readonly socket: Socket;
  received: string;
  isClosed: boolean;
}

/** Connections that close with the test that opened them, before its service waits for what they leave unfinished. */
class Lines implements Disposable {
  readonly #service: { readonly port: number };
  readonly #lines: Line[] = [];

  constructor(service: { readonly port: number }) {
    this.#service = service;
  }

  /** @param from an address of this machine's own: all of 127.0.0.0/8 is */
  async open(from = '127.0.0.1'): Promise<Line> {
    const socket = connect({ port: this.#service.port, host: '127.0.0.1', localAddress: from });
    const line: Line = { socket, received: '', isClosed: false };
    this.#lines.push(line);
    socket.on('error', () => {});
    socket.on('data', (bytes) => (line.received += bytes.toString()));
    socket.on('close', () => (line.isClosed = true));
    await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
    return line;
  }

  /** Begins a request whose body does not come. */
  async beginBody(headers = '', from?: string): Promise<Line> {
    const line = await this.open(from);
    line.socket.write(
      `POST /v1/coins/credit HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 80\r\n${headers}\r\n{`,
    );
    return line;
  }

  /** Asks for something on a connection of its own, until that closes. */
  async ask(from?: string): Promise<number> {
    const line = await this.open(from);
    line.socket.write('GET /health HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
    await eventually(() => line.isClosed);
    return statusOf(line);
  }

  [Symbol.dispose](): void {
    for (const { socket } of this.#lines) socket.destroy();
  }
}

const statusOf = ({ received }: Line): number => Number(received.split(' ')[1]);
const count = (replies: TestReply[], status: number): number => replies.filter((reply) => reply.status === status).length;
const all = <Item>(length: number, make: (index: number) => Promise<Item>): Promise<Item[]> =>
  Promise.all(Array.from({ length }, (_, index) => make(index)));

const credit = (service: TestService, installId: string): Promise<TestReply> =>
  service.post('/v1/coins/credit', { installId, coins: 1, key: freshId('key') });

describe('bodies that do not come', () => {
  test('take no place among the requests in flight', async () => {
    await using service = await start({ settings: { MAX_IN_FLIGHT: '2' } });
    using lines = new Lines(service);
    await all(20, () => lines.beginBody());
    await eventually(async () => (await service.get('/metrics')).body.includes('coinop_http_requests_in_flight 0\n'));
    for (let index = 0; index < 5; index++) expect((await credit(service, freshId())).status).toBe(200);
  });

  test('are so many from one address; its whole ones, and those of others, are taken', async () => {
    await using service = await start({ settings: { ...roomy, BODIES_PER_ADDRESS: '3' } });
    using lines = new Lines(service);
    const begun = [...(await all(3, () => lines.beginBody())), ...(await all(4, () => lines.beginBody()))];
    const elsewhere = await all(3, () => lines.beginBody('', '127.0.0.2'));
    await eventually(() => begun.slice(3).every(({ isClosed }) => isClosed));
    expect(begun.map(statusOf)).toEqual([NaN, NaN, NaN, 429, 429, 429, 429]);
    expect(begun[3]!.received).toContain('"code":"rate_limited"');
    expect(begun[3]!.received).toMatch(/^retry-after: 1\r$/m);
    expect((await credit(service, freshId())).status).toBe(200);
    expect([...begun.slice(0, 3), ...elsewhere].map(({ isClosed }) => isClosed)).toEqual(Array(6).fill(false));
    // One that comes whole after all makes room for another.
    begun[0]!.socket.write('x'.repeat(79));
    await eventually(() => statusOf(begun[0]!) === 400);
    const next = await lines.beginBody();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(next.isClosed).toBe(false);
  });

  test('of the clients of a trusted proxy count for each client', async () => {
    await using service = await start({ settings: { ...roomy, BODIES_PER_ADDRESS: '2', TRUSTED_PROXIES: '127.0.0.1' } });
    using lines = new Lines(service);
    const of = (client: string) => lines.beginBody(`x-forwarded-for: ${client}\r\n`);
    const one = await all(3, () => of('203.0.113.1'));
    const other = await all(2, () => of('203.0.113.2'));
    await eventually(() => one.filter(({ isClosed }) => isClosed).length === 1);
    expect(other.map(({ isClosed }) => isClosed)).toEqual([false, false]);
  });
});

describe('connections', () => {
  const settings = { ...roomy, CONNECTIONS_PER_ADDRESS: '10' };

  test('of one address are so many, those of another as many; closed ones are forgotten', async () => {
    await using service = await start({ settings });
    using lines = new Lines(service);
    const openFrom = async (address: string): Promise<Line[]> => {
      const opened: Line[] = [];
      for (let index = 0; index < 14; index++) opened.push(await lines.open(address));
      await eventually(() => opened.slice(10).every(({ isClosed }) => isClosed));
      return opened;
    };
    const opened = await openFrom('127.0.0.2');
    expect(opened.map(({ isClosed }) => isClosed)).toEqual([...Array(10).fill(false), ...Array(4).fill(true)]);
    expect((await openFrom('127.0.0.3')).filter(({ isClosed }) => !isClosed).length).toBe(10);
    expect((await service.get('/health')).status).toBe(200);
    for (const { socket } of opened) socket.destroy();
    // What closed is forgotten when the kernel is asked the next time.
    await eventually(async () => (await lines.ask('127.0.0.2')) === 200);
    const another = await lines.open('127.0.0.3');
    await eventually(() => another.isClosed);
  });

  test('that open and close again and again never come to the bound', async () => {
    await using service = await start({ settings: { ...roomy, CONNECTIONS_PER_ADDRESS: '100' } });
    using lines = new Lines(service);
    for (let index = 0; index < 150; index++) {
      expect(await lines.ask('127.0.0.2')).toBe(200);
      // As often as a client's requests may come.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });

  test('of a trusted proxy are not counted', async () => {
    await using service = await start({ settings: { ...settings, TRUSTED_PROXIES: '127.0.0.2' } });
    using lines = new Lines(service);
    const opened = await all(30, () => lines.open('127.0.0.2'));
    expect((await service.get('/health')).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(opened.filter(({ isClosed }) => isClosed)).toEqual([]);
  });
});

describe('200 at once', () => {
  test.each<[string, (service: TestService, index: number) => Promise<TestReply>]>([
    ['first writes', (service) => credit(service, freshId())],
    ['sign-ins', (service) => service.post('/v1/login', { installId: freshId() })],
    ['rooms', (service) => service.post('/v1/rooms', { installId: freshId() })],
    [
      'first scores of boards',
      (service) => service.post(`/v1/highscores/${freshId('board').toLowerCase()}`, { installId: freshId(), score: 1, name: 'A' }),
    ],
    [
      'first writes of all kinds',
      (service, index) => {
        const installId = freshId();
        const writes = [
          () => credit(service, installId),
          () => service.post('/v1/subscription/report', { installId, subscribed: true }),
          () => service.post('/v1/entitlement/first-run', { installId }),
          () => service.post('/v1/account/resolve', { installId }),
        ];
        return writes[index % writes.length]!();
      },
    ],
  ])('%s: 60 are made, all others are told when to come back', async (_, make) => {
    await using service = await start({ settings: roomy, stoppedClock: true });
    const replies = await all(200, (index) => make(service, index));
    expect([count(replies, 200), count(replies, 429)]).toEqual([60, 140]);
    const { error } = replies.find(({ status }) => status === 429)!.body;
    expect(error).toMatchObject({ code: 'rate_limited' });
    expect(error.retryAfterMs).toBeGreaterThan(0);
    expect(error.retryAfterMs).toBeLessThanOrEqual(1000);
  });

  test('writes of accounts that exist: each is done, and none counts', async () => {
    await using service = await start({ settings: roomy, stoppedClock: true });
    const installs = await all(50, async () => {
      const installId = freshId();
      await credit(service, installId);
      return installId;
    });
    expect(count(await all(200, (index) => credit(service, installs[index % 50]!)), 200)).toBe(200);
    expect(count(await all(20, () => credit(service, freshId())), 200)).toBe(10);
  });

  test.each<[string, (service: TestService, code: string) => Promise<TestReply>]>([
    ['looked up', (service, code) => service.get(`/v1/rooms/${code}`)],
    ['waited for', (service, code) => service.get(`/v1/rooms/${code}?since=0&wait=1`)],
    ['joined', (service, code) => service.post(`/v1/rooms/${code}/join`, { installId: 'somebody-who-guesses' })],
  ])('wrong codes of rooms %s: 30 are told they are wrong, and right ones take none', async (_, ask) => {
    await using service = await start({ settings: roomy, stoppedClock: true });
    const { body } = await service.post('/v1/rooms', { installId: freshId() });
    const right = await all(29, () => ask(service, body.room.code));
    expect(count(right, 200)).toBe(29);
    const replies = await all(200, () => ask(service, 'BBBBB'));
    expect([count(replies, 404), count(replies, 429)]).toEqual([30, 170]);
    expect((await ask(service, body.room.code)).status).toBe(429);
    service.advance(2000);
    expect((await ask(service, body.room.code)).status).toBe(200);
    expect((await ask(service, 'BBBBB')).status).toBe(404);
  });

  test('long-polls on a room that is there hold no guess', async () => {
    await using service = await start({ settings: roomy, stoppedClock: true });
    const { body } = await service.post('/v1/rooms', { installId: freshId() });
    const polls = all(40, () => service.get(`/v1/rooms/${body.room.code}?since=${body.room.seq}&wait=2`));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(count(await all(40, () => service.get(`/v1/rooms/${body.room.code}?since=${body.room.seq}&wait=1`)), 200)).toBe(40);
    expect((await service.get('/v1/rooms/BBBBB')).status).toBe(404);
    expect(count(await polls, 200)).toBe(40);
  });

  test('wrong pairing tokens: 30', async () => {
    await using service = await start({ settings: roomy, stoppedClock: true });
    const replies = await all(200, () => service.get(`/v1/pair/status?token=${'A'.repeat(24)}`));
    expect([count(replies, 404), count(replies, 429)]).toEqual([30, 170]);
  });

  test('upgrades to wrong codes: 30', async () => {
    await using service = await start({ settings: roomy, stoppedClock: true });
    const refused = await all(100, () => RawSocket.open(service.port, '/v1/rooms/BBBBB/live'));
    expect([404, 429].map((status) => refused.filter((raw) => raw.status === status).length)).toEqual([30, 70]);
  });
});

/** Processes that the service forked: what else it started is its Redis. */
function workersOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  return children.filter((child) => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('main.ts'));
}

describe('several workers', () => {
  test('count creations, misses and sockets together, and a worker that dies gives its sockets back', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'coinop-workers-'));
    const child = await startChild({ ...roomy, WORKERS: '2', DATA_DIR: folder, SOCKETS_PER_ADDRESS: '7' });
    try {
      const post = async (path: string, body: object) =>
        (
          await fetch(child.url + path, {
            method: 'POST',
            headers: { 'content-type': 'application/json', connection: 'close' },
            body: JSON.stringify(body),
          })
        ).status;
      const { room } = (await (
        await fetch(`${child.url}/v1/rooms`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: `{"installId":"${freshId()}"}`,
        })
      ).json()) as { room: { code: string } };
      const statuses = await all(150, () => post('/v1/coins/credit', { installId: freshId(), coins: 1, key: 'a' }));
      const made = statuses.filter((status) => status === 200).length;
      // One of the 60 is the room; one a second comes back.
      expect(made).toBeGreaterThanOrEqual(59);
      expect(made).toBeLessThanOrEqual(64);
      const guesses = await all(100, async () => (await fetch(`${child.url}/v1/rooms/BBBBB`, { headers: { connection: 'close' } })).status);
      const told = guesses.filter((status) => status === 404).length;
      expect(told).toBeGreaterThanOrEqual(30);
      expect(told).toBeLessThanOrEqual(33);
      await new Promise((resolve) => setTimeout(resolve, 2100));

      const path = `/v1/rooms/${room.code}/live`;
      const opened = await all(20, () => RawSocket.open(child.port, path));
      expect(opened.filter(({ status }) => status === 101).length).toBe(7);
      expect(opened.find(({ status }) => status !== 101)!.body.error).toMatchObject({ code: 'rate_limited', retryAfterMs: 10_000 });
      // The kernel ends the sockets of a worker that dies; their places are given back, and the service goes on.
      const [doomed] = workersOf(child.pid);
      process.kill(doomed!, 'SIGKILL');
      const standing = (): RawSocket[] => opened.filter(({ status, isClosed }) => status === 101 && !isClosed);
      await eventually(() => workersOf(child.pid).length === 2 && !workersOf(child.pid).includes(doomed!));
      await eventually(async () => {
        const raw = await RawSocket.open(child.port, path).catch(() => undefined);
        if (raw !== undefined) opened.push(raw);
        return standing().length === 7;
      });
      expect((await RawSocket.open(child.port, path)).status).toBe(429);
      for (const raw of opened) raw.destroy();
      await eventually(async () => (await RawSocket.open(child.port, path)).status === 101);
    } finally {
      await child.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('messages on a live channel', () => {
  test('count as requests; a refusal says when to send again, and not all are told the same', async () => {
    await using service = await start({ settings: { ...limited, RATE_LIMIT_PER_SECOND: '2', RATE_LIMIT_BURST: '8' }, stoppedClock: true });
    const host = freshId();
    const { body } = await service.post('/v1/rooms', { installId: host });
    const watcher = await watchRoom(service, body.room.code);
    // Two of the eight are gone by now.
    for (let index = 0; index < 6; index++) expect((await watcher.hello(freshId())).error.code).toBe('not_in_room');
    const refused = [await watcher.hello(host), await watcher.hello(host), await watcher.hello(host)].map(({ error }) => error);
    expect(refused.map(({ code }) => code)).toEqual(Array(3).fill('rate_limited'));
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

  test('one is done and one waits: more are refused until then', async () => {
    await using redis = await startRedis();
    await using service = await start({ redis: redis.location });
    const { body } = await service.post('/v1/rooms', { installId: freshId() });
    const watcher = await watchRoom(service, body.room.code);
    await service.service.redis.call('CLIENT', 'PAUSE', '1000', 'ALL');
    for (let index = 0; index < 6; index++) watcher.send({ type: 'hello', installId: freshId() });
    const answers = () => watcher.messages.filter(({ type }) => type === 'error').map(({ error }) => error.code);
    await eventually(() => answers().length === 6);
    expect(answers()).toEqual([...Array(4).fill('rate_limited'), 'not_in_room', 'not_in_room']);
    await watcher.close();
  });

  test('a flood of pings ends the socket', async () => {
    await using service = await start();
    const { body } = await service.post('/v1/rooms', { installId: freshId() });
    const raw = await RawSocket.open(service.port, `/v1/rooms/${body.room.code}/live`);
    for (let index = 0; index < 60; index++) raw.write(frame(opcodes.ping, ''));
    expect(await raw.closed()).toBe(4429);
  });
});
