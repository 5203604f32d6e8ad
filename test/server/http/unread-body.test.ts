import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { UnreadBody } from '../../../src/server/http/unread-body.ts';
import { freshId, start, type TestService } from '../../harness.ts';
import { sendRaw, statusesIn } from '../../raw.ts';

let service: TestService;
let room: string;

beforeAll(async () => {
  service = await start();
  ({
    body: {
      room: { code: room },
    },
  } = await service.post('/v1/rooms', { installId: freshId() }));
});

afterAll(() => service[Symbol.asyncDispose]());

/** Far more than a service may accept, so that the test ends even if the flood is not cut off. */
const MOST_SENT_BYTES = 64 * 1024 * 1024;

/**
 * Sends a head, and then pieces of a body until the service cuts the connection.
 * @returns bytes of body that were written, and the answer
 */
function flood(head: string, piece: string): Promise<{ sentBytes: number; text: string }> {
  const block = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)));
  return new Promise((resolve) => {
    const socket = connect(service.port, '127.0.0.1');
    let [sentBytes, text] = [0, ''];
    const pump = (): void => {
      while (!socket.destroyed && sentBytes < MOST_SENT_BYTES) {
        sentBytes += block.length;
        if (!socket.write(block)) return;
      }
    };
    socket.on('connect', () => socket.write(head, pump));
    socket.on('drain', pump);
    socket.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')));
    socket.on('error', () => {});
    socket.on('close', () => resolve({ sentBytes, text }));
  });
}

const head = (line: string, ...lines: string[]): string => [`${line} HTTP/1.1`, 'host: x', ...lines, '', ''].join('\r\n');
const json = 'content-type: application/json';
const chunked = 'transfer-encoding: chunked';
const endless = 'content-length: 1000000000000';

/** Kernel buffers of both ends take several megabytes before the client learns that the service has cut the connection. */
const BOUND_BYTES = 24 * 1024 * 1024;

describe('an endless body has its connection cut', () => {
  test.each([
    ['that is too large', () => head('POST /v1/login', json, endless)],
    ['of another media type', () => head('POST /v1/login', 'content-type: text/plain', endless)],
    ['to no path', () => head('POST /nothing', json, endless)],
    ['to a path without that method', () => head('POST /health', json, endless)],
    ['of a GET', () => head('GET /health', endless)],
    ['of a HEAD', () => head('HEAD /health', endless)],
    ['of an OPTIONS', () => head('OPTIONS /health', endless)],
    ['of a long-poll', () => head(`GET /v1/rooms/${room}?wait=25&since=99`, endless)],
    ['of an upgrade', () => head(`GET /v1/rooms/${room}/live`, 'connection: upgrade', 'upgrade: websocket', endless)],
    ['of a request with a repeated header', () => head('POST /v1/login', json, 'host: y', endless)],
  ])('%s', async (_, headOf) => {
    expect((await flood(headOf(), 'a'.repeat(1024))).sentBytes).toBeLessThan(BOUND_BYTES);
    // Each chunk has one byte: a callback for each byte would delay other requests.
    expect((await flood(headOf().replace(endless, chunked), '1\r\na\r\n')).sentBytes).toBeLessThan(BOUND_BYTES);
  });
});

test('a client that sends a body of 300 KB learns that it is too large', async () => {
  const { text } = await sendRaw(service.port, [head('POST /v1/login', json, 'content-length: 300000'), 'a'.repeat(300_000)]);
  expect(statusesIn(text)).toEqual([413]);
});

/** A valid body in as many chunks. */
function body(pieces: number): string {
  const text = JSON.stringify({ installId: freshId() }).padEnd(2 * pieces, ' ');
  const bytes = Math.floor(text.length / pieces);
  const parts = Array.from({ length: pieces }, (_, index) =>
    text.slice(index * bytes, index === pieces - 1 ? undefined : (index + 1) * bytes),
  );
  return parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('') + '0\r\n\r\n';
}

describe('a body in pieces', () => {
  test.each([
    [1, 200],
    [63, 200],
    [64, 413],
    [300, 413],
  ])('in %i chunks is answered %i', async (pieces, status) => {
    const { text } = await sendRaw(service.port, head('POST /v1/account/resolve', json, chunked) + body(pieces));
    expect(statusesIn(text)).toEqual([status]);
  });
});

test('a body in 4,000 chunks has its connection cut', async () => {
  expect((await sendRaw(service.port, head('POST /v1/account/resolve', json, chunked) + body(4000))).closed).toBe(true);
});

describe('UnreadBody', () => {
  test('takes a mebibyte', () => {
    const unread = new UnreadBody();
    expect([unread.isPast(1024 * 1024), unread.isPast(1)]).toEqual([false, true]);
  });

  test('takes 256 pieces', () => {
    const unread = new UnreadBody();
    expect(Array.from({ length: 257 }, () => unread.isPast(1)).indexOf(true)).toBe(256);
  });
});
