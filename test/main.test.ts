import { existsSync, readdirSync, statSync } from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { Children, creditOn } from './children.ts';
import { forFile, freshId, request } from './harness.ts';
import { sendRaw, statusesIn } from './raw.ts';
import { refusedStart, workersOf, type Child } from './realtime/child.ts';
import { RawSocket } from './realtime/raw-socket.ts';
import { PATIENT } from './patience.ts';

/** The service as operators start it: whole processes. `starts-and-stops.test.ts` has the cases that need many starts. */

const children = await forFile(Promise.resolve(new Children()));
const { folder } = children;

const production = {
  NODE_ENV: 'production',
  SESSION_KEYS: `k:${'A'.repeat(43)}`,
  PUBLIC_URL: 'https://play.example',
  METRICS_PORT: '0',
  LOG_LEVEL: 'trace',
};

const run = (settings: Record<string, string>): Promise<Child> => children.start(settings);

const post = (path: string, body: object): string => {
  const text = JSON.stringify(body);
  return `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
};
const metricsOf = (service: Child): string => /"url":"(http:[^"]+)"/.exec(service.output())![1]!;

function expectTwoWarnings(service: Child): void {
  const warnings = service
    .output()
    .split('\n')
    .filter((line) => line.includes('"level":40'));
  expect(warnings.filter((line) => line.includes('sample'))).toHaveLength(1);
  expect(warnings.filter((line) => line.includes('GOOGLE_CLIENT_IDS') && line.includes('store_unconfigured'))).toHaveLength(1);
  // There are no other warnings. For example, each worker has bounded the receive buffers of its connections.
  expect(warnings).toHaveLength(2);
}

describe('one process', () => {
  const DATA_DIR = join(folder, 'one');
  const installId = freshId('secret-install');
  let service: Child;
  beforeAll(async () => void (service = await run({ ...production, DATA_DIR })));

  test('warns once of the sample catalogue and of missing store settings in production', () => expectTwoWarnings(service));

  test('hides data and socket from other users, appends every write and never evicts', async () => {
    for (const name of ['redis', 'redis.sock']) expect(statSync(join(DATA_DIR, name)).mode & 0o077).toBe(0);
    expect(readdirSync(join(DATA_DIR, 'redis'))).toContain('appendonlydir');
    const redis = new Redis({ path: join(DATA_DIR, 'redis.sock') });
    const info = await redis.info();
    redis.disconnect();
    expect(info).toMatch(/aof_enabled:1/);
    expect(info).toMatch(/maxmemory_policy:noeviction/);
  });

  test('a second service does not start on its DATA_DIR or on its port', async () => {
    const [ofFolder, ofPort] = await Promise.all([
      refusedStart({ DATA_DIR }),
      refusedStart({ PORT: String(service.port), DATA_DIR: join(folder, 'other') }),
    ]);
    expect(ofFolder).toMatch(/^1: coinop: DATA_DIR .* is in use: another coinop keeps its data there\.$/m);
    // On a busy machine its own Redis may answer late, which is logged before.
    expect(ofPort).toMatch(new RegExp(`^1: (?:{.*}\n)*coinop: .*${service.port}.* taken`));
  });

  test('METRICS_PORT serves /metrics and nothing else, and takes it from PORT', async () => {
    const { body } = await request(service.url, '/?format=json', {});
    expect(body.endpoints.map(({ path }: { path: string }) => path)).not.toContain('/metrics');
    await expect((await fetch(`${service.url}/`)).text()).resolves.not.toContain('href="/metrics"');
    expect((await fetch(`${service.url}/metrics`)).status).toBe(404);
    for (const [path, method, expected] of [
      ['/ready', 'GET', 404],
      ['/v1/balance', 'GET', 404],
      ['/metrics', 'POST', 405],
      ['/metrics?x=1', 'GET', 200],
    ] as const)
      expect([path, (await fetch(metricsOf(service).replace('/metrics', path), { method })).status]).toEqual([path, expected]);
  });

  test('the log has no line for a successful request and no secrets', async () => {
    const lines = service.output().split('\n').length;
    for (let index = 0; index < 20; index++) await creditOn(service, installId, `secret-key-${index}`);
    await request(service.url, `/v1/balance?installId=${installId}`, {});
    expect(service.output()).not.toContain('secret-');
    // Background work may write some lines: fewer than there were requests.
    expect(service.output().split('\n').length - lines).toBeLessThan(15);
  });

  test('SIGTERM refuses new connections, finishes a request whose body is on its way, and ends with 0 despite a second signal', async () => {
    const [head, body] = post('/v1/coins/credit', { installId, coins: 1, key: 'a' }).split('\r\n\r\n') as [string, string];
    const socket = connect(service.port, '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => void (answer += chunk.toString()));
    const closed = once(socket, 'close');
    socket.write(`${head}\r\n\r\n`);
    // The service answers this request after it has read the head above, which was sent before.
    expect((await request(service.url, '/health', {})).status).toBe(200);
    const exited = service.stop();
    const ask = () => fetch(`${service.url}/health`, { headers: { connection: 'close' } });
    await vi.waitFor(() => expect(ask()).rejects.toThrow(), PATIENT);
    void service.stop('SIGINT');
    socket.write(body);
    await closed;
    expect(statusesIn(answer)).toEqual([200]);
    expect(answer).toContain('"balanceAfterCoins":21');
    expect(await exited).toBe(0);
    expect([...service.output().matchAll(/"signal":"(SIG\w+)"/g)].map(([, name]) => name)).toEqual(['SIGTERM']);
    // A scraper's open connection has not delayed the stop.
    await expect(fetch(metricsOf(service))).rejects.toThrow();
    expect(existsSync(join(DATA_DIR, 'redis.sock'))).toBe(false);
  });

  test('the next start finds the data, and makes session keys that other users cannot read', async () => {
    const next = await run({ DATA_DIR });
    expect(statSync(join(DATA_DIR, 'session-keys')).mode & 0o077).toBe(0);
    expect((await creditOn(next, installId, 'a')).body).toEqual({ ok: true, balanceAfterCoins: 21, replayed: true, balanceCoins: 21 });
    expect((await creditOn(next, installId, 'b')).body).toEqual({ ok: true, balanceAfterCoins: 22 });
    await next.stop('SIGKILL');
  });
});

describe('two workers', () => {
  const DATA_DIR = join(folder, 'two');
  let service: Child;
  beforeAll(async () => void (service = await run({ ...production, DATA_DIR, WORKERS: '2', SOCKETS_PER_ADDRESS: '7' })));

  /** The number of processes that answered the requests, each on its own connection. Request ids begin with a prefix of their process. */
  async function answering(requests: string[]): Promise<number> {
    const closing = requests.map((text) => text.replace('\r\n', '\r\nconnection: close\r\n'));
    const replies = await Promise.all(closing.map((text) => sendRaw(service.port, text, 5000)));
    expect(replies.flatMap(({ text }) => statusesIn(text))).toEqual(requests.map(() => 200));
    return new Set(replies.map(({ text }) => /x-request-id: ([^-]+)-/.exec(text)![1])).size;
  }
  const metrics = async (): Promise<string> => (await fetch(metricsOf(service))).text();

  test('warn once together', () => expectTwoWarnings(service));

  test('serve the port, and METRICS_PORT serves the sum of their counts', async () => {
    const installId = freshId();
    // The kernel gives each connection to one worker. 64 connections reach both.
    expect(
      await answering(Array.from({ length: 64 }, (_, index) => post('/v1/coins/credit', { installId, coins: 1, key: `k${index}` }))),
    ).toBe(2);
    // A worker that is held up is late for a scrape, which then lacks its counts.
    const counted = 'coinop_http_requests_total{method="POST",route="/v1/coins/credit",status="200"} 64\n';
    let text = '';
    await expect.poll(async () => (text = await metrics())).toContain(counted);
    const reply = await fetch(metricsOf(service));
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    await reply.text();
    expect(text).toContain('coinop_coins_in_total{type="credit"} 64\n');
    // The value of one worker, not the sum of all.
    expect(text).toMatch(/^coinop_build_info\{.*\} 1$/m);
    expect(text).toMatch(/^coinop_redis_up 1$/m);
    expect(Number(/^process_start_time_seconds (\S+)$/m.exec(text)![1])).toBeCloseTo(Date.now() / 1000, -2);
  });

  test('count sockets together, and one that dies is replaced without a refused connection, and leaves its sockets and counts', async () => {
    const { body } = await request(service.url, '/v1/rooms', { method: 'POST' }, JSON.stringify({ installId: freshId() }));
    const opened: RawSocket[] = [];
    const open = async () => opened.push(await RawSocket.open(service.port, `/v1/rooms/${body.room.code}/live`));
    const standing = () => opened.filter(({ status, isClosed }) => status === 101 && !isClosed).length;
    while (opened.length < 20) await open();
    expect(standing()).toBe(7);
    expect(opened.at(-1)!.body.error).toMatchObject({ code: 'rate_limited', retryAfterMs: 10_000 });

    const [doomed] = workersOf(service) as [number];
    process.kill(doomed, 'SIGKILL');
    await expect.poll(() => service.output()).toContain('a worker ended, starting another');
    const health = Array.from({ length: 20 }, () => 'GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await expect.poll(() => answering(health)).toBe(2);
    // A falling sum would look like a restart, and its whole value like an increase.
    expect(await metrics()).toContain('coinop_coins_in_total{type="credit"} 64\n');
    // The kernel ends the sockets of the dead worker.
    await expect.poll(async () => (await open(), standing())).toBe(7);
    await open();
    expect(opened.at(-1)!.status).toBe(429);
    for (const socket of opened) socket.destroy();
    expect(await service.stop()).toBe(0);
    expect(existsSync(join(DATA_DIR, 'redis.sock'))).toBe(false);
  });
});

test('a start names all bad settings at once', async () => {
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
  const output = await refusedStart({
    NODE_ENV: 'production',
    PORT: '70000',
    STORE: 'google',
    GOOGLE_NOTIFICATIONS_AUDIENCE: 'a',
    PLAY_INTEGRITY_DECRYPTION_KEY: Buffer.alloc(32).toString('base64'),
    GOOGLE_SERVICE_ACCOUNT_FILE: main,
    CATALOGUE_FILE: '/nowhere/catalogue.json',
    DATA_DIR: main,
  });
  const messages = output.slice('1: '.length).trim().split('\n');
  expect(messages.map((line) => /^coinop: (\w+) /.exec(line)?.[1])).toEqual([
    'PORT',
    'SESSION_KEYS',
    'PUBLIC_URL',
    'GOOGLE_NOTIFICATIONS_EMAIL',
    'PLAY_INTEGRITY_VERIFICATION_KEY',
    'GOOGLE_SERVICE_ACCOUNT_FILE',
    'CATALOGUE_FILE',
    'DATA_DIR',
  ]);
  for (const message of [
    'PORT must be at most 65535',
    'SESSION_KEYS must be set in production',
    'PUBLIC_URL must be set in production',
    `DATA_DIR ${main} cannot be used: it is not a folder`,
  ])
    expect(messages).toContainEqual(expect.stringContaining(`coinop: ${message}`));
});
