import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { boundedFetch, Fault, parseJson } from '../../../src/stores/google/bounded-fetch.ts';

const KIB = 1024;
/** A machine under load may need seconds for an answer. */
const PATIENCE_MS = 15_000;

let respond: (response: ServerResponse) => void;
const server = createServer((_, response) => respond(response));
let url: string;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const answering =
  (status: number, headers: Record<string, string> = {}, body = '') =>
  (response: ServerResponse): void =>
    void response.writeHead(status, headers).end(body);

async function faultOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Fault);
  return (error as Fault).message;
}

describe('an answer', () => {
  test('has its status, headers and text, whatever the status', async () => {
    respond = answering(404, { 'x-kind': 'none' }, 'not here: 🗝');
    const { status, headers, text, retryAfterMs } = await boundedFetch(url, {}, PATIENCE_MS);
    expect([status, headers['x-kind'], text, retryAfterMs]).toEqual([404, 'none', 'not here: 🗝', undefined]);
  });

  test('may have at most 64 KiB', async () => {
    respond = answering(200, {}, 'x'.repeat(64 * KIB));
    expect((await boundedFetch(url, {}, PATIENCE_MS)).text).toHaveLength(64 * KIB);
    respond = answering(200, {}, 'x'.repeat(64 * KIB + 1));
    expect(await faultOf(boundedFetch(url, {}, PATIENCE_MS))).toBe('too large');
  });

  test('with a redirect is returned as it is', async () => {
    respond = answering(307, { location: 'http://127.0.0.1:1/' });
    expect((await boundedFetch(url, {}, PATIENCE_MS)).status).toBe(307);
  });
});

test.each([
  ['holds seconds', '120', 120_000],
  ['holds a date that has passed', 'Sun, 06 Nov 1994 08:49:37 GMT', 0],
  ['holds neither', 'soon', undefined],
])('a Retry-After that %s: %j is a wait of %j ms', async (_, header, milliseconds) => {
  respond = answering(429, { 'retry-after': header });
  expect((await boundedFetch(url, {}, PATIENCE_MS)).retryAfterMs).toBe(milliseconds);
});

describe('a failed call', () => {
  test('is a timeout if the whole answer does not arrive in time', async () => {
    respond = () => {};
    expect(await faultOf(boundedFetch(url, {}, 50))).toBe('timeout');
    respond = (response) => void response.writeHead(200).write('half of');
    expect(await faultOf(boundedFetch(url, {}, 50))).toBe('timeout');
  });

  test('names the error of the connection and not the address', async () => {
    expect(await faultOf(boundedFetch('http://127.0.0.1:1/purchase-token', {}, PATIENCE_MS))).toBe('ECONNREFUSED');
    respond = (response) => void response.destroy();
    expect(await faultOf(boundedFetch(url, {}, PATIENCE_MS))).toBe('ECONNRESET');
    expect(await faultOf(boundedFetch('ftp://127.0.0.1/purchase-token', {}, PATIENCE_MS))).toBe('ERR_INVALID_PROTOCOL');
  });
});

test('a text that is not JSON is a fault, which does not quote it', () => {
  expect(parseJson('{"a":[1]}')).toEqual({ a: [1] });
  expect(() => parseJson('<html>purchase-token')).toThrow(new Fault('not JSON'));
});
