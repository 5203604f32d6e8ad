import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { pino } from 'pino';
import { PrivateRedis } from '../src/process/private-redis.ts';
import { freshId, request } from './harness.ts';
import { sendRaw, statusesIn } from './raw.ts';
import { childEnvironment } from './environment.ts';
import { freePort } from './free-port.ts';

/** A service in a separate process, as operators start it. */
interface Running {
  readonly child: ChildProcess;
  readonly url: string;
  readonly port: number;
  /** Everything that it wrote to standard output and standard error. */
  output(): string;
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

const main = new URL('../src/main.ts', import.meta.url).pathname;
const running: Running[] = [];
let dataDir: string;

beforeEach(() => void (dataDir = mkdtempSync(join(tmpdir(), 'coinop-main-'))));
afterEach(async () => {
  await Promise.all(running.splice(0).map(({ stop }) => stop('SIGKILL')));
  // SIGKILL of a service ends its Redis a moment later, and Redis writes into the folder until then. Without setpriv(1) the
  // Redis stays, and the retries below are all there is.
  await vi.waitUntil(() => !readFileSync('/proc/net/unix', 'utf8').includes(dataDir), { timeout: 2000 }).catch(() => {});
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

function launch(settings: Record<string, string>): { child: ChildProcess; output: () => string; exited: Promise<number | null> } {
  const child = spawn(process.execPath, [main], {
    env: childEnvironment({ PORT: '0', RATE_LIMIT: 'off', DATA_DIR: dataDir, ...settings }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => void (output += text.toString()));
  return { child, output: () => output, exited: new Promise((resolve) => child.once('exit', resolve)) };
}

async function run(settings: Record<string, string> = {}): Promise<Running> {
  const { child, output, exited } = launch(settings);
  const line = () => /^coinop listening on http:\/\/\S+:(\d+) \(\d+\.\d+\.\d+, revision (?:src-)?[\da-f]{12}\)$/m.exec(output());
  await vi.waitUntil(() => line() !== null || child.exitCode !== null, { timeout: 40_000, interval: 20 }).catch(() => {});
  const port = Number(line()?.[1]);
  if (child.exitCode !== null || Number.isNaN(port)) {
    // A failed test must not leave a running service.
    child.kill('SIGKILL');
    throw new Error(`did not start: ${output()}`);
  }
  const service: Running = {
    child,
    output,
    url: `http://127.0.0.1:${port}`,
    port,
    stop(signal = 'SIGTERM') {
      child.kill(signal);
      return exited;
    },
  };
  running.push(service);
  return service;
}

/** Expects a start to fail, and returns its exit code and output. */
async function refusedStart(settings: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const { child, output, exited } = launch(settings);
  const timer = setTimeout(() => child.kill('SIGKILL'), 40_000);
  const code = await exited;
  clearTimeout(timer);
  return { code, output: output() };
}

const credit = (url: string, installId: string, key: string) =>
  request(url, '/v1/coins/credit', { method: 'POST' }, JSON.stringify({ installId, coins: 1, key }));
const balance = async (url: string, installId: string) =>
  (await request(url, `/v1/balance?installId=${installId}`, {})).body.balanceCoins as number;

describe('a private Redis', { timeout: 60_000 }, () => {
  test('starts and stops with the service, and the next start finds its data', async () => {
    const installId = freshId();
    const first = await run();
    expect((await credit(first.url, installId, 'a')).status).toBe(200);
    expect(existsSync(join(dataDir, 'redis.sock'))).toBe(true);
    expect(await first.stop()).toBe(0);
    expect(existsSync(join(dataDir, 'redis.sock'))).toBe(false);

    const second = await run();
    expect((await credit(second.url, installId, 'a')).body).toEqual({ ok: true, balanceAfterCoins: 1, replayed: true, balanceCoins: 1 });
    expect((await credit(second.url, installId, 'b')).body).toEqual({ ok: true, balanceAfterCoins: 2 });
  });

  test('hides data and socket from other users, appends every write and never evicts, and keeps its data when SIGKILL ends it, and then the service', async () => {
    const installId = freshId();
    const service = await run();
    expect(statSync(join(dataDir, 'redis')).mode & 0o077).toBe(0);
    expect(statSync(join(dataDir, 'redis.sock')).mode & 0o077).toBe(0);
    expect(statSync(join(dataDir, 'session-keys')).mode & 0o077).toBe(0);
    expect(readdirSync(join(dataDir, 'redis'))).toContain('appendonlydir');
    const info = await redisInfo(join(dataDir, 'redis.sock'));
    expect(info).toMatch(/aof_enabled:1/);
    expect(info).toMatch(/maxmemory_policy:noeviction/);

    await credit(service.url, installId, 'a');
    process.kill(Number(/process_id:(\d+)/.exec(info)![1]), 'SIGKILL');
    const answered = () => credit(service.url, installId, 'b');
    await expect.poll(async () => (await answered()).body.balanceAfterCoins, { timeout: 10_000 }).toBe(2);
    expect(service.output()).toContain('private redis ended, starting it again');

    await service.stop('SIGKILL');
    expect(await balance((await run()).url, installId)).toBe(2);
  });

  test('works in a DATA_DIR whose path is too long for a Unix socket', async () => {
    const deep = join(dataDir, 'd'.repeat(100), 'e'.repeat(50));
    const service = await run({ DATA_DIR: deep });
    expect((await credit(service.url, freshId(), 'a')).status).toBe(200);
  });
});

describe('a second service', { timeout: 60_000 }, () => {
  test('does not start on the DATA_DIR or on the port of another', async () => {
    const first = await run();
    const ofFolder = await refusedStart({});
    const ofPort = await refusedStart({ PORT: String(first.port), DATA_DIR: join(dataDir, 'other') });
    expect([ofFolder.code, ofPort.code]).toEqual([1, 1]);
    expect(ofFolder.output).toMatch(/^coinop: DATA_DIR .* is in use: another coinop keeps its data there\.$/m);
    expect(ofPort.output).toMatch(new RegExp(`^coinop: .*${first.port}.* taken`, 'm'));
  });

  test('may share REDIS_URL and DATA_DIR, and then both serve the same sessions and coins', async () => {
    const { port, stop } = await startTcpRedis(dataDir);
    try {
      const settings = { REDIS_URL: `redis://127.0.0.1:${port}/3` };
      const [first, second] = await Promise.all([run(settings), run(settings)]);
      const installId = freshId();
      expect((await credit(first.url, installId, 'a')).status).toBe(200);
      expect(await balance(second.url, installId)).toBe(1);
      const { cookies } = await request(first.url, '/v1/login', { method: 'POST' }, JSON.stringify({ installId }));
      expect((await request(second.url, '/v1/session', { cookies })).body.authenticated).toBe(true);
      expect(existsSync(join(dataDir, 'redis.sock'))).toBe(false);
    } finally {
      await Promise.all(running.splice(0).map((service) => service.stop()));
      await stop();
    }
  });
});

describe('a start fails with a clear message', { timeout: 60_000 }, () => {
  test('when REDIS_URL names a database that Redis does not have', async () => {
    const { port, stop } = await startTcpRedis(dataDir);
    try {
      const { code, output } = await refusedStart({ REDIS_URL: `redis://127.0.0.1:${port}/77` });
      expect(code).toBe(1);
      expect(output).toMatch(/^coinop: REDIS_URL names database 77, which this Redis does not let us use$/m);
    } finally {
      await stop();
    }
  });

  test('when Redis is older than 7.0', async () => {
    await using redis = await answeringRedis('$32\r\n# Server\r\nredis_version:6.2.14\r\n\r\n');
    const { code, output } = await refusedStart({ REDIS_URL: redis.url });
    expect([code, output.split('\n').filter((line) => line.startsWith('coinop: '))]).toEqual([
      1,
      ['coinop: Redis 7.0 or newer is needed.'],
    ]);
  });

  test.each(['1', '2'])('when another program holds the port, with WORKERS=%s', async (WORKERS) => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as { port: number };
    const { code, output } = await refusedStart({ PORT: String(port), WORKERS });
    expect([code, output]).toEqual([1, expect.stringMatching(/^coinop: cannot listen on 127\.0\.0\.1:\d+: the port is taken/m)]);
    holder.close();
  });

  test.each([
    [
      { PORT: 'http', WORKERS: '0', TRUSTED_PROXIES: '10.0.0.0/99', ALLOWED_ORIGINS: 'play.example' },
      [
        'PORT must be a whole number',
        'WORKERS must be at least 1',
        'TRUSTED_PROXIES must be addresses or ranges such as 10.0.0.0/8',
        'ALLOWED_ORIGINS must be origins such as https://play.example',
      ],
    ],
    [{ DATA_DIR: '/proc/nope' }, ['DATA_DIR /proc/nope cannot be used']],
  ])('when the settings hold %j', async (settings, messages) => {
    const { code, output } = await refusedStart(settings as Record<string, string>);
    expect(code).toBe(1);
    const lines = output.trim().split('\n').toSorted();
    const expected = messages.toSorted().map((message) => `coinop: ${message}`);
    expect(lines.map((line, index) => line.slice(0, expected[index]?.length))).toEqual(expected);
  });

  test.each(['1', '2'])('that names all bad settings at once, with WORKERS=%s', async (WORKERS) => {
    const bad = {
      NODE_ENV: 'production',
      PORT: '70000',
      STORE: 'google',
      GOOGLE_NOTIFICATIONS_AUDIENCE: 'a',
      PLAY_INTEGRITY_DECRYPTION_KEY: Buffer.alloc(32).toString('base64'),
      GOOGLE_SERVICE_ACCOUNT_FILE: main,
      CATALOGUE_FILE: '/nowhere/catalogue.json',
      DATA_DIR: main,
    };
    const { code, output } = await refusedStart({ ...bad, WORKERS });
    expect(code).toBe(1);
    const lines = output.trim().split('\n');
    expect(lines.map((line) => /^coinop: (\w+) /.exec(line)?.[1])).toEqual([
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
      expect(output).toContain(`coinop: ${message}`);
  });
});

describe('in production', { timeout: 60_000 }, () => {
  test.each(['1', '2'])('the log warns once of the sample catalogue and of missing store settings, with WORKERS=%s', async (WORKERS) => {
    const production = { NODE_ENV: 'production', SESSION_KEYS: `k:${'A'.repeat(43)}`, PUBLIC_URL: 'https://play.example', WORKERS };
    const service = await run(production);
    const warnings = service
      .output()
      .split('\n')
      .filter((line) => line.includes('"level":40'));
    expect(warnings.filter((line) => line.includes('sample'))).toHaveLength(1);
    expect(warnings.filter((line) => line.includes('GOOGLE_CLIENT_IDS') && line.includes('store_unconfigured'))).toHaveLength(1);
    // There are no other warnings. For example, each worker has bounded the receive buffers of its connections.
    expect(warnings).toHaveLength(2);
  });
});

describe('SIGTERM', { timeout: 60_000 }, () => {
  test('refuses new connections, finishes a request whose body is still on its way, and ends with 0', async () => {
    const service = await run();
    const [head, body] = post('/v1/coins/credit', { installId: freshId(), coins: 1, key: 'a' }).split('\r\n\r\n') as [string, string];
    const socket = connect(service.port, '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => void (answer += chunk.toString()));
    const closed = once(socket, 'close');
    socket.write(`${head}\r\n\r\n`);
    // The service answers this request after it has read the head above, which was sent before.
    expect((await request(service.url, '/health', {})).status).toBe(200);
    const exited = service.stop();
    const isRefused = () =>
      fetch(`${service.url}/health`, { headers: { connection: 'close' } }).then(
        () => false,
        () => true,
      );
    await expect.poll(isRefused).toBe(true);
    socket.write(body);
    await closed;
    expect(statusesIn(answer)).toEqual([200]);
    expect(answer).toContain('"balanceAfterCoins":1');
    expect(await exited).toBe(0);
  });

  test('under load loses no acknowledged credit and breaks no accepted request', async () => {
    const installId = freshId();
    const first = await run();
    let acknowledged = 0;
    let stopping = false;
    const clients = Array.from({ length: 16 }, async (_, client) => {
      for (let index = 0; ; index++) {
        try {
          const { status } = await credit(first.url, installId, `${client}-${index}`);
          expect(status).toBe(200);
          acknowledged++;
        } catch (error) {
          if (stopping && error instanceof TypeError) return;
          throw error;
        }
      }
    });
    await expect.poll(() => acknowledged, { timeout: 10_000 }).toBeGreaterThan(50);
    stopping = true;
    expect(await first.stop()).toBe(0);
    await Promise.all(clients);
    const second = await run();
    expect(await balance(second.url, installId)).toBeGreaterThanOrEqual(acknowledged);
  });

  test('to npm start reaches the service, which drains and stops its Redis', async () => {
    const root = new URL('..', import.meta.url).pathname;
    const npm = spawn('npm', ['start', '--ignore-scripts'], {
      cwd: root,
      env: childEnvironment({ HOME: dataDir, PORT: '0', DATA_DIR: dataDir }),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (text: Buffer) => void (output += text.toString()));
    const exited = new Promise((resolve) => npm.once('exit', resolve));
    await vi.waitUntil(() => output.includes('coinop listening') || npm.exitCode !== null, { timeout: 15_000 });
    if (npm.exitCode !== null) throw new Error(output);
    npm.kill('SIGTERM');
    await exited;
    // npm may exit before the service does.
    await expect.poll(() => existsSync(join(dataDir, 'redis.sock')), { timeout: 5000 }).toBe(false);
  });
});

describe('with WORKERS=2', { timeout: 60_000 }, () => {
  /** The number of processes that answered requests on separate connections. Request ids begin with a prefix of their process. */
  async function answering(port: number, requests: string[]): Promise<number> {
    const replies = await Promise.all(requests.map((text) => sendRaw(port, closing(text), 5000)));
    expect(replies.flatMap(({ text }) => statusesIn(text))).toEqual(requests.map(() => 200));
    return new Set(replies.map(({ text }) => /x-request-id: ([^-]+)-/.exec(text)![1])).size;
  }

  test('both workers serve the port, /metrics counts the requests of both, and one that dies is replaced without a refused connection', async () => {
    const service = await run({ WORKERS: '2' });
    const workers = readFileSync(`/proc/${service.child.pid}/task/${service.child.pid}/children`, 'utf8').trim().split(' ').map(Number);
    const nodes = workers.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('main.ts'));
    expect(nodes).toHaveLength(2);
    const installId = freshId();
    // The kernel gives each connection to one worker. 64 connections reach both.
    const credits = Array.from({ length: 64 }, (_, index) => post('/v1/coins/credit', { installId, coins: 1, key: `k${index}` }));
    expect(await answering(service.port, credits)).toBe(2);
    expect(await balance(service.url, installId)).toBe(64);
    const metrics = async (): Promise<string> => (await request(service.url, '/metrics', {})).body;
    expect(await metrics()).toMatch(/coinop_http_requests_total\{method="POST",route="\/v1\/coins\/credit",status="200"\} 64/);
    const counted = async () => /^coinop_coins_in_total\{type="credit"\} (\d+)$/m.exec(await metrics())?.[1];
    expect(await counted()).toBe('64');

    process.kill(nodes[0]!, 'SIGKILL');
    await vi.waitUntil(() => service.output().includes('a worker ended, starting another'), { timeout: 10_000 });
    const health = Array.from({ length: 20 }, () => 'GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await expect.poll(() => answering(service.port, health), { timeout: 10_000 }).toBe(2);
    // A falling sum would look like a restart, and its whole value like an increase.
    expect(await counted()).toBe('64');
    expect(await service.stop()).toBe(0);
    expect(existsSync(join(dataDir, 'redis.sock'))).toBe(false);
  });

  test('a worker that cannot start ends the start', async () => {
    writeFileSync(join(dataDir, 'catalogue.json'), '{"apps":[{"id":1}]}');
    const { code, output } = await refusedStart({ WORKERS: '2', CATALOGUE_FILE: join(dataDir, 'catalogue.json') });
    expect(code).toBe(1);
    expect(output).toMatch(/^coinop: .*catalogue\.json/m);
    expect(output).not.toContain('starting another');
    expect(existsSync(join(dataDir, 'redis.sock'))).toBe(false);
  });
});

describe('METRICS_PORT', { timeout: 60_000 }, () => {
  const logged = (service: Running): string => /"url":"(http:[^"]+)"/.exec(service.output())![1]!;

  test.each(['1', '2'])('serves /metrics of all workers and nothing else, and takes it from PORT, with WORKERS=%s', async (WORKERS) => {
    const service = await run({ METRICS_PORT: '0', WORKERS });
    const installId = freshId();
    // The kernel gives each connection to one worker. 32 connections reach both.
    const replies = await Promise.all(
      Array.from({ length: 32 }, (_, index) =>
        sendRaw(service.port, closing(post('/v1/coins/credit', { installId, coins: 1, key: `k${index}` })), 5000),
      ),
    );
    expect(replies.flatMap(({ text }) => statusesIn(text))).toEqual(Array(32).fill(200));
    const metrics = await fetch(logged(service));
    expect([metrics.status, metrics.headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    const text = await metrics.text();
    expect(text).toContain('coinop_coins_in_total{type="credit"} 32\n');
    // The value of one worker, not the sum of all.
    expect(text).toMatch(/^coinop_build_info\{.*\} 1$/m);
    expect(text).toMatch(/^coinop_redis_up 1$/m);
    expect(Number(/^process_start_time_seconds (\S+)$/m.exec(text)![1])).toBeCloseTo(Date.now() / 1000, -2);

    expect((await fetch(`${service.url}/metrics`)).status).toBe(404);
    expect((await request(service.url, '/?format=json', {})).body.endpoints.map(({ path }: { path: string }) => path)).not.toContain(
      '/metrics',
    );
    await expect((await fetch(`${service.url}/`)).text()).resolves.not.toContain('href="/metrics"');
    const own = logged(service).replace('/metrics', '');
    const statusOf = async (path: string, method = 'GET') => (await fetch(own + path, { method })).status;
    expect([await statusOf('/'), await statusOf('/ready'), await statusOf('/v1/balance')]).toEqual([404, 404, 404]);
    expect([await statusOf('/metrics', 'POST'), await statusOf('/metrics', 'HEAD'), await statusOf('/metrics?x=1')]).toEqual([
      405, 200, 200,
    ]);
    // A scraper's open connection does not delay the stop.
    expect(await service.stop()).toBe(0);
    await expect(fetch(logged(service))).rejects.toThrow();
  });

  test.each(['1', '2'])('that is taken ends the start, with WORKERS=%s', async (WORKERS) => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const { code, output } = await refusedStart({ METRICS_PORT: String(port), WORKERS });
    taken.close();
    expect(code).toBe(1);
    expect(output).toBe(
      `coinop: METRICS_PORT: cannot listen on 127.0.0.1:${port}: the port is taken, or the address is not this machine's\n`,
    );
    expect(existsSync(join(dataDir, 'redis.sock'))).toBe(false);
  });

  test.each(['1', '2'])(
    'answers 503 while the service waits for Redis, and no stack is logged then or at its end, with WORKERS=%s',
    async (WORKERS) => {
      await using redis = await answeringRedis('-MASTERDOWN Link with MASTER is down\r\n');
      const METRICS_PORT = await freePort();
      const starting = run({ METRICS_PORT, WORKERS, REDIS_URL: redis.url });
      const scrape = async (): Promise<string> =>
        fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`).then(
          async (reply) => `${reply.status} ${(await reply.text()).split('\n')[0]}`,
          () => 'refused',
        );
      await expect.poll(scrape, { timeout: 30_000, interval: 20 }).toBe('503 The service is starting.');
      const service = await starting;
      expect(await scrape()).toMatch(/^200 /);
      expect(await (await fetch(`${service.url}/ready`)).json()).toMatchObject({
        error: { message: 'Not ready: redis is away: MASTERDOWN Link with MASTER is down.' },
      });
      let isEnding = true;
      const scrapes = (async () => {
        while (isEnding) await scrape();
      })();
      expect(await service.stop()).toBe(0);
      isEnding = false;
      await scrapes;
      expect(service.output()).not.toMatch(/"level":[56]0|^ {4}at /m);
    },
  );

  test('that is PORT ends the start', async () => {
    const { code, output } = await refusedStart({ PORT: '3456', METRICS_PORT: '3456' });
    expect([code, output]).toEqual([1, 'coinop: METRICS_PORT must be another port than PORT\n']);
  });
});

test('the log has no line for a successful request and no secrets', { timeout: 60_000 }, async () => {
  const service = await run({ LOG_LEVEL: 'trace' });
  const installId = freshId('secret-install');
  for (let index = 0; index < 20; index++) await credit(service.url, installId, `secret-key-${index}`);
  await request(service.url, `/v1/balance?installId=${installId}`, {});
  await service.stop();
  expect(service.output()).not.toContain('secret');
  // The start and the stop write some lines: fewer than there were requests, of which 21 succeeded.
  expect(service.output().trim().split('\n').length).toBeLessThan(15);
});

function post(path: string, body: object): string {
  const text = JSON.stringify(body);
  return `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
}

/** The request, after whose answer the service closes the connection. */
const closing = (request: string): string => request.replace('\r\n', '\r\nconnection: close\r\n');

/** Starts a Redis on TCP that no service owns. */
async function startTcpRedis(folder: string): Promise<{ port: number; stop: () => Promise<unknown> }> {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  const redis = new PrivateRedis(join(folder, 'elsewhere'), pino({ level: 'silent' }), ['--port', String(port)]);
  await redis.start();
  return { port, stop: () => redis.stop() };
}

/** A server that answers each command with the same reply. */
async function answeringRedis(reply: string): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => socket.write(reply.repeat(bytes.toString('latin1').match(/^\*\d+\r$/gm)?.length ?? 0)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return {
    url: `redis://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}

async function redisInfo(path: string): Promise<string> {
  const { Redis } = await import('ioredis');
  const redis = new Redis({ path });
  try {
    return await redis.info();
  } finally {
    redis.disconnect();
  }
}
