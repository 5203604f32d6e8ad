import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freshId, note, settled, start, type TestService } from '../../harness.ts';
import { sendRaw, statusesIn } from '../../raw.ts';
import { eventually } from '../../realtime/watcher.ts';
import { chunk, chunked, post } from './framing/case.ts';
import { creditBody, run, wasExecuted, type Timing } from './framing/run.ts';

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

const head = (...lines: string[]) =>
  ['POST /v1/account/resolve HTTP/1.1', 'host: x', 'content-type: application/json', ...lines, '', ''].join('\r\n');
const smuggled = 'GET /v1/catalogue HTTP/1.1\r\nhost: x\r\n\r\n';

test('a GET whose length is open to doubt is refused, and what follows it is not run', async () => {
  const doubted = `GET /health HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\ncontent-length: ${smuggled.length}\r\n\r\n`;
  const together = await sendRaw(service.port, doubted + smuggled);
  expect([together.closed, statusesIn(together.text)]).toEqual([true, []]);
  const alone = await sendRaw(service.port, doubted);
  expect([alone.closed, statusesIn(alone.text)]).toEqual([true, [400]]);
  expect(alone.text).toContain('"field":"content-length"');
  expect(alone.text).toMatch(/^connection: close/im);
});

describe('nothing runs that follows', () => {
  const length = (body: string) => `Content-Length: ${body.length}`;
  // The length of the credit that follows. All credits have one length.
  const followerLength = post([length(creditBody(freshId('framing')))], creditBody(freshId('framing'))).length;

  describe.each<[name: string, bytes: (body: string) => string]>([
    ['a chunked request', (body) => post(['Transfer-Encoding: chunked'], chunked(body))],
    ['a chunked request whose last CRLF is two bytes of a name', (body) => post(['Transfer-Encoding: chunked'], `${chunk(body)}0\r\nX:`)],
    ['a chunked request whose last CRLF has not come', (body) => post(['Transfer-Encoding: chunked'], `${chunk(body)}0\r\n`)],
    ['a chunked request ended by an empty line', (body) => post(['Transfer-Encoding: chunked'], `${chunk(body)}\r\nX:`)],
    [
      'a chunked request with the size g',
      (body) => post(['Transfer-Encoding: chunked'], `g\r\n${body.slice(0, 16)}\r\n${chunked(body.slice(16))}`),
    ],
    ['a chunked request that is too large', () => post(['Transfer-Encoding: chunked'], chunked(' '.repeat(17_000)))],
    ['a chunked request of another media type', (body) => post(['Transfer-Encoding: chunked', 'Content-Type: x/y'], chunked(body))],
    ['a chunked GET', () => 'GET /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a chunked HEAD', () => 'HEAD /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['two lengths', (body) => post([length(body), 'Content-Length: 0'], body)],
    ['a length that uWS hides', () => post([': x', `Content-Length: ${followerLength}`], '')],
    ['Connection: close', (body) => post(['Connection: close', length(body)], body)],
    ['Connection: close among others', (body) => post(['Connection: keep-alive, close', length(body)], body)],
    ['a GET with Connection: close', () => 'GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['a HEAD with Connection: close', () => 'HEAD /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['a preflight with Connection: close', () => 'OPTIONS /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['a large document with Connection: close', () => 'GET /openapi.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['a bad Host', (body) => post(['Host: y', length(body)], body)],
  ])('%s', (name, bytes) => {
    // A machine that stalls for longer than the connection lingers makes its kernel send a reset.
    test.each<[Timing]>([['together'], [0], [1], [5], [50], ['after the answer']])('%s', { retry: 2 }, async (timing) => {
      const { statuses, text, closed, reset, second } = await run(service, { bytes }, timing);
      expect(closed).toBe(true);
      // The first request may be answered. uWS may answer what follows with an error of its own, which has no request id.
      expect([...text.matchAll(/^x-request-id/gim)].length).toBeLessThanOrEqual(1);
      expect(statuses.slice(1).filter((status) => status < 400)).toEqual([]);
      if (name.startsWith('a chunked')) expect(reset).toBe(false);
      expect(await wasExecuted(service, second)).toBe(false);
    });
  });
});

describe('a chunked body', () => {
  test.each([0, 1, 5, 50])('whose last CRLF comes %i ms late is answered once, without a reset', async (delayMs) => {
    const installId = freshId('framing');
    const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
    let [text, isReset] = ['', false];
    socket.on('data', (bytes) => (text += bytes.toString()));
    socket.on('error', () => (isReset = true));
    socket.write(post(['Transfer-Encoding: chunked'], ''));
    await settled(5);
    socket.write(chunk(creditBody(installId)));
    socket.write('0\r\n');
    await settled(delayMs);
    socket.write('\r\n');
    await new Promise((resolve) => socket.once('end', resolve));
    await settled(20);
    expect([statusesIn(text), isReset]).toEqual([[200], false]);
    expect(text).toMatch(/^connection: close\r$/im);
    expect(await wasExecuted(service, installId)).toBe(true);
    socket.destroy();
  });

  test.each([
    ['of another media type', 415, 'text/plain'],
    ['too large', 413, 'application/json'],
  ])('%s is refused while it is still coming, and the refusal survives', async (_, status, mediaType) => {
    const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
    let isReset = false;
    socket.on('error', () => (isReset = true));
    // A client that reads when it has sent everything.
    socket.pause();
    socket.write(post(['Transfer-Encoding: chunked'], '').replace('application/json', mediaType));
    for (let sent = 0; sent < 60; sent++) {
      socket.write(chunk(' '.repeat(1024)));
      await settled(10);
    }
    expect(isReset).toBe(false);
    let text = '';
    socket.on('data', (bytes) => (text += bytes.toString()));
    socket.resume();
    await new Promise((resolve) => socket.once('end', resolve));
    expect([statusesIn(text), isReset]).toEqual([[status], false]);
    const [answerHead = '', answerBody = ''] = text.split('\r\n\r\n');
    expect(Number(/^content-length: (\d+)\r?$/im.exec(answerHead)![1])).toBe(answerBody.length);
    expect(JSON.parse(answerBody)).toMatchObject({ ok: false });
    socket.destroy();
  });

  test('that never ends does not hold its connection', async () => {
    const socket = connect(service.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.resume();
    const startedAt = performance.now();
    socket.write(post(['Transfer-Encoding: chunked'], '').replace('application/json', 'text/plain'));
    const drip = setInterval(() => socket.write(chunk(' ')), 20);
    await new Promise((resolve) => socket.once('close', resolve));
    clearInterval(drip);
    expect(performance.now() - startedAt).toBeLessThan(9000);
  });
});

describe('bodies', () => {
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

  test('a client that goes away in mid-body or before the answer leaves nothing half done', async () => {
    const credit = (installId: string) => {
      const body = creditBody(installId);
      return post([`content-length: ${body.length}`], body);
    };
    const cutOff = Array.from({ length: 50 }, () => freshId('framing'));
    const gone = Array.from({ length: 50 }, () => freshId('framing'));
    await Promise.all(cutOff.map((installId, index) => sendRaw(service.port, credit(installId).slice(0, -1 - index), 1)));
    await Promise.all(gone.map((installId) => sendRaw(service.port, credit(installId), 0)));
    await eventually(async () => (await service.get('/metrics')).body.includes('\ncoinop_http_requests_in_flight 0\n'));
    for (const installId of cutOff) expect(await wasExecuted(service, installId)).toBe(false);
    for (const installId of gone) {
      const replay = await service.post('/v1/coins/credit', JSON.parse(creditBody(installId)));
      expect(replay.body).toMatchObject({ ok: true, balanceAfterCoins: 1 });
    }
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

test.each([
  ['', ''],
  ['Connection: close\r\n', ''],
  ['Connection: keep-alive, close\r\n', ''],
  ['Transfer-Encoding: chunked\r\n', '0\r\n\r\n'],
])('an answer larger than the socket takes arrives whole at a slow reader (%j)', async (lines, body) => {
  const whole = (await service.get('/openapi.json')).body;
  const socket = connect(service.port, '127.0.0.1');
  socket.pause();
  socket.write(`GET /openapi.json HTTP/1.1\r\nhost: x\r\n${lines}\r\n${body}`);
  await settled(500);
  let text = '';
  let isEnded = false;
  socket.on('end', () => (isEnded = true));
  socket.on('data', (bytes) => {
    text += bytes.toString();
    socket.pause();
    setTimeout(() => socket.resume(), 1);
  });
  socket.resume();
  const answerBody = () => text.slice(text.indexOf('\r\n\r\n') + 4);
  await eventually(
    () => isEnded || (text.includes('\r\n\r\n') && Buffer.byteLength(answerBody()) >= Number(/^content-length: (\d+)/im.exec(text)![1])),
  );
  expect(JSON.parse(answerBody())).toEqual(whole);
  socket.destroy();
});

test('headers of 12 KB are taken, more than 16 KiB is 431', async () => {
  const get = (size: number) => `GET /health HTTP/1.1\r\nhost: x\r\ncookie: a=${'b'.repeat(size)}\r\n\r\n`;
  expect(statusesIn((await sendRaw(service.port, get(12_000))).text)).toEqual([200]);
  expect(statusesIn((await sendRaw(service.port, get(20_000))).text)).toEqual([431]);
});
