import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerAndLinger } from '../../../src/server/http/lingering-close.ts';
import { uws, type TemplatedApp } from '../../../src/server/uws.ts';
import { sleep } from '../../harness.ts';

/** More than the kernel buffers for a client that does not read. */
const LARGE = 'x'.repeat(16 * 1024 * 1024);

let app: TemplatedApp;
let port: number;

beforeAll(async () => {
  app = uws.App();
  app.any('/*', (response, request) => {
    response.onAborted(() => {});
    const body = request.getUrl() === '/large' ? LARGE : 'small';
    const isHead = request.getMethod() === 'head';
    setImmediate(() => answerAndLinger(response, { statusLine: '200 OK', headers: 'x: y' }, body, isHead));
  });
  port = await new Promise((resolve) =>
    app.listen('127.0.0.1', 0, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) =>
      resolve(socket === false ? 0 : uws.us_socket_local_port(socket)),
    ),
  );
});

afterAll(() => void app.close());

/** Sends a request, pauses, and reads until the end of the stream or until a body of this length is there. */
async function read(request: string, bodyBytes: number, pauseMs: number): Promise<{ text: string; ended: boolean; milliseconds: number }> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const startedAt = performance.now();
  socket.pause();
  socket.write(request);
  await sleep(pauseMs);
  const chunks: Buffer[] = [];
  let [received, ended] = [0, false];
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('end', () => resolve(void (ended = true)));
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      received += chunk.length;
      if (received > bodyBytes + 50 && bodyBytes > 100) resolve();
    });
    socket.resume();
  });
  socket.destroy();
  return { text: Buffer.concat(chunks).toString('latin1'), ended, milliseconds: performance.now() - startedAt };
}

test('a small answer is followed by the end of the stream once the client has been quiet', async () => {
  const { text, ended, milliseconds } = await read('GET /small HTTP/1.1\r\nhost: x\r\n\r\n', 0, 0);
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\nx: y\r\nconnection: close\r\ndate: [^\r]+ GMT\r\ncontent-length: 7\r\n\r\nsmall\r\n$/);
  expect(ended).toBe(true);
  expect(milliseconds).toBeGreaterThan(100);
});

test('an answer to HEAD has the content-length of the body, and no body', async () => {
  const { text } = await read('HEAD /small HTTP/1.1\r\nhost: x\r\n\r\n', 0, 0);
  expect(text).toMatch(/content-length: 5\r\n\r\n$/);
});

test('a large answer arrives whole at a client that is slow to read', async () => {
  const { text, ended } = await read('GET /large HTTP/1.1\r\nhost: x\r\n\r\n', LARGE.length, 500);
  expect(ended).toBe(false);
  expect(text.length - text.indexOf('\r\n\r\n') - 4).toBe(LARGE.length + 2);
});

test('a request that comes while the connection lingers does not run, and ends the connection', async () => {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const startedAt = performance.now();
  let text = '';
  socket.on('data', (bytes) => (text += bytes.toString()));
  socket.write('GET /large HTTP/1.1\r\nhost: x\r\n\r\n');
  await new Promise((resolve) => socket.once('data', resolve));
  socket.write('GET /small HTTP/1.1\r\nhost: x\r\n\r\n');
  await new Promise((resolve) => socket.once('end', resolve));
  expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
  socket.destroy();
});
