import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshId, note, settled, start, type TestService } from '../harness.ts';
import { sendRaw, statusesIn } from '../raw.ts';

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

const head = (...lines: string[]) =>
  ['POST /v1/account/resolve HTTP/1.1', 'host: x', 'content-type: application/json', ...lines, '', ''].join('\r\n');
const smuggled = 'GET /v1/catalogue HTTP/1.1\r\nhost: x\r\n\r\n';

describe('a request whose end is open to doubt is refused, and its connection closed', () => {
  test.each([
    ['two Content-Length headers', head('content-length: 3', `content-length: ${3 + smuggled.length}`) + `{} ${smuggled}`],
    ['the same Content-Length twice', head('content-length: 2', 'content-length: 2') + `{}${smuggled}`],
    ['an empty Content-Length', head('content-length: ') + smuggled],
    ['Content-Length with Transfer-Encoding', head('content-length: 2', 'transfer-encoding: chunked') + `0\r\n\r\n${smuggled}`],
    ['a Transfer-Encoding other than chunked', head('transfer-encoding: chunked, identity') + `2\r\n{}\r\n0\r\n\r\n${smuggled}`],
    [
      'two Transfer-Encoding headers',
      head('transfer-encoding: identity', 'transfer-encoding: chunked') + `2\r\n{}\r\n0\r\n\r\n${smuggled}`,
    ],
    ['a negative Content-Length', head('content-length: -1') + smuggled],
    ['a Content-Length with a sign', head('content-length: +2') + `{}${smuggled}`],
    ['a Content-Length in hex', head('content-length: 0x2') + `{}${smuggled}`],
  ])('%s', async (_name, bytes) => {
    const { text, closed } = await sendRaw(service.port, bytes);
    expect(closed).toBe(true);
    // uWS answers some of them by itself and some by closing; never may the second request be answered.
    expect(statusesIn(text).length).toBeLessThanOrEqual(1);
    expect(statusesIn(text).filter((status) => status < 400)).toEqual([]);
    expect(text).not.toContain('"apps"');
  });

  test('in a GET too', async () => {
    const doubted = `GET /health HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\ncontent-length: ${smuggled.length}\r\n\r\n`;
    const together = await sendRaw(service.port, doubted + smuggled);
    expect([together.closed, statusesIn(together.text)]).toEqual([true, []]);
    const alone = await sendRaw(service.port, doubted);
    expect([alone.closed, statusesIn(alone.text)]).toEqual([true, [400]]);
    expect(alone.text).toContain('"field":"content-length"');
    expect(alone.text).toMatch(/^connection: close/im);
  });
});

describe('bodies', () => {
  const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

  test('a chunked body is taken', async () => {
    const { text } = await sendRaw(
      service.port,
      head('transfer-encoding: chunked') + chunk('{"installId":') + chunk(`"${freshId()}"}`) + '0\r\n\r\n',
    );
    expect(statusesIn(text)).toEqual([200]);
  });

  test('in pieces on the wire it is put together', async () => {
    const body = JSON.stringify({ installId: freshId() });
    const { text } = await sendRaw(service.port, [head(`content-length: ${body.length}`), body.slice(0, 5), body.slice(5)]);
    expect(statusesIn(text)).toEqual([200]);
  });

  test('a chunked body without end is cut off at 16 KiB', async () => {
    const { text, closed } = await sendRaw(service.port, [
      head('transfer-encoding: chunked'),
      ...Array.from({ length: 20 }, () => chunk(' '.repeat(1024))),
    ]);
    expect(closed).toBe(true);
    expect(statusesIn(text)).toEqual([413]);
    expect(text).toContain('payload_too_large');
    note(undefined, 'payload_too_large');
  });

  test('exactly 16 KiB pass, one byte more does not', async () => {
    const installId = freshId();
    const padded = (size: number) => JSON.stringify({ installId }).padEnd(size, ' ');
    const whole = padded(16 * 1024);
    expect(statusesIn((await sendRaw(service.port, head(`content-length: ${whole.length}`) + whole)).text)).toEqual([200]);
    const over = padded(16 * 1024 + 1);
    const { text, closed } = await sendRaw(service.port, head(`content-length: ${over.length}`) + over);
    expect([statusesIn(text), closed]).toEqual([[413], true]);
  });

  test('a request refused before its body was read leaves the connection usable, its body unexecuted', async () => {
    const body = smuggled;
    const refused = [
      'POST /v1/account/resolve HTTP/1.1',
      'host: x',
      'content-type: text/plain',
      `content-length: ${body.length}`,
      '',
      body,
    ].join('\r\n');
    const { text } = await sendRaw(service.port, refused + 'GET /health HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(statusesIn(text)).toEqual([415, 200]);
    expect(text).not.toContain('"apps"');
  });

  test('a client that goes away in mid-body or before the answer harms nobody', async () => {
    const body = JSON.stringify({ installId: freshId() });
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        sendRaw(service.port, head(`content-length: ${body.length}`) + body.slice(0, index % body.length), 1),
      ),
    );
    await Promise.all(Array.from({ length: 50 }, () => sendRaw(service.port, head(`content-length: ${body.length}`) + body, 0)));
    expect((await service.get('/health')).status).toBe(200);
  });
});

test('answers that nobody reads do not pile up: a client that asks on and reads nothing holds one or two', async () => {
  const before = process.memoryUsage.rss();
  const deaf = Array.from({ length: 10 }, () => {
    const socket = connect(service.port, '127.0.0.1');
    socket.pause();
    socket.on('error', () => {});
    socket.write('GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(5000));
    return socket;
  });
  await settled(1000);
  expect((await service.get('/health')).status).toBe(200);
  // Piled up they would be 7 GB; what a kernel and a test process hold besides is far below this.
  expect(process.memoryUsage.rss() - before).toBeLessThan(300 * 1024 * 1024);
  for (const socket of deaf) socket.destroy();
});

test('an answer larger than the socket takes arrives whole at a slow reader', async () => {
  const whole = (await service.get('/openapi.json')).body;
  const socket = connect(service.port, '127.0.0.1');
  socket.write('GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString();
    socket.pause();
    setTimeout(() => socket.resume(), 1);
  });
  while (
    !text.includes('\r\n\r\n') ||
    Buffer.byteLength(text.slice(text.indexOf('\r\n\r\n') + 4)) < Number(/^content-length: (\d+)/im.exec(text)![1])
  )
    await settled(20);
  expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4))).toEqual(whole);
  socket.destroy();
});

test('headers of 12 KB are taken, more than 16 KiB is 431', async () => {
  const get = (size: number) => `GET /health HTTP/1.1\r\nhost: x\r\ncookie: a=${'b'.repeat(size)}\r\n\r\n`;
  expect(statusesIn((await sendRaw(service.port, get(12_000))).text)).toEqual([200]);
  expect(statusesIn((await sendRaw(service.port, get(20_000))).text)).toEqual([431]);
});

test.each([
  'GET / HTTP/9.9\r\n\r\n',
  '\0\0\0\0',
  'GET\r\n\r\n',
  'GET /health HTTP/1.1\r\nno-colon\r\n\r\n',
  `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
])('nonsense on the wire does not end the service (%#)', async (bytes) => {
  await sendRaw(service.port, bytes);
  expect((await service.get('/health')).status).toBe(200);
});
