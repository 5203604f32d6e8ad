import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { open } from '../features/rooms/room.ts';
import { ownRedis } from './own.ts';
import { eventually, watchPairing, watchRoom, type Message } from './watcher.ts';

let redis: Awaited<ReturnType<typeof ownRedis>>;
beforeAll(async () => void (redis = await ownRedis()));
afterAll(() => redis[Symbol.asyncDispose]());

test('a drain sends everybody off with 1001, spread over a few seconds, and they find everything elsewhere', async () => {
  const [leaving, staying] = await Promise.all([redis.start(), redis.start()]);
  const room = await open(leaving);
  const guest = await room.join();
  const watchers = await Promise.all(Array.from({ length: 120 }, () => watchRoom(leaving, room.code)));
  const { body } = await leaving.post('/v1/pair/new');
  const pairing = await watchPairing(leaving, body.token);
  await watchers[0]!.hello(guest);
  const seatedAt = (await room.read()).seq;
  await Promise.all(watchers.map((watcher) => watcher.reaches(seatedAt)));

  const startedAt = performance.now();
  const closedAt: number[] = [];
  for (const watcher of watchers) void watcher.closed.then(() => closedAt.push(performance.now() - startedAt));
  const drained = leaving.service.drain();
  for (const watcher of [...watchers, pairing]) expect((await watcher.closed).code).toBe(1001);
  // 20 a step of 100 ms.
  expect(Math.max(...closedAt) - Math.min(...closedAt)).toBeGreaterThan(300);
  expect(Math.max(...closedAt)).toBeLessThan(3500);

  // Who comes back elsewhere finds the room, the seat, and everything that happened since.
  const back = await watchRoom(staying, room.code);
  expect((await back.hello(guest)).you).toEqual({ playerId: 'p2', host: false });
  await back.until((message) => message.room?.players[1].connected === true);
  await staying.post(`/v1/rooms/${room.code}/lock`, { installId: room.host });
  await back.until((message) => message.room?.locked === true);
  await drained;
  expect(back.last.room.players.map(({ connected }: Message) => connected)).toEqual([false, true]);
  await back.close();
  await staying[Symbol.asyncDispose]();
});

test('an upgrade that comes while draining is refused, and the drain ends', async () => {
  const service = await redis.start();
  const room = await open(service);
  // Two connections from before: one keeps the drain waiting, the other asks for a socket meanwhile.
  const [slow, late] = [connect(service.port, '127.0.0.1'), connect(service.port, '127.0.0.1')];
  let answer = '';
  late.on('data', (chunk) => void (answer += chunk.toString()));
  for (const socket of [slow, late]) socket.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n');
  await eventually(() => answer.includes('"ok":true'));
  slow.write('POST /v1/rooms HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 30\r\n\r\n{');
  const watcher = await watchRoom(service, room.code);
  const drained = service.service.drain();
  expect((await watcher.closed).code).toBe(1001);
  answer = '';
  late.write(
    `GET /v1/rooms/${room.code}/live HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${'a'.repeat(22)}==\r\n\r\n`,
  );
  await eventually(() => answer.includes('"code"'));
  expect(answer).toMatch(/^HTTP\/1\.1 503 /);
  expect(answer).toContain('"code":"overloaded"');
  slow.write(' '.repeat(28) + '}');
  await drained;
  slow.destroy();
  late.destroy();
});
