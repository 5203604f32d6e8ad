import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { UnreadBody } from '../../../src/server/http/unread-body.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { sendRaw, statusesIn } from '../../raw.ts';
import { chunk } from './framing/case.ts';

const service = await forFile(start());
const { room } = (await service.post('/v1/rooms', { installId: freshId() })).body;

/** Far more than a service may accept, so that the test ends even if the flood is not cut off. */
const MOST_SENT_BYTES = 64 * 1024 * 1024;

/** Sends a head, and then pieces of a body until the service cuts the connection. @returns how many bytes of body were written */
function flood(head: string, piece: string): Promise<number> {
  const block = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)));
  return new Promise((resolve) => {
    const socket = connect(service.port, '127.0.0.1');
    let sentBytes = 0;
    const pump = (): void => {
      while (!socket.destroyed && sentBytes < MOST_SENT_BYTES) {
        sentBytes += block.length;
        if (!socket.write(block)) return;
      }
    };
    socket.on('connect', () => socket.write(head, pump));
    socket.on('drain', pump);
    socket.resume();
    socket.on('error', () => {});
    socket.on('close', () => resolve(sentBytes));
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
    ['that is too large', head('POST /v1/login', json, endless)],
    ['of another media type', head('POST /v1/login', 'content-type: text/plain', endless)],
    ['to no path', head('POST /nothing', json, endless)],
    ['to a path without that method', head('POST /health', json, endless)],
    ['of a GET', head('GET /health', endless)],
    ['of a HEAD', head('HEAD /health', endless)],
    ['of an OPTIONS', head('OPTIONS /health', endless)],
    ['of a long-poll', head(`GET /v1/rooms/${room.code}?wait=25&since=99`, endless)],
    ['of an upgrade', head(`GET /v1/rooms/${room.code}/live`, 'connection: upgrade', 'upgrade: websocket', endless)],
    ['of a request with a repeated header', head('POST /v1/login', json, 'host: y', endless)],
  ])('%s', async (_, text) => {
    expect(await flood(text, 'a'.repeat(1024))).toBeLessThan(BOUND_BYTES);
    // Each chunk has one byte: a callback for each byte would delay other requests.
    expect(await flood(text.replace(endless, chunked), '1\r\na\r\n')).toBeLessThan(BOUND_BYTES);
  });
});

test('a client that sends a body of 300 KB learns that it is too large', async () => {
  const { text } = await sendRaw(service.port, [head('POST /v1/login', json, 'content-length: 300000'), 'a'.repeat(300_000)]);
  expect(statusesIn(text)).toEqual([413]);
});

test.each([
  [1, 200],
  [63, 200],
  [64, 413],
  [300, 413],
])('a body in %i chunks is answered %i', async (pieces, status) => {
  const text = JSON.stringify({ installId: freshId() }).padEnd(2 * pieces, ' ');
  const bytes = Math.ceil(text.length / pieces);
  const parts = Array.from({ length: pieces }, (_, index) => text.slice(index * bytes, (index + 1) * bytes) || ' ');
  const sent = await sendRaw(service.port, `${head('POST /v1/account/resolve', json, chunked)}${parts.map(chunk).join('')}0\r\n\r\n`);
  expect(statusesIn(sent.text)).toEqual([status]);
});

test.each([
  [1024 * 1024, 1],
  [1, 256],
])('of a body that is not read, pieces of %i bytes are taken %i times', (bytes, times) => {
  const unread = new UnreadBody();
  expect(Array.from({ length: times + 1 }, () => unread.isPast(bytes)).indexOf(true)).toBe(times);
});
