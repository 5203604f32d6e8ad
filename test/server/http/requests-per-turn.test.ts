import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { MOST_A_TURN, RequestsPerTurn } from '../../../src/server/http/requests-per-turn.ts';
import { forFile } from '../../harness.ts';
import { sendRaw, statusesIn } from '../../raw.ts';
import { endpoint } from '../../../src/server/http/endpoint.ts';
import { startServer } from './own-server.ts';

const declaration = { method: 'GET', path: '/at-once', caller: 'none', summary: 'x', reply: z.object({}), example: 'x' } as const;
const server = await forFile(startServer([endpoint({ ...declaration, handle: () => ({}) })]));

const from = (host: number) => ({ getRemoteAddress: () => Uint8Array.of(192, 0, 2, host).buffer });

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

test('clients of other addresses keep their connections in a turn in which one sends too much', async () => {
  const open = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ port: server.port, host: '127.0.0.1', localAddress });
    await once(socket, 'connect');
    return socket;
  };
  const flooder = await open('127.0.0.1');
  const others = await Promise.all(Array.from({ length: 5 }, (_, index) => open(`127.0.1.${index + 1}`)));
  // All of it is in the sockets of the server before it reads one.
  for (const [socket, text] of [[flooder, get.repeat(20_000)] as const, ...others.map((other) => [other, get] as const)])
    socket.write(text);
  const answers = await Promise.all(others.map((socket) => Promise.race([once(socket, 'data').then(String), once(socket, 'close')])));
  expect(answers).toEqual(others.map(() => expect.stringContaining('200 OK')));
  for (const socket of [flooder, ...others]) socket.destroy();
});

test('in the turn in which a connection has sent too much, its address may send no more, and each other address 64', async () => {
  const turn = new RequestsPerTurn();
  const sent = (host: number) => {
    let count = 0;
    while (!turn.isTooMuch(2, from(host))) count++;
    return count;
  };
  const ofATurn = () => [1, 1, 2, 3].map(sent);
  expect(ofATurn()).toEqual([2 * MOST_A_TURN, 0, MOST_A_TURN, MOST_A_TURN]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(ofATurn()).toEqual([2 * MOST_A_TURN, 0, MOST_A_TURN, MOST_A_TURN]);
});
