import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { endpoint } from '../../../src/server/http/endpoint.ts';
import { openConnections } from '../../../src/server/open-connections.ts';
import { forFile, freshId, note, sleep, start } from '../../harness.ts';
import { sendRaw, statusesIn } from '../../raw.ts';
import { eventually } from '../../realtime/watcher.ts';
import { all } from '../connection-lines.ts';
import { chunk, post } from './framing/case.ts';
import { creditBody, wasExecuted } from './framing/run.ts';
import { startServer } from './own-server.ts';

const service = await forFile(start());

test('a well-formed x-request-id is kept, in the error body too', async () => {
  const { headers, body } = await service.get('/nothing', { headers: { 'x-request-id': 'my-request.1' } });
  expect([headers.get('x-request-id'), body.requestId]).toEqual(['my-request.1', 'my-request.1']);
});

test('an x-request-id that is not well formed is replaced by one that no other request has', async () => {
  const given = ['with blanks in it', 'a'.repeat(129), 'semi;colon', '<script>'];
  const ids = await all(100, async (index) => {
    const { headers } = await service.get('/health', { headers: { 'x-request-id': given[index % 4]! } });
    return headers.get('x-request-id')!;
  });
  expect(new Set([...ids, ...given]).size).toBe(104);
});

test('HEAD is answered as GET is, without the body, on a connection that closes too', async () => {
  const get = await service.get('/health');
  const head = await service.get('/health', { method: 'HEAD' });
  expect([head.status, head.body, head.headers.get('content-type')]).toEqual([200, '', get.headers.get('content-type')]);
  const size = String(JSON.stringify(get.body).length);
  expect(head.headers.get('content-length')).toBe(size);
  const { text, closed } = await sendRaw(service.port, 'HEAD /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  expect([text.toLowerCase().split('content-length: ')[1], closed]).toEqual([expect.stringMatching(`^${size}\r\n[^{]*$`), true]);
});

describe('a body', () => {
  const head = (...lines: string[]) =>
    ['POST /v1/account/resolve HTTP/1.1', 'host: x', 'content-type: application/json', ...lines, '', ''].join('\r\n');
  const bodyOf = (size = 0): string => JSON.stringify({ installId: freshId() }).padEnd(size, ' ');

  test('of chunks without end is cut off at 16 KiB', async () => {
    const { text, closed } = await sendRaw(service.port, [
      head('transfer-encoding: chunked'),
      ...Array.from({ length: 20 }, () => chunk(' '.repeat(1024))),
    ]);
    expect([statusesIn(text), closed]).toEqual([[413], true]);
    expect(text).toContain('payload_too_large');
    note(undefined, 'payload_too_large');
  });

  test.each([
    [16 * 1024, 200, false],
    [16 * 1024 + 1, 413, true],
  ])('of %i bytes is answered %i, and whether its connection is closed: %s', async (size, status, isClosed) => {
    const { text, closed } = await sendRaw(service.port, head(`content-length: ${size}`) + bodyOf(size));
    expect([statusesIn(text), closed]).toEqual([[status], isClosed]);
  });
});

describe('a client that goes away', () => {
  const credit = (installId: string): string => {
    const body = creditBody(installId);
    return post([`content-length: ${body.length}`], body);
  };
  const installs = (): string[] => Array.from({ length: 50 }, () => freshId('framing'));
  const isIdle = async (): Promise<boolean> => (await service.get('/metrics')).body.includes('\ncoinop_http_requests_in_flight 0\n');

  test('in the middle of its body has nothing executed', async () => {
    const cutOff = installs();
    await Promise.all(cutOff.map((installId, index) => sendRaw(service.port, credit(installId).slice(0, -1 - index), 1)));
    await eventually(isIdle);
    for (const installId of cutOff) expect(await wasExecuted(service, installId)).toBe(false);
  });

  test('before the answer has its whole credit executed or nothing: a retry gives the same balance', async () => {
    const gone = installs();
    await Promise.all(gone.map((installId) => sendRaw(service.port, credit(installId), 0)));
    await eventually(isIdle);
    for (const installId of gone) {
      const retry = await service.post('/v1/coins/credit', JSON.parse(creditBody(installId)));
      expect(retry.body).toMatchObject({ ok: true, balanceAfterCoins: 1 });
    }
  });
});

test('a client that asks 5,000 times and reads nothing gets one answer or two, and its connection closed', async () => {
  // An address of their own, by which the kernel's list tells these connections from the others.
  const localAddress = '127.0.0.9';
  const before = process.memoryUsage.rss();
  const deaf = await all(10, async () => {
    const socket = connect({ port: service.port, host: '127.0.0.1', localAddress, allowHalfOpen: true });
    const client = { socket, text: '', isOver: false };
    for (const end of ['error', 'end', 'close']) socket.on(end, () => (client.isOver = true));
    socket.pause();
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.write('GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(5000));
    return client;
  });
  await eventually(async () => !(await openConnections(service.port)).counts.has(localAddress));
  // All answers together would be 7 GB in memory.
  expect(process.memoryUsage.rss() - before).toBeLessThan(100 * 1024 * 1024);
  for (const client of deaf) {
    client.socket.on('data', (bytes) => (client.text += bytes.toString('latin1')));
    client.socket.resume();
  }
  await eventually(() => deaf.every(({ isOver }) => isOver));
  for (const { socket, text } of deaf) {
    expect([[200], [200, 200]]).toContainEqual(statusesIn(text));
    socket.destroy();
  }
});

/** More than the kernel buffers for a client that does not read. */
const LONG = 'x'.repeat(16 * 1024 * 1024);
const declaration = { method: 'GET', path: '/long', caller: 'none', summary: 'x', example: 'x' } as const;
const longServer = await forFile(
  startServer([endpoint({ ...declaration, reply: z.object({ text: z.string() }), handle: () => ({ text: LONG }) })]),
);

test.each([
  ['on a connection that stays open', '', ''],
  ['with Connection: close', 'Connection: close\r\n', ''],
  ['with Connection: close among others', 'Connection: keep-alive, close\r\n', ''],
  ['after a chunked request', 'Transfer-Encoding: chunked\r\n', '0\r\n\r\n'],
])('an answer larger than the socket takes arrives whole at a slow reader %s', async (_, lines, body) => {
  const whole = Buffer.from(JSON.stringify({ ok: true, text: LONG }));
  const socket = connect(longServer.port, '127.0.0.1').pause();
  socket.write(`GET /long HTTP/1.1\r\nhost: x\r\n${lines}\r\n${body}`);
  // Longer than the service lingers with a client that is quiet.
  await sleep(500);
  const parts: Buffer[] = [];
  let [size, isEnded] = [0, false];
  socket.on('end', () => (isEnded = true));
  socket.on('data', (bytes: Buffer) => {
    parts.push(bytes);
    size += bytes.length;
    socket.pause();
    setTimeout(() => socket.resume(), 1);
  });
  socket.resume();
  await eventually(() => isEnded || (parts.length > 0 && size >= parts[0]!.indexOf('\r\n\r\n') + 4 + whole.length));
  const start = parts[0]!.indexOf('\r\n\r\n') + 4;
  expect(
    Buffer.concat(parts)
      .subarray(start, start + whole.length)
      .equals(whole),
  ).toBe(true);
  socket.destroy();
});
