import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { SettingError } from '../../src/config.ts';
import { openMetricsPort, type MetricsPort } from '../../src/process/metrics-port.ts';

// test/main.test.ts has the port of a whole service, with one process and with workers.

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

test('a scraper that comes again keeps its connection while others open theirs', async () => {
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

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === '::1'));

test.skipIf(!hasIpv6)('the port serves IPv6 addresses', async () => {
  const { port } = await opened('::1');
  expect((await fetch(`http://[::1]:${port}/metrics`)).status).toBe(200);
});

test('an address that the machine lacks is a mistake in the settings', async () => {
  await expect(opened('203.0.113.7')).rejects.toThrow(SettingError);
});
