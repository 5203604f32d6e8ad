import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { childEnvironment } from './environment.ts';

const main = new URL('../src/main.ts', import.meta.url).pathname;

let dataDir: string;
beforeEach(() => void (dataDir = mkdtempSync(join(tmpdir(), 'coinop-signals-'))));
afterEach(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

/** Starts the service, sends it the signals, and waits for its end. */
async function stoppedBy(...signals: NodeJS.Signals[]): Promise<{ code: number | null; signal: string | null; stops: string[] }> {
  const child = spawn(process.execPath, [main], {
    env: childEnvironment({ PORT: '0', DATA_DIR: dataDir }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => void (output += text.toString()));
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  try {
    await vi.waitUntil(() => output.includes('coinop listening on '), { timeout: 15_000 });
    expect(existsSync(join(dataDir, 'redis.sock'))).toBe(true);
    for (const signal of signals) child.kill(signal);
    const [code, signal] = await exited;
    const stops = [...output.matchAll(/"signal":"(SIG\w+)"/g)].map(([, name]) => name!);
    return { code, signal, stops };
  } finally {
    child.kill('SIGKILL');
  }
}

// Ctrl-C sends SIGINT, a terminal that closes SIGHUP.
test.each(['SIGINT', 'SIGHUP'] as const)('%s ends the service with 0, and its Redis with it', async (signal) => {
  expect(await stoppedBy(signal)).toEqual({ code: 0, signal: null, stops: [signal] });
  expect(existsSync(join(dataDir, 'redis.sock'))).toBe(false);
});

test('a second signal does not cut the stop short', async () => {
  expect(await stoppedBy('SIGTERM', 'SIGINT')).toMatchObject({ code: 0, signal: null, stops: [expect.any(String)] });
  expect(existsSync(join(dataDir, 'redis.sock'))).toBe(false);
});
