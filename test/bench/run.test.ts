import { spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import type { RunResult } from '../../bench/result.ts';
import { start } from '../harness.ts';
import { startRedis } from '../own-redis.ts';

const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url));
/** Files that came without their history have nothing to compare with. */
const hasHistory = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: import.meta.dirname }).status === 0;

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
  const { code, stdout, stderr } = await bench(['credit-session', '--url', service.url, '--seconds', '1.5', '--connections', '2']);
  expect(code).toBe(0);
  // Once a second, of the saturated load and of the one at half its rate.
  expect(stderr).toMatch(/^bench: credit-session\n( {2}\d s: [\d,]+ requests, [\d,]+\/s; status 200: [\d,]+; no errors\n){2,}$/);
  expect(stdout).toContain('Credit by session');
  expect(stdout).toMatch(/^ {2}status 200: [\d,]+; no errors$/m);
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
  expect(coinop!.answers!['status 200']).toBeGreaterThan(10);
  expect(readdirSync(out)).toEqual(expect.arrayContaining(['latency.svg', 'latest.json', 'results.md']));
}, 60_000);

test('a service that fails now and then is loaded to the end, and what failed is counted', async () => {
  let count = 0;
  const failing = createServer((request, response) => {
    if (request.url === '/metrics') return void request.socket.destroy();
    if (request.url === '/health') count++;
    // The first answer says who it is; then one in four fails, and one in fifty is none.
    if (count % 50 === 49) return void request.socket.destroy();
    response.writeHead(count % 4 === 2 ? 503 : 200, { 'content-type': 'application/json' }).end('{"ok":true,"service":"coinop"}');
  });
  await new Promise<void>((resolve) => failing.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(failing.address() as AddressInfo).port}`;
  const { code, stdout } = await bench(['health', '--url', url, '--seconds', '1', '--connections', '4']);
  failing.close();
  expect(stdout).toMatch(/^ {2}status 200: [\d,]+, status 503: [\d,]+; errors: connection lost: [\d,]+$/m);
  expect(stdout).not.toContain('! failed');
  expect(latest().scenarios[0]!.sides[0]!.answers).toMatchObject({ 'status 503': expect.any(Number) });
  expect(code).toBe(1);
});

test('publishing anything but a whole run is refused before anything is started', async () => {
  const { code, stderr } = await bench(['health', '--publish']);
  expect(stderr).toMatch(/^bench: --publish replaces the results that the README shows, and takes a whole run: /);
  expect(code).toBe(2);
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

test.skipIf(!hasHistory)(
  'two checkouts take turns, each with a Redis of its own, and one pair of them decides nothing',
  async () => {
    const { code, stdout } = await bench(['--compare', 'HEAD', 'credit-session', '--minutes', '0.1']);
    expect(stdout).toMatch(/^ {2}credit-session +server CPU, µs\/request +[\d.]+ +[\d.]+ .*too few pairs +1 +not decided$/m);
    expect(stdout).toMatch(/^ {2}credit-session +Redis CPU, µs\/request +[\d.]+ +[\d.]+ .*not decided$/m);
    expect(readdirSync(out)).toEqual(expect.arrayContaining(['compare.json', 'compare.md']));
    // Both checkouts and their data are gone.
    expect(readdirSync(out).filter((name) => /^coinop-(bench|compare)-/.test(name))).toEqual([]);
    expect(code).toBe(0);
  },
  120_000,
);

test.skipIf(!hasHistory)('a commit that is not there is named', async () => {
  const { code, stderr } = await bench(['--compare', 'no-such-commit']);
  expect(stderr).toMatch(/^bench: --compare "no-such-commit": .* has no such commit\n$/);
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
