import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { SettingError } from '../../src/config.ts';
import { openMetricsPort, type MetricsPort } from '../../src/process/metrics-port.ts';

// test/main.test.ts tests the port of a whole service, with one process and with workers.

const log = pino({ level: 'silent' });
const closing: (() => unknown)[] = [];
afterEach(() => void closing.splice(0).forEach((close) => close()));

async function opened(
  text: () => Promise<string | undefined> = async () => 'coinop_text 1\n',
  host = '127.0.0.1',
  to = log,
): Promise<MetricsPort> {
  const port = await openMetricsPort({ METRICS_HOST: host, METRICS_PORT: 0 }, text, to);
  closing.push(() => port.close());
  return port;
}

/** A connection that has sent these bytes, and what it received. */
function open(port: number, bytes = ''): { socket: Socket; received: () => string } {
  const socket = connect(port, '127.0.0.1');
  closing.push(() => socket.destroy());
  let received = '';
  socket.on('error', () => {}).on('data', (piece) => (received += piece.toString()));
  socket.write(bytes);
  return { socket, received: () => received };
}

/** A connection that reads no answer. */
async function hold(port: number, bytes: string): Promise<void> {
  const { socket } = open(port, bytes);
  socket.pause();
  await once(socket, 'connect');
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
  const { socket, received } = open(port);
  for (let scrape = 1; scrape <= 4; scrape++) {
    socket.write(get);
    await expect.poll(() => received().split('coinop_text 1\n').length - 1).toBe(scrape);
    await Promise.all(Array.from({ length: 40 }, () => hold(port, '')));
  }
  expect(socket.destroyed).toBe(false);
});

test.each([
  ['HEAD /metrics HTTP/1.1\r\nHost: x', 200, 'keep-alive'],
  ['GET /metrics HTTP/1.0', 200, 'close'],
  ['GET /metrics HTTP/1.1\r\nConnection: close', 200, 'close'],
  ['POST /metrics HTTP/1.1\r\nTransfer-Encoding: chunked', 405, 'close'],
  ['GET /metric HTTP/1.1\r\nHost: x', 404, 'keep-alive'],
  ['nonsense', 400, 'close'],
])('%j is answered with %i, and the connection is %s', async (head, status, connection) => {
  const { port } = await opened();
  // In two pieces, as a network may cut it.
  const { socket, received } = open(port, `${head}\r`);
  await once(socket, 'connect');
  socket.write('\n\r\n');
  await expect.poll(received).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*\r\nconnection: ${connection}\r\n\r\n`));
  if (connection === 'close') await expect.poll(() => socket.destroyed).toBe(true);
  expect(received().endsWith(head.startsWith('HEAD') ? '\r\n\r\n' : '\n')).toBe(true);
});

test.each([
  ['requests', get.repeat(2)],
  ['requests that expect something', `${get.replace('Host: x', 'Expect: y')}${get}`],
  ['a body in chunks', 'POST /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n'],
  ['headers without end', `GET /metrics HTTP/1.1\r\n${'a: b\r\n'.repeat(2000)}`],
])('a connection that sends %s ahead is closed without an answer', async (_what, bytes) => {
  const { socket, received } = open((await opened()).port, bytes);
  await expect.poll(() => socket.destroyed).toBe(true);
  expect(received()).toBe('');
});

test('metrics that cannot be made are answered with 503, and while the service starts without a line in the log', async () => {
  const lines: string[] = [];
  const quiet = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
  const failed = await opened(() => Promise.reject(new Error('no')));
  const starting = await opened(async () => undefined, '127.0.0.1', quiet);
  for (const [{ port }, path, status] of [
    [failed, '/metrics', 503],
    [starting, '/metrics', 503],
    [starting, '/health', 404],
  ] as const)
    expect([path, (await fetch(`http://127.0.0.1:${port}${path}`)).status]).toEqual([path, status]);
  expect(lines).toEqual([]);
});

test('an address that the machine does not have is an error in the settings', async () => {
  await expect(opened(undefined, '203.0.113.7')).rejects.toThrow(SettingError);
});
