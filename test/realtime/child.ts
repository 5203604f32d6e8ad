import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { PrivateRedis } from '../../src/process/private-redis.ts';
import { childEnvironment } from '../environment.ts';
import { freePort } from '../free-port.ts';
import type { Message } from './watcher.ts';

/** A service in a process of its own, started from main.ts. */
export interface Child {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  output(): string;
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** @param program the service's main.ts */
export async function startChild(settings: Readonly<Record<string, string>>, program = main): Promise<Child> {
  // With several workers, the first one chooses the port, and the others listen later.
  const ownPort = 'WORKERS' in settings && settings['WORKERS'] !== '1' ? await freePort() : '0';
  const child: ChildProcess = spawn(process.execPath, [program], {
    env: childEnvironment({ PORT: ownPort, RATE_LIMIT: 'off', LOG_LEVEL: 'warn', ...settings }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // After `close` no output follows.
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  let output = '';
  const port = await new Promise<number>((resolve, reject) => {
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', (text: Buffer) => {
        output += text.toString();
        const line = /^coinop listening on http:\/\/\S+:(\d+) /m.exec(output);
        if (line !== null) resolve(Number(line[1]));
      });
    }
    void exited.then((code) => reject(new Error(`did not start, ${code}: ${output}`)));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    pid: child.pid!,
    output: () => output,
    stop(signal = 'SIGTERM') {
      child.kill(signal);
      return exited;
    },
  };
}

/** A Redis that also listens on TCP, so that several processes can share it. */
export async function startTcpRedis(folder: string): Promise<{ url: string; socketPath: string; stop(): Promise<void> }> {
  const port = await freePort();
  const redis = new PrivateRedis(join(folder, 'redis'), pino({ level: 'silent' }), ['--port', port]);
  await redis.start();
  return { url: `redis://127.0.0.1:${port}`, socketPath: redis.socketPath, stop: () => redis.stop() };
}

/** Expects a start to fail. @returns its exit code and its output: `1: coinop: …` */
export function refusedStart(settings: Record<string, string>): Promise<string> {
  return startChild(settings).then(
    async (child) => {
      await child.stop('SIGKILL');
      throw new Error('it started');
    },
    (error: Error) => error.message.replace('did not start, ', ''),
  );
}

/** The workers of a service, oldest first. The private Redis is also a child of the service, but not a worker. */
export function workersOf({ pid }: Child): number[] {
  const isWorker = (id: number): boolean => {
    try {
      return readFileSync(`/proc/${id}/cmdline`, 'utf8').includes('main.ts');
    } catch {
      // The process ended after it was listed.
      return false;
    }
  };
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  return children.filter(isWorker);
}

/**
 * Posts JSON. Sends it again after a 503, as clients do: on a busy machine Redis may take longer than a request waits.
 * @throws Error on another status of 500 and above
 */
export async function post(url: string, path: string, body: object): Promise<Message> {
  const response = await fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const text = await response.text();
  if (response.status === 503) {
    await pause(200);
    return post(url, path, body);
  }
  if (response.status >= 500) throw new Error(`${path}: ${text}`);
  return JSON.parse(text) as Message;
}
