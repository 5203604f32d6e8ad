import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { forFile, freshId, sleep, start } from '../../harness.ts';
import { sendRaw, statusesIn } from '../../raw.ts';
import { chunk, chunked, post } from './framing/case.ts';
import { creditBody, run, wasExecuted, type Timing } from './framing/run.ts';

const service = await forFile(start());

const smuggled = 'GET /v1/catalogue HTTP/1.1\r\nhost: x\r\n\r\n';

test('a GET with two different lengths is refused, and a request in its body does not run', async () => {
  const doubted = `GET /health HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\ncontent-length: ${smuggled.length}\r\n\r\n`;
  const together = await sendRaw(service.port, doubted + smuggled);
  expect([together.closed, statusesIn(together.text)]).toEqual([true, []]);
  const alone = await sendRaw(service.port, doubted);
  expect([alone.closed, statusesIn(alone.text)]).toEqual([true, [400]]);
  expect(alone.text).toContain('"field":"content-length"');
  expect(alone.text).toMatch(/^connection: close/im);
});

describe('a second request on the connection never runs', () => {
  const length = (body: string) => `Content-Length: ${body.length}`;
  // All credits have one length, so this is the length of the second one.
  const followerLength = post([length(creditBody(freshId('framing')))], creditBody(freshId('framing'))).length;

  describe.each<[name: string, bytes: (body: string) => string]>([
    ['after a chunked request', (body) => post(['Transfer-Encoding: chunked'], chunked(body))],
    [
      'after a chunked request that ends in two bytes of a header name instead of the last CRLF',
      (body) => post(['Transfer-Encoding: chunked'], `${chunk(body)}0\r\nX:`),
    ],
    ['after a chunked request whose last CRLF has not come', (body) => post(['Transfer-Encoding: chunked'], `${chunk(body)}0\r\n`)],
    ['after a chunked request whose last chunk is an empty line', (body) => post(['Transfer-Encoding: chunked'], `${chunk(body)}\r\nX:`)],
    [
      'after a chunked request with the chunk size g',
      (body) => post(['Transfer-Encoding: chunked'], `g\r\n${body.slice(0, 16)}\r\n${chunked(body.slice(16))}`),
    ],
    ['after a chunked request that is too large', () => post(['Transfer-Encoding: chunked'], chunked(' '.repeat(17_000)))],
    ['after a chunked request of another media type', (body) => post(['Transfer-Encoding: chunked', 'Content-Type: x/y'], chunked(body))],
    ['after a chunked GET', () => 'GET /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['after a chunked HEAD', () => 'HEAD /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['after a request with two lengths', (body) => post([length(body), 'Content-Length: 0'], body)],
    [
      'after a request whose length stands behind a header without a name, where uWS hides it',
      () => post([': x', `Content-Length: ${followerLength}`], ''),
    ],
    ['after a request with Connection: close', (body) => post(['Connection: close', length(body)], body)],
    ['after a request with Connection: keep-alive, close', (body) => post(['Connection: keep-alive, close', length(body)], body)],
    ['after a GET with Connection: close', () => 'GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['after a HEAD with Connection: close', () => 'HEAD /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['after a preflight with Connection: close', () => 'OPTIONS /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['after a large document with Connection: close', () => 'GET /openapi.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['after a request with two hosts', (body) => post(['Host: y', length(body)], body)],
  ])('%s', (name, bytes) => {
    // On a machine that stalls for longer than the connection lingers the kernel sends a reset: hence the retry.
    test.each<[title: string, Timing]>([
      ['in the same bytes', 'together'],
      ['in the next segment', 0],
      ['1 ms later', 1],
      ['5 ms later', 5],
      ['50 ms later', 50],
      ['after the answer', 'after the answer'],
    ])('sent %s', { retry: 2 }, async (_, timing) => {
      const { statuses, text, closed, reset, second } = await run(service, { bytes }, timing);
      expect(closed).toBe(true);
      // The second request was sent, so the first one was answered.
      if (timing === 'after the answer') expect(statuses.length).toBeGreaterThanOrEqual(1);
      // uWS may answer the second request with an error of its own, which has no request id.
      expect([...text.matchAll(/^x-request-id/gim)].length).toBeLessThanOrEqual(1);
      expect(statuses.slice(1).filter((status) => status < 400)).toEqual([]);
      if (name.startsWith('after a chunked')) expect(reset).toBe(false);
      expect(await wasExecuted(service, second)).toBe(false);
    });
  });
});

describe('a chunked body', () => {
  test.each([0, 1, 5, 50])('whose last CRLF comes %i ms late is executed and answered once, without a reset', async (delayMs) => {
    const installId = freshId('framing');
    const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
    let [text, isReset] = ['', false];
    socket.on('data', (bytes) => (text += bytes.toString()));
    socket.on('error', () => (isReset = true));
    socket.write(post(['Transfer-Encoding: chunked'], ''));
    await sleep(5);
    socket.write(chunk(creditBody(installId)));
    socket.write('0\r\n');
    await sleep(delayMs);
    socket.write('\r\n');
    await new Promise((resolve) => socket.once('end', resolve));
    // A reset would come right behind the end of the stream: none is to come within this time.
    await sleep(20);
    expect([statusesIn(text), isReset]).toEqual([[200], false]);
    expect(text).toMatch(/^connection: close\r$/im);
    expect(await wasExecuted(service, installId)).toBe(true);
    socket.destroy();
  });

  test.each([
    ['of another media type', 415, 'text/plain'],
    ['too large', 413, 'application/json'],
  ])('%s is refused while its chunks still come, and the client can read the whole refusal', async (_, status, mediaType) => {
    const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
    let isReset = false;
    socket.on('error', () => (isReset = true));
    // The client reads only after it has sent everything.
    socket.pause();
    socket.write(post(['Transfer-Encoding: chunked'], '').replace('application/json', mediaType));
    for (let sent = 0; sent < 60; sent++) {
      socket.write(chunk(' '.repeat(1024)));
      await sleep(10);
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

  test('that never ends is refused once, and its connection is cut within seconds', async () => {
    const socket = connect(service.port, '127.0.0.1');
    let text = '';
    socket.on('error', () => {});
    socket.on('data', (bytes) => (text += bytes.toString()));
    const startedAt = performance.now();
    socket.write(post(['Transfer-Encoding: chunked'], '').replace('application/json', 'text/plain'));
    const drip = setInterval(() => socket.write(chunk(' ')), 20);
    await new Promise((resolve) => socket.once('close', resolve));
    clearInterval(drip);
    expect(statusesIn(text)).toEqual([415]);
    expect(performance.now() - startedAt).toBeLessThan(9000);
  });
});

test('a request that is refused before its body was read leaves the connection usable, and a request in its body does not run', async () => {
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
