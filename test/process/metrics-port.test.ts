import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { SettingError } from '../../src/config.ts';
import { openMetricsPort, type MetricsPort } from '../../src/process/metrics-port.ts';

// test/main.test.ts tests the port of a whole service, with one process and with workers.

const log = pino({ level: 'silent' });
const closing: (() => unknown)[] = [];
afterEach(() => void closing.splice(0).forEach((close) => close()));

async function opened(host = '127.0.0.1'): Promise<MetricsPort> {
  const port = await openMetricsPort({ METRICS_HOST: host, METRICS_PORT: 0 }, async () => 'coinop_text 1\n', log);
  closing.push(() => port.close());
  return port;
}

async function hold(port: number, bytes: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  closing.push(() => socket.destroy());
  await once(socket, 'connect');
  socket.pause().write(bytes);
  return socket;
}

const get = 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n';

test.each([
  ['are silent', ''],
  ['send half a request', 'GET /metrics HTTP/1.1\r\n'],
  ['read no answers', get.repeat(200)],
  ['never end a body', 'POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx'],
])('connections that %s keep no scraper out', async (_what, bytes) => {
  const { port } = await opened();
  await Promise.all(Array.from({ length: 200 }, () => hold(port, bytes)));
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect([answer.status, await answer.text()]).toEqual([200, 'coinop_text 1\n']);
});

test('a scraper that returns keeps its connection while others open connections', async () => {
  const { port } = await opened();
  const scraper = connect(port, '127.0.0.1');
  closing.push(() => scraper.destroy());
  let answers = '';
  scraper.on('data', (text) => (answers += text.toString()));
  for (let scrape = 1; scrape <= 4; scrape++) {
    scraper.write(get);
    await expect.poll(() => answers.split('coinop_text 1\n').length - 1).toBe(scrape);
    await Promise.all(Array.from({ length: 40 }, () => hold(port, '')));
  }
  expect(scraper.destroyed).toBe(false);
});

test.each([
  ['GET /metrics?a=b HTTP/1.1\r\nHost: x', 200, 'keep-alive'],
  ['HEAD /metrics HTTP/1.1\r\nHost: x', 200, 'keep-alive'],
  ['GET /metrics HTTP/1.0', 200, 'close'],
  ['GET /metrics HTTP/1.1\r\nConnection: close', 200, 'close'],
  ['GET /metrics HTTP/1.1\r\nContent-Length: 3', 200, 'close'],
  ['POST /metrics HTTP/1.1\r\nTransfer-Encoding: chunked', 405, 'close'],
  ['GET /metric HTTP/1.1\r\nHost: x', 404, 'keep-alive'],
  ['nonsense', 400, 'close'],
])('%j is answered with %i, and the connection is %s', async (head, status, connection) => {
  const { port } = await opened();
  const socket = connect(port, '127.0.0.1');
  closing.push(() => socket.destroy());
  let text = '';
  socket.on('data', (bytes) => (text += bytes.toString()));
  // In two pieces, as a network may cut it.
  socket.write(`${head}\r`);
  await once(socket, 'connect');
  socket.write('\n\r\n');
  await expect.poll(() => text).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*\r\nconnection: ${connection}\r\n\r\n`));
  if (connection === 'close') await expect.poll(() => socket.destroyed).toBe(true);
  expect(text.endsWith(head.startsWith('HEAD') ? '\r\n\r\n' : '\n')).toBe(true);
});

test.each([
  ['requests', get.repeat(2)],
  ['requests that expect something', `${get.replace('Host: x', 'Expect: y')}${get}`],
  ['a body in chunks', 'POST /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n'],
  ['headers without end', `GET /metrics HTTP/1.1\r\n${'a: b\r\n'.repeat(2000)}`],
])('a connection that sends %s ahead is closed without an answer', async (_what, bytes) => {
  const { port } = await opened();
  const socket = connect(port, '127.0.0.1');
  closing.push(() => socket.destroy());
  let text = '';
  socket.on('error', () => {});
  socket.on('data', (piece) => (text += piece.toString()));
  socket.write(bytes);
  await expect.poll(() => socket.destroyed).toBe(true);
  expect(text).toBe('');
});

test('a request of many short lines costs no more than others', async () => {
  const { port } = await opened();
  const socket = connect(port, '127.0.0.1');
  closing.push(() => socket.destroy());
  const before = process.cpuUsage();
  for (let requests = 0; requests < 200; requests++) {
    // The search for `close` once took 5 ms for one request.
    socket.write(`GET /metrics HTTP/1.1\r\n${'connection:\n'.repeat(670)}\r\n\r\n`);
    await once(socket, 'data');
  }
  expect(process.cpuUsage(before).user).toBeLessThan(500_000);
});

test('metrics that cannot be made are answered with 503', async () => {
  const failing = () => Promise.reject(new Error('no'));
  const failed = await openMetricsPort({ METRICS_HOST: '127.0.0.1', METRICS_PORT: 0 }, failing, log);
  closing.push(() => failed.close());
  expect((await fetch(`http://127.0.0.1:${failed.port}/metrics`)).status).toBe(503);
});

test('a scrape while the service starts is answered with 503, without a line in the log', async () => {
  const lines: string[] = [];
  const quiet = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
  const starting = await openMetricsPort({ METRICS_HOST: '127.0.0.1', METRICS_PORT: 0 }, () => Promise.resolve(undefined), quiet);
  closing.push(() => starting.close());
  for (const path of ['/metrics', '/health'])
    expect((await fetch(`http://127.0.0.1:${starting.port}${path}`)).status).toBe(path === '/metrics' ? 503 : 404);
  expect(lines).toEqual([]);
});

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === '::1'));

test.skipIf(!hasIpv6)('the port serves IPv6 addresses', async () => {
  const { port } = await opened('::1');
  expect((await fetch(`http://[::1]:${port}/metrics`)).status).toBe(200);
});

test('an address that the machine does not have is an error in the settings', async () => {
  await expect(opened('203.0.113.7')).rejects.toThrow(SettingError);
});
