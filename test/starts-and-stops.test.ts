import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { balanceOn, Children, creditOn } from './children.ts';
import { childEnvironment } from './environment.ts';
import { forFile, freshId, request } from './harness.ts';
import { refusedStart, startTcpRedis, type Child } from './realtime/child.ts';
import { PATIENT } from './patience.ts';

/** Starts and ends of whole processes beyond those of `main.test.ts`. */

let children: Children;
let dataDir: string;
const shared = await forFile(sharedRedis());
beforeEach(() => {
  children = new Children();
  dataDir = children.folder;
});
afterEach(() => children[Symbol.asyncDispose]());

async function sharedRedis(): Promise<AsyncDisposable & { readonly url: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-starts-'));
  const { url, stop } = await startTcpRedis(folder);
  return { url, [Symbol.asyncDispose]: () => stop().then(() => rmSync(folder, { recursive: true, force: true })) };
}

const run = (settings: Record<string, string> = {}): Promise<Child> => children.start({ DATA_DIR: dataDir, ...settings });

describe('a private Redis', () => {
  test('keeps its data when SIGKILL ends it, and then the service', async () => {
    const installId = freshId();
    const service = await run();
    await creditOn(service, installId, 'a');
    const children = readFileSync(`/proc/${service.pid}/task/${service.pid}/children`, 'utf8').trim().split(' ').map(Number);
    process.kill(children[0]!, 'SIGKILL');
    await expect.poll(async () => (await creditOn(service, installId, 'b')).body.balanceAfterCoins).toBe(2);
    expect(service.output()).toContain('private redis ended, starting it again');
    await service.stop('SIGKILL');
    expect(await balanceOn(await run(), installId)).toBe(2);
  });

  test('works in a DATA_DIR whose path is too long for a Unix socket', async () => {
    const service = await run({ DATA_DIR: join(dataDir, 'd'.repeat(100), 'e'.repeat(50)) });
    expect((await creditOn(service, freshId(), 'a')).status).toBe(200);
  });
});

test('two services may share REDIS_URL and DATA_DIR, and then both serve the same sessions and coins', async () => {
  const settings = { REDIS_URL: `${shared.url}/3` };
  const [first, second] = await Promise.all([run(settings), run(settings)]);
  const installId = freshId();
  expect((await creditOn(first, installId, 'a')).status).toBe(200);
  expect(await balanceOn(second, installId)).toBe(1);
  const { cookies } = await request(first.url, '/v1/login', { method: 'POST' }, JSON.stringify({ installId }));
  expect((await request(second.url, '/v1/session', { cookies })).body.authenticated).toBe(true);
  expect(existsSync(join(dataDir, 'redis.sock'))).toBe(false);
});

test.each<[what: string, settings: () => Record<string, string>, message: string]>([
  [
    'the database of REDIS_URL',
    () => ({ REDIS_URL: `${shared.url}/77` }),
    'REDIS_URL names database 77, which this Redis does not let us use',
  ],
  ['a folder that nobody can make', () => ({ DATA_DIR: '/proc/nope' }), 'DATA_DIR /proc/nope cannot be used'],
])('a start fails because of %s', async (_what, settings, message) => {
  expect(await refusedStart({ DATA_DIR: dataDir, ...settings() })).toMatch(new RegExp(`^1: (?:\\{.*\\}\n)*coinop: ${message}.*\n$`));
});

describe.each(['1', '2'])('with WORKERS=%s', (WORKERS) => {
  test.each<[what: string, settings: (taken: string) => Record<string, string>, message: string]>([
    ['a port in use', (taken) => ({ PORT: taken }), 'cannot listen on 127.0.0.1:TAKEN: the port is taken'],
    [
      'a METRICS_PORT in use',
      (taken) => ({ METRICS_PORT: taken }),
      "METRICS_PORT: cannot listen on 127.0.0.1:TAKEN: the port is taken, or the address is not this machine's",
    ],
    ['a catalogue', () => ({ CATALOGUE_FILE: join(dataDir, 'catalogue.json') }), 'CATALOGUE_FILE /'],
  ])('a start fails because of %s, without a stack and without a Redis left', async (_what, settings, message) => {
    writeFileSync(join(dataDir, 'catalogue.json'), '{"apps":[{"id":1}]}');
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const output = await refusedStart({ WORKERS, DATA_DIR: dataDir, ...settings(String(port)) }).finally(() => other.close());
    expect(output).toMatch(/^1: /);
    expect(output).toContain(`coinop: ${message.replace('TAKEN', String(port))}`);
    expect(output).not.toMatch(/^ {4}at /m);
    expect(output).not.toContain('starting another');
    expect(existsSync(join(dataDir, 'redis.sock'))).toBe(false);
  });
});

// Ctrl-C sends SIGINT, a terminal that closes SIGHUP.
test.each(['SIGINT', 'SIGHUP', 'SIGTERM'] as const)(
  '%s under load loses no acknowledged credit and breaks no accepted request',
  async (signal) => {
    const installId = freshId();
    const first = await run();
    let acknowledged = 0;
    let stopping = false;
    const clients = Array.from({ length: 16 }, async (_, client) => {
      for (let index = 0; ; index++) {
        try {
          const { status } = await creditOn(first, installId, `${client}-${index}`);
          expect(status).toBe(200);
          acknowledged++;
        } catch (error) {
          if (stopping && error instanceof TypeError) return;
          throw error;
        }
      }
    });
    await expect.poll(() => acknowledged).toBeGreaterThan(50);
    stopping = true;
    expect(await first.stop(signal)).toBe(0);
    await Promise.all(clients);
    expect(existsSync(join(dataDir, 'redis.sock'))).toBe(false);
    expect(await balanceOn(await run(), installId)).toBeGreaterThanOrEqual(acknowledged);
  },
);

test('SIGTERM to npm start reaches the service, which drains and stops its Redis', async () => {
  const npm = spawn('npm', ['start', '--ignore-scripts'], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: childEnvironment({ HOME: dataDir, PORT: '0', DATA_DIR: dataDir }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (text: Buffer) => void (output += text.toString()));
  const exited = once(npm, 'exit');
  await vi.waitUntil(() => output.includes('coinop listening') || npm.exitCode !== null, PATIENT);
  if (npm.exitCode !== null) throw new Error(output);
  npm.kill('SIGTERM');
  await exited;
  // npm may exit before the service does.
  await expect.poll(() => existsSync(join(dataDir, 'redis.sock'))).toBe(false);
});
