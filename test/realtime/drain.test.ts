import { expect, test } from 'vitest';
import { open } from '../features/rooms/room.ts';
import { start } from '../harness.ts';
import { watchPairing, watchRoom, type Message } from './watcher.ts';

test('a drain closes every socket with 1001, spread over a few seconds, and another process still serves the room with its seats', async () => {
  await using leaving = await start();
  await using staying = await start();
  const room = await open(leaving);
  const guest = await room.join();
  const watchers = await Promise.all(Array.from({ length: 60 }, () => watchRoom(leaving, room.code)));
  const pairing = await watchPairing(leaving, (await leaving.post('/v1/pair/new')).body.token);
  await watchers[0]!.hello(guest);
  const seatedAt = (await room.read()).seq;
  await Promise.all(watchers.map((watcher) => watcher.reaches(seatedAt)));

  const closedAt = new Set<number>();
  for (const watcher of watchers) void watcher.closed.then(() => closedAt.add(Math.floor(performance.now() / 100)));
  const drained = leaving.service.drain();
  for (const watcher of [...watchers, pairing]) expect((await watcher.closed).code).toBe(1001);
  // 20 sockets are closed every 100 ms.
  expect(closedAt.size).toBeGreaterThan(1);

  // A player who connects elsewhere finds the room, the seat, and every change since.
  const back = await watchRoom(staying, room.code);
  expect((await back.hello(guest)).you).toEqual({ playerId: 'p2', host: false });
  await back.until((message) => message.room?.players[1].connected === true);
  await staying.post(`/v1/rooms/${room.code}/lock`, { installId: room.host });
  await back.until((message) => message.room?.locked === true);
  await drained;
  expect(back.last.room.players.map(({ connected }: Message) => connected)).toEqual([false, true]);
  await back.close();
});
