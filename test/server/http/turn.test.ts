import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { MOST_A_TURN, Turn } from '../../../src/server/http/turn.ts';
import { sendRaw, statusesIn } from '../../raw.ts';
import { endpoint } from '../../../src/server/http/endpoint.ts';
import { startServer, type OwnServer } from './own-server.ts';

let server: OwnServer;

beforeAll(async () => {
  server = await startServer([
    endpoint({
      method: 'GET',
      path: '/at-once',
      operationId: 'atOnce',
      caller: 'none',
      summary: 'x',
      reply: z.object({}),
      example: 'x',
      handle: () => ({}),
    }),
  ]);
});

afterAll(() => server[Symbol.asyncDispose]());

const get = 'GET /at-once HTTP/1.1\r\nhost: x\r\n\r\n';

test('a client may send 64 requests ahead, and has all answered', async () => {
  const { text, closed } = await sendRaw(server.port, get.repeat(64), 1000);
  expect(statusesIn(text)).toEqual(Array<number>(64).fill(200));
  expect(closed).toBe(false);
});

test.each([65, 1000, 20_000])('a client that sends %i requests ahead has its connection closed', async (count) => {
  const { text, closed } = await sendRaw(server.port, get.repeat(count));
  expect(closed).toBe(true);
  expect(statusesIn(text).length).toBeLessThanOrEqual(MOST_A_TURN);
});

test('several connections may send 64 requests ahead each in the same turn', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => sendRaw(server.port, get.repeat(64), 2000)));
  expect(answers.map(({ text }) => statusesIn(text).length)).toEqual(Array<number>(20).fill(64));
});

test('the count starts again in the next turn of the event loop', async () => {
  const turn = new Turn();
  const isTooMuch = () => Array.from({ length: MOST_A_TURN + 1 }, () => turn.isTooMuch(1)).indexOf(true);
  expect(isTooMuch()).toBe(MOST_A_TURN);
  await new Promise((resolve) => setImmediate(resolve));
  expect(isTooMuch()).toBe(MOST_A_TURN);
});

test('a turn counts the requests of connections that have ended in it', () => {
  const turn = new Turn();
  for (let request = 0; request < MOST_A_TURN; request++) turn.isTooMuch(1);
  turn.ended();
  expect(turn.isTooMuch(1)).toBe(false);
});
