import { afterAll, beforeAll, test } from 'vitest';
import type { TestService } from '../../harness.ts';
import { open } from '../../features/rooms/room.ts';
import { ownRedis } from '../../realtime/own.ts';
import { RawSocket } from '../../realtime/raw-socket.ts';
import { eventually } from '../../realtime/watcher.ts';

let redis: Awaited<ReturnType<typeof ownRedis>>;
let service: TestService;
beforeAll(async () => {
  redis = await ownRedis();
  service = await redis.start();
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await redis[Symbol.asyncDispose]();
});

test('an upgrade leaves its socket open: each of 180 gets its first state and the next', async () => {
  const rooms = await Promise.all(Array.from({ length: 9 }, () => open(service)));
  const raws: RawSocket[] = [];
  for (let round = 0; round < 20; round++) {
    raws.push(...(await Promise.all(rooms.map(({ code }) => RawSocket.open(service.port, `/v1/rooms/${code}/live`)))));
  }
  await eventually(() => raws.every(({ messages }) => messages.length === 1));
  await Promise.all(rooms.map(({ host, act }) => act('lock', host)));
  await eventually(() => raws.every(({ messages, isClosed }) => messages.length === 2 && !isClosed));
  for (const raw of raws) raw.destroy();
});
