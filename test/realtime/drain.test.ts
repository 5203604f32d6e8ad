import { afterAll, beforeAll, expect, test } from 'vitest';
import { open } from '../features/rooms/room.ts';
import { ownRedis } from './own.ts';
import { watchPairing, watchRoom, type Message } from './watcher.ts';

let redis: Awaited<ReturnType<typeof ownRedis>>;
beforeAll(async () => void (redis = await ownRedis()));
afterAll(() => redis[Symbol.asyncDispose]());

test('a drain closes every socket with 1001, spread over a few seconds, and another process still serves the room with its seats', async () => {
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
  // 20 sockets are closed every 100 ms.
  expect(closedAt).toHaveLength(watchers.length);
  expect(Math.max(...closedAt) - Math.min(...closedAt)).toBeGreaterThan(300);
  expect(Math.max(...closedAt)).toBeLessThan(3500);

  // A player who connects elsewhere finds the room, the seat, and every change since.
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
