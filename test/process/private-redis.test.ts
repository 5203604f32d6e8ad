import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { PrivateRedis } from '../../src/process/private-redis.ts';
import { redisServerPath } from '../../src/process/redis-server.ts';
import { childEnvironment } from '../environment.ts';

const server = redisServerPath();

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'coinop-private-'))));
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

const log = pino({ level: 'silent' });

function program(name: string, text: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
}

async function ask(socketPath: string, ...[command, ...words]: [string, ...string[]]): Promise<unknown> {
  const redis = new Redis({ path: socketPath, retryStrategy: null });
  redis.on('error', () => {});
  try {
    return await redis.call(command, words);
  } finally {
    redis.disconnect();
  }
}

const runIdOf = async (socketPath: string): Promise<string> => /run_id:(\w+)/.exec(String(await ask(socketPath, 'INFO', 'server')))![1]!;

test('the next start stops a Redis that a killed service left running, and finds its data', async () => {
  // Without setpriv on the PATH nothing ends Redis together with the service.
  program('redis-server', `PATH='${process.env['PATH']}' exec '${server}' "$@"`);
  const source = `
    const { PrivateRedis } = await import(${JSON.stringify(new URL('../../src/process/private-redis.ts', import.meta.url).href)});
    const { pino } = await import(${JSON.stringify(import.meta.resolve('pino'))});
    const redis = new PrivateRedis(${JSON.stringify(folder)}, pino({ level: 'silent' }));
    await redis.start();
    console.log('started');`;
  const service = spawn(process.execPath, ['--input-type=module', '-e', source], {
    env: childEnvironment({ PATH: folder }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(service.stdout, 'data', { signal: AbortSignal.timeout(50_000) });
  service.kill('SIGKILL');
  await once(service, 'exit');

  const next = new PrivateRedis(folder, log);
  const leftBehind = await runIdOf(next.socketPath);
  await ask(next.socketPath, 'SET', 'coins', '7');
  await next.start();
  try {
    expect(await runIdOf(next.socketPath)).not.toBe(leftBehind);
    expect(await ask(next.socketPath, 'GET', 'coins')).toBe('7');
  } finally {
    await next.stop();
    // After a failure the Redis left behind still runs.
    await ask(next.socketPath, 'SHUTDOWN').catch(() => {});
  }
});

test('the service uses a valkey-server instead of a redis-server older than 7.0', async () => {
  program('redis-server', 'echo "Redis server v=6.2.14 sha=00000000:0 malloc=libc bits=64"');
  program('valkey-server', `echo called >> '${join(folder, 'calls')}'; exec '${server}' "$@"`);
  vi.stubEnv('PATH', `${folder}${delimiter}${process.env['PATH']}`);
  const redis = new PrivateRedis(folder, log);
  await redis.start();
  try {
    expect(await ask(redis.socketPath, 'PING')).toBe('PONG');
    expect(existsSync(join(folder, 'calls'))).toBe(true);
  } finally {
    await redis.stop();
  }
});
