import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, expect, test } from 'vitest';
import { start } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { benchOutput } from './bench-output.ts';

const { out, bench, resultsOf, close } = benchOutput();
afterAll(close);

test('--url loads a running service, audits its ledgers and writes the results', async () => {
  await using service = await start();
  const { code, stdout, stderr } = await bench(['credit-session', '--url', service.url, '--seconds', '1.5', '--connections', '2']);
  expect(code).toBe(0);
  // One line a second for the saturated load and for the half load.
  expect(stderr).toMatch(/^bench: credit-session\n( {2}\d s: [\d,]+ requests, [\d,]+\/s; status 200: [\d,]+; no errors\n){2,}$/);
  expect(stdout).toMatch(/^ {2}status 200: [\d,]+; no errors$/m);
  const { scenarios, partial } = resultsOf();
  expect([partial, scenarios.length, scenarios[0]!.sides.length]).toEqual([false, 1, 1]);
  expect(scenarios[0]).toMatchObject({ name: 'credit-session', findings: [] });
  const { figures, answers } = scenarios[0]!.sides[0]!;
  for (const figure of [answers!['status 200'], figures.perSecond!.median, figures.serverCpu!.median]) expect(figure).toBeGreaterThan(1);
});

test('a service that sometimes fails is loaded to the end, and its errors are counted', async () => {
  let count = 0;
  const failing = createServer((request, response) => {
    if (request.url === '/health') count++;
    // The first response identifies the service. Then one request in four gets a 503, and one in fifty a closed connection.
    if (request.url === '/metrics' || count % 50 === 49) return void request.socket.destroy();
    response.writeHead(count % 4 === 2 ? 503 : 200, { 'content-type': 'application/json' }).end('{"ok":true,"service":"coinop"}');
  });
  await new Promise<void>((resolve) => failing.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(failing.address() as AddressInfo).port}`;
  const { code, stdout } = await bench(['health', '--url', url, '--seconds', '1', '--connections', '4']);
  failing.close();
  expect(stdout).toMatch(/^ {2}status 200: [\d,]+, status 503: [\d,]+; errors: connection lost: [\d,]+$/m);
  expect(stdout).not.toContain('! failed');
  expect(code).toBe(1);
});

test('a run fails when its audit finds an error', async () => {
  await using own = await startRedis();
  await using service = await start({ redis: own.location });
  const { redis } = service.service;
  // Removes entries from the ledgers during the run.
  const tampering = setInterval(() => {
    void redis.keys('*:ledger').then((ledgers) => Promise.all(ledgers.map((ledger) => redis.rpop(ledger))));
  }, 100);
  const { code, stdout } = await bench(['credit-session', '--url', service.url, '--quick', '--seconds', '0.4', '--connections', '4']);
  clearInterval(tampering);
  expect(stdout).toContain('! audit: coinop: ');
  expect(code).toBe(1);
});

test('a run fails when the audit of all data at its end finds drift', async () => {
  const running = bench(['health', '--quick', '--seconds', '1', '--connections', '4']);
  const sockets = (): string[] =>
    (readdirSync(out, { recursive: true }) as string[]).filter((file) => /^coinop-bench-.*redis\.sock$/.test(file));
  await expect.poll(sockets).not.toEqual([]);
  for (const socket of sockets()) {
    const redis = new Redis({ path: join(out, socket) });
    await redis.hset('{nobody}:index:0', '1', 1);
    redis.disconnect();
  }
  const { code, stdout } = await running;
  expect(stdout).toContain('! audit of all data: account nobody: Other keys name the account, but its fields and its standing are lost.');
  expect(code).toBe(1);
});

test('a usage error, a service with rate limits and an address that does not respond end the bench with one line', async () => {
  await using service = await start({ settings: { RATE_LIMIT: 'on' } });
  const refusals: [words: string, message: RegExp][] = [
    ['health --publish', /^bench: --publish replaces the results that the README shows, so it needs a full run: .*\n$/],
    [`health --url ${service.url}`, /^bench: .*start it with RATE_LIMIT=off/],
    ['--url http://127.0.0.1:1', /^bench: http:\/\/127\.0\.0\.1:1 does not respond \(ECONNREFUSED\)\. Check .*\n$/],
  ];
  for (const [words, message] of refusals)
    expect(await bench(words.split(' '))).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(message) });
});

test('Ctrl-C ends all processes and marks the results as partial', async () => {
  const { code, stdout } = await bench(['health'], 'bench: health');
  expect(code).toBe(130);
  expect(stdout).toContain('these results are partial');
  expect(resultsOf().partial).toBe(true);
  // The run removes its temporary folder after its services have ended.
  expect(readdirSync(out).filter((name) => name.startsWith('coinop-bench-'))).toEqual([]);
});
