import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pino } from 'pino';
import { PrivateRedis } from '../src/process/private-redis.ts';
import { freshId, request, settled } from './harness.ts';
import { sendRaw, statusesIn } from './raw.ts';

/** The service as its users start it: a process of its own. */
interface Running {
  readonly child: ChildProcess;
  readonly url: string;
  readonly port: number;
  /** What it wrote to standard output and error. */
  output(): string;
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

const main = new URL('../src/main.ts', import.meta.url).pathname;
const running: Running[] = [];
let dataDir: string;

beforeEach(() => void (dataDir = mkdtempSync(join(tmpdir(), 'coinop-main-'))));
afterEach(async () => {
  await Promise.all(running.splice(0).map(({ stop }) => stop('SIGKILL')));
  await settled(50);
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

function launch(settings: Record<string, string>): { child: ChildProcess; output: () => string; exited: Promise<number | null> } {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [main], {
    env: { PATH, PORT: '0', RATE_LIMIT: 'off', DATA_DIR: dataDir, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => void (output += text.toString()));
  return { child, output: () => output, exited: new Promise((resolve) => child.once('exit', resolve)) };
}

async function run(settings: Record<string, string> = {}): Promise<Running> {
  const { child, output, exited } = launch(settings);
  const giveUpAt = Date.now() + 15_000;
  let line: RegExpExecArray | null = null;
  while (line === null) {
    line = /^coinop listening on http:\/\/(.+):(\d+)$/m.exec(output());
    if (child.exitCode !== null || Date.now() > giveUpAt) {
      // A test that gives up must not leave a service behind.
      child.kill('SIGKILL');
      throw new Error(`did not start: ${output()}`);
    }
    if (line === null) await settled(20);
  }
  const service: Running = {
    child,
    output,
    url: `http://127.0.0.1:${line[2]}`,
    port: Number(line[2]),
    stop(signal = 'SIGTERM') {
      child.kill(signal);
      return exited;
    },
  };
  running.push(service);
  return service;
}

/** A start that must not succeed: its exit code and what it said. */
async function refusedStart(settings: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const { child, output, exited } = launch(settings);
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
  const code = await exited;
  clearTimeout(timer);
  return { code, output: output() };
}

const credit = (url: string, installId: string, key: string) =>
  request(url, '/v1/coins/credit', { method: 'POST' }, JSON.stringify({ installId, coins: 1, key }));
const balance = async (url: string, installId: string) =>
  (await request(url, `/v1/balance?installId=${installId}`, {})).body.balanceCoins as number;

describe('a private redis', () => {
  test('is started, stopped with the service, and its data found again', async () => {
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

  test('survives a service that was killed hard: the next start finds every coin', async () => {
    const installId = freshId();
    const first = await run();
    await credit(first.url, installId, 'a');
    await first.stop('SIGKILL');
    const second = await run();
    expect(await balance(second.url, installId)).toBe(1);
  });

  test('killed hard, it is started again, and nothing acknowledged is lost', async () => {
    const installId = freshId();
    const service = await run();
    await credit(service.url, installId, 'a');
    const pid = /process_id:(\d+)/.exec(await redisInfo(join(dataDir, 'redis.sock')))![1];
    process.kill(Number(pid), 'SIGKILL');
    let reply = await credit(service.url, installId, 'b');
    for (let tries = 0; reply.status === 503 && tries < 200; tries++) {
      await settled(50);
      reply = await credit(service.url, installId, 'b');
    }
    expect(reply.body.balanceAfterCoins).toBe(2);
    expect(service.output()).toContain('private redis ended, starting it again');
  });

  test('keeps its data and socket from other users, and syncs every write', async () => {
    await run();
    expect(statSync(join(dataDir, 'redis')).mode & 0o077).toBe(0);
    expect(statSync(join(dataDir, 'redis.sock')).mode & 0o077).toBe(0);
    expect(statSync(join(dataDir, 'session-keys')).mode & 0o077).toBe(0);
    expect(readdirSync(join(dataDir, 'redis'))).toContain('appendonlydir');
    const info = await redisInfo(join(dataDir, 'redis.sock'));
    expect(info).toMatch(/aof_enabled:1/);
    expect(info).toMatch(/maxmemory_policy:noeviction/);
  });

  test('works in a folder too deep for a Unix socket', async () => {
    const deep = join(dataDir, 'd'.repeat(100), 'e'.repeat(50));
    const service = await run({ DATA_DIR: deep });
    expect((await credit(service.url, freshId(), 'a')).status).toBe(200);
  });
});

describe('two services', () => {
  test('never share a DATA_DIR', async () => {
    await run();
    const { code, output } = await refusedStart({});
    expect(code).toBe(1);
    expect(output).toMatch(/^coinop: DATA_DIR .* is in use: another coinop keeps its data there\.$/m);
  });

  test('never share a port', async () => {
    const first = await run();
    const { code, output } = await refusedStart({ PORT: String(first.port), DATA_DIR: join(dataDir, 'other') });
    expect(code).toBe(1);
    expect(output).toMatch(new RegExp(`^coinop: .*${first.port}.* taken`, 'm'));
  });

  test('may share a Redis, and with it a DATA_DIR: sessions and coins are the same on both', async () => {
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

  test('a database that Redis does not have stops the start', async () => {
    const { port, stop } = await startTcpRedis(dataDir);
    try {
      const { code, output } = await refusedStart({ REDIS_URL: `redis://127.0.0.1:${port}/77` });
      expect(code).toBe(1);
      expect(output).toMatch(/^coinop: REDIS_URL names database 77, which this Redis does not let us use$/m);
    } finally {
      await stop();
    }
  });

  test('a port that something else holds is refused, with workers too', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => holder.once('listening', resolve));
    const { port } = holder.address() as { port: number };
    for (const WORKERS of ['1', '2']) {
      const { code, output } = await refusedStart({ PORT: String(port), WORKERS });
      expect([code, output]).toEqual([1, expect.stringMatching(/^coinop: cannot listen on 127\.0\.0\.1:\d+: the port is taken/m)]);
    }
    holder.close();
  });
});

describe('settings', () => {
  test.each([
    [{ PORT: 'http' }, 'PORT must be a whole number'],
    [{ PORT: '70000' }, 'PORT must be at most 65535'],
    [{ WORKERS: '0' }, 'WORKERS must be at least 1'],
    [{ TRUSTED_PROXIES: '10.0.0.0/99' }, 'TRUSTED_PROXIES must be addresses or ranges such as 10.0.0.0/8'],
    [{ ALLOWED_ORIGINS: 'play.example' }, 'ALLOWED_ORIGINS must be origins such as https://play.example'],
    [{ NODE_ENV: 'production', PUBLIC_URL: 'https://play.example' }, 'SESSION_KEYS must be set in production'],
    [{ NODE_ENV: 'production', SESSION_KEYS: `k:${'A'.repeat(43)}` }, 'PUBLIC_URL must be set in production'],
    [{ DATA_DIR: '/proc/nope' }, 'DATA_DIR /proc/nope cannot be used'],
    [{ DATA_DIR: main }, `DATA_DIR ${main} cannot be used: it is not a folder`],
  ])('%j stops the start', async (settings, message) => {
    const { code, output } = await refusedStart(settings as Record<string, string>);
    expect(code).toBe(1);
    expect(output.startsWith(`coinop: ${message}`)).toBe(true);
    expect(output.trim().split('\n')).toHaveLength(1);
  });

  test.each(['1', '2', 'x'])('all that are bad are told together, with %s workers', async (WORKERS) => {
    const bad = {
      NODE_ENV: 'production',
      PORT: 'http',
      STORE: 'google',
      GOOGLE_NOTIFICATIONS_AUDIENCE: 'a',
      PLAY_INTEGRITY_DECRYPTION_KEY: Buffer.alloc(32).toString('base64'),
      GOOGLE_SERVICE_ACCOUNT_FILE: main,
      CATALOGUE_FILE: '/nowhere/catalogue.json',
      DATA_DIR: main,
    };
    const { code, output } = await refusedStart({ ...bad, WORKERS });
    expect(code).toBe(1);
    const named = output
      .trim()
      .split('\n')
      .map((line) => /^coinop: (\w+) /.exec(line)?.[1]);
    expect(named).toEqual([
      'PORT',
      ...(WORKERS === 'x' ? ['WORKERS'] : []),
      'SESSION_KEYS',
      'PUBLIC_URL',
      'GOOGLE_NOTIFICATIONS_EMAIL',
      'PLAY_INTEGRITY_VERIFICATION_KEY',
      'GOOGLE_SERVICE_ACCOUNT_FILE',
      'CATALOGUE_FILE',
      'DATA_DIR',
    ]);
  });

  test.each(['1', '2'])('production says once what it lacks, with %s workers', async (WORKERS) => {
    const production = { NODE_ENV: 'production', SESSION_KEYS: `k:${'A'.repeat(43)}`, PUBLIC_URL: 'https://play.example', WORKERS };
    const service = await run(production);
    const warnings = service
      .output()
      .split('\n')
      .filter((line) => line.includes('"level":40'));
    expect(warnings.filter((line) => line.includes('sample'))).toHaveLength(1);
    expect(warnings.filter((line) => line.includes('GOOGLE_CLIENT_IDS') && line.includes('store_unconfigured'))).toHaveLength(1);
    expect(warnings).toHaveLength(2);
  });
});

describe('SIGTERM', () => {
  test('lets what is in flight finish, takes nothing new, and ends with 0', async () => {
    const service = await run();
    const installId = freshId();
    // A body that is still on its way when the signal comes.
    const body = JSON.stringify({ installId, coins: 1, key: 'a' });
    const slow = sendSlowly(
      service.port,
      `POST /v1/coins/credit HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
      body,
      400,
    );
    await settled(150);
    const exited = service.stop();
    await settled(100);
    await expect(fetch(`${service.url}/health`)).rejects.toThrow();
    const answer = await slow;
    expect(statusesIn(answer)).toEqual([200]);
    expect(answer).toContain('"balanceAfterCoins":1');
    expect(await exited).toBe(0);
  });

  test('under load loses no acknowledged credit and breaks no request it has taken', async () => {
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
    await settled(400);
    stopping = true;
    expect(await first.stop()).toBe(0);
    await Promise.all(clients);
    const second = await run();
    expect(acknowledged).toBeGreaterThan(50);
    expect(await balance(second.url, installId)).toBeGreaterThanOrEqual(acknowledged);
  });

  test('through npm start reaches the service: it drains, and redis goes with it', async () => {
    const { PATH = '' } = process.env;
    const root = new URL('..', import.meta.url).pathname;
    const npm = spawn('npm', ['start', '--ignore-scripts'], {
      cwd: root,
      env: { PATH, HOME: dataDir, PORT: '0', DATA_DIR: dataDir },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (text: Buffer) => void (output += text.toString()));
    const exited = new Promise((resolve) => npm.once('exit', resolve));
    while (!output.includes('coinop listening')) {
      if (npm.exitCode !== null) throw new Error(output);
      await settled(50);
    }
    npm.kill('SIGTERM');
    await exited;
    for (let tries = 0; existsSync(join(dataDir, 'redis.sock')) && tries < 100; tries++) await settled(50);
    expect(existsSync(join(dataDir, 'redis.sock'))).toBe(false);
    const again = await run();
    expect((await credit(again.url, freshId(), 'a')).status).toBe(200);
  });

  test('ends workers and redis too', async () => {
    const service = await run({ WORKERS: '2' });
    expect(await service.stop()).toBe(0);
    expect(existsSync(join(dataDir, 'redis.sock'))).toBe(false);
  });
});

test('WORKERS=2: both serve the port, sign-outs and metrics count for all', async () => {
  const service = await run({ WORKERS: '2' });
  const installId = freshId();
  // Each connection goes to one worker: enough of them reach both.
  const replies = await Promise.all(
    Array.from({ length: 64 }, (_, index) =>
      sendRaw(service.port, post('/v1/coins/credit', { installId, coins: 1, key: `k${index}` }), 400),
    ),
  );
  expect(replies.flatMap(({ text }) => statusesIn(text))).toEqual(Array(64).fill(200));
  const prefixes = new Set(replies.map(({ text }) => /x-request-id: ([^-]+)-/.exec(text)![1]));
  expect(prefixes.size).toBe(2);
  expect(await balance(service.url, installId)).toBe(64);
  const { body } = await request(service.url, '/metrics', {});
  expect(body).toMatch(/coinop_http_requests_total\{method="POST",route="\/v1\/coins\/credit",status="200"\} 64/);
});

test('WORKERS=2: a worker that cannot start ends the start', async () => {
  writeFileSync(join(dataDir, 'catalogue.json'), '{"apps":[{"id":1}]}');
  const { code, output } = await refusedStart({ WORKERS: '2', CATALOGUE_FILE: join(dataDir, 'catalogue.json') });
  expect(code).toBe(1);
  expect(output).toMatch(/^coinop: .*catalogue\.json/m);
  expect(output).not.toContain('starting another');
  expect(existsSync(join(dataDir, 'redis.sock'))).toBe(false);
});

test('WORKERS=2: a worker that dies is replaced', async () => {
  const service = await run({ WORKERS: '2' });
  const workers = readFileSync(`/proc/${service.child.pid}/task/${service.child.pid}/children`, 'utf8').trim().split(' ').map(Number);
  const nodes = workers.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('main.ts'));
  expect(nodes).toHaveLength(2);
  process.kill(nodes[0]!, 'SIGKILL');
  await settled(2500);
  expect(service.output()).toContain('a worker ended, starting another');
  for (let index = 0; index < 20; index++)
    expect(statusesIn((await sendRaw(service.port, 'GET /health HTTP/1.1\r\nhost: x\r\n\r\n', 50)).text)).toEqual([200]);
});

test('logs no line per successful request, and no secrets', async () => {
  const service = await run({ LOG_LEVEL: 'trace' });
  const installId = freshId('secret-install');
  for (let index = 0; index < 20; index++) await credit(service.url, installId, `secret-key-${index}`);
  await request(service.url, `/v1/balance?installId=${installId}`, {});
  await service.stop();
  expect(service.output()).not.toContain('secret');
  expect(service.output().trim().split('\n').length).toBeLessThan(6);
});

function post(path: string, body: object): string {
  const text = JSON.stringify(body);
  return `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
}

async function sendSlowly(port: number, head: string, body: string, delayMs: number): Promise<string> {
  const { connect } = await import('node:net');
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => void (text += chunk.toString()));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(head);
  await settled(delayMs);
  socket.write(body);
  await closed;
  return text;
}

/** A Redis of somebody else's: over TCP, outside of any service. */
async function startTcpRedis(folder: string): Promise<{ port: number; stop: () => Promise<unknown> }> {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  const redis = new PrivateRedis(join(folder, 'elsewhere'), pino({ level: 'silent' }), ['--port', String(port)]);
  await redis.start();
  return { port, stop: () => redis.stop() };
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
