import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import type { RunResult } from '../../bench/result.ts';
import { start } from '../harness.ts';
import { startRedis } from '../own-redis.ts';

const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url));
const out = mkdtempSync(join(tmpdir(), 'coinop-bench-test-'));
afterAll(() => rmSync(out, { recursive: true, force: true }));

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** @param interruptAt the text on standard error upon which Ctrl-C is pressed */
function bench(args: string[], interruptAt?: string): Promise<Ended> {
  return new Promise((resolve) => {
    const { PATH = '' } = process.env;
    const child = spawn(process.execPath, [main, ...args, '--out', out], { env: { PATH, TMPDIR: out }, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (text: Buffer) => (stdout += text.toString()));
    child.stderr.on('data', (text: Buffer) => {
      stderr += text.toString();
      if (interruptAt !== undefined && stderr.includes(interruptAt)) child.kill('SIGINT');
    });
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

const latest = (): RunResult => JSON.parse(readFileSync(join(out, 'latest.json'), 'utf8')) as RunResult;

test('loads a service that runs already, audits what it did, and writes what it found', async () => {
  await using service = await start();
  const { code, stdout, stderr } = await bench(['credit-session', '--url', service.url, '--seconds', '0.3', '--connections', '8']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'bench: credit-session\n' });
  expect(stdout).toContain('Credit by session');
  const { scenarios, partial } = latest();
  expect(partial).toBe(false);
  expect(scenarios.map(({ name, findings, error }) => ({ name, findings, error }))).toEqual([
    { name: 'credit-session', findings: [], error: undefined },
  ]);
  const [coinop, ...others] = scenarios[0]!.sides;
  expect(others).toEqual([]);
  expect(coinop!.figures.perSecond!.median).toBeGreaterThan(10);
  expect(coinop!.figures.serverCpu!.median).toBeGreaterThan(1);
  expect(coinop!.figures.p50!.median).toBeLessThanOrEqual(coinop!.figures.p999!.median);
  expect(readdirSync(out)).toEqual(expect.arrayContaining(['cpu.svg', 'latency.svg', 'latest.json', 'results.md', 'throughput.svg']));
});

test('a run whose audit finds something fails', async () => {
  await using own = await startRedis();
  await using service = await start({ redis: own.location });
  const { redis } = service.service;
  // Ledgers lose an entry again and again while the run is under way.
  const tampering = setInterval(() => {
    void redis.keys('*:ledger').then((ledgers) => Promise.all(ledgers.map((ledger) => redis.rpop(ledger))));
  }, 100);
  const { code, stdout } = await bench(['credit-session', '--url', service.url, '--quick', '--seconds', '0.4', '--connections', '4']);
  clearInterval(tampering);
  expect(stdout).toContain('! audit: coinop: ');
  expect(code).toBe(1);
});

test('a service that limits requests is refused, and what to do is said', async () => {
  await using service = await start({ settings: { RATE_LIMIT: 'on' } });
  const { code, stderr } = await bench(['health', '--url', service.url]);
  expect(stderr).toContain('start it with RATE_LIMIT=off');
  expect(code).toBe(2);
});

test('an address that does not answer is named', async () => {
  const { code, stderr } = await bench(['--url', 'http://127.0.0.1:1']);
  expect(stderr).toBe('bench: http://127.0.0.1:1 does not answer (ECONNREFUSED). Is the service started, and the address right?\n');
  expect(code).toBe(2);
});

test('Ctrl-C ends all that was started, and what is there is marked as partial', async () => {
  const { code, stdout } = await bench(['health'], 'bench: health');
  expect(code).toBe(130);
  expect(stdout).toContain('these results are partial');
  expect(latest().partial).toBe(true);
  // The run's folder held the data of its services; it goes when they are gone.
  expect(readdirSync(out).filter((name) => name.startsWith('coinop-bench-'))).toEqual([]);
});
