import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { forFile, freshId, sleep, start } from '../../harness.ts';
import { statusesIn } from '../../raw.ts';
import { chunk, chunked, post } from './framing/case.ts';
import { creditBody, run, wasExecuted, type Timing } from './framing/run.ts';

const service = await forFile(start());

type Case = [name: string, bytes: (body: string) => string];

describe('a second request on the connection never runs', () => {
  const length = (body: string) => `Content-Length: ${body.length}`;
  // All credits have one length, so this is the length of the second one.
  const followerLength = post([length(creditBody(freshId('framing')))], creditBody(freshId('framing'))).length;

  describe.each<Case>([
    ['after a chunked request', (body) => post(['Transfer-Encoding: chunked'], chunked(body))],
    [
      'after a chunked request that ends in two bytes of a header name instead of the last CRLF',
      (body) => post(['Transfer-Encoding: chunked'], `${chunk(body)}0\r\nX:`),
    ],
    ['after a chunked request that is too large', () => post(['Transfer-Encoding: chunked'], chunked(' '.repeat(17_000)))],
    ...['GET', 'HEAD'].map((method): Case => [
      `after a chunked ${method}`,
      () => `${method} /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ]),
    ['after a request with two lengths', (body) => post([length(body), 'Content-Length: 0'], body)],
    [
      'after a request whose length stands behind a header without a name, where uWS hides it',
      () => post([': x', `Content-Length: ${followerLength}`], ''),
    ],
    ['after a request with Connection: close', (body) => post(['Connection: close', length(body)], body)],
    // The last one is a large document.
    ...['GET /health', 'HEAD /health', 'OPTIONS /health', 'GET /openapi.json'].map((line): Case => [
      `after ${line} with Connection: close`,
      () => `${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    ]),
  ])('%s', (name, bytes) => {
    test.each<[title: string, Timing]>([
      ['in the same bytes', 'together'],
      ['in the next segment', 0],
      ['5 ms later', 5],
      ['50 ms later', 50],
      ['after the answer', 'after the answer'],
    ])('sent %s', async (_, timing) => {
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
  /** A connection on which a chunked request has begun. */
  function begin(mediaType = 'application/json') {
    const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
    const begun = { socket, text: '', isReset: false, ended: new Promise((resolve) => socket.once('end', resolve)) };
    socket.on('data', (bytes) => (begun.text += bytes.toString()));
    socket.on('error', () => (begun.isReset = true));
    socket.write(post(['Transfer-Encoding: chunked'], '').replace('application/json', mediaType));
    return begun;
  }

  test.each([0, 1, 5, 50])('whose last CRLF comes %i ms late is executed and answered once, without a reset', async (delayMs) => {
    const installId = freshId('framing');
    const begun = begin();
    await sleep(5);
    begun.socket.write(`${chunk(creditBody(installId))}0\r\n`);
    await sleep(delayMs);
    begun.socket.write('\r\n');
    await begun.ended;
    // A reset would come right behind the end of the stream: none is to come within this time.
    await sleep(20);
    expect([statusesIn(begun.text), begun.isReset]).toEqual([[200], false]);
    expect(begun.text).toMatch(/^connection: close\r$/im);
    expect(await wasExecuted(service, installId)).toBe(true);
    begun.socket.destroy();
  });

  test.each([
    ['of another media type', 415, 'text/plain'],
    ['too large', 413, 'application/json'],
  ])('%s is refused while its chunks still come, and the client can read the whole refusal', async (_, status, mediaType) => {
    const begun = begin(mediaType);
    // The client reads only after it has sent everything.
    begun.socket.pause();
    for (let sent = 0; sent < 60; sent++) {
      begun.socket.write(chunk(' '.repeat(1024)));
      await sleep(10);
    }
    begun.socket.resume();
    await begun.ended;
    expect([statusesIn(begun.text), begun.isReset]).toEqual([[status], false]);
    const [head = '', body = ''] = begun.text.split('\r\n\r\n');
    expect(Number(/^content-length: (\d+)\r?$/im.exec(head)![1])).toBe(body.length);
    expect(JSON.parse(body)).toMatchObject({ ok: false });
    begun.socket.destroy();
  });

  test('that never ends is refused once, and its connection is cut', async () => {
    const begun = begin('text/plain');
    const drip = setInterval(() => begun.socket.write(chunk(' ')), 20);
    await new Promise((resolve) => begun.socket.once('close', resolve));
    clearInterval(drip);
    expect(statusesIn(begun.text)).toEqual([415]);
  });
});
