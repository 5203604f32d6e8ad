import { expect, test } from 'vitest';
import { open } from '../features/rooms/room.ts';
import { ownRedis } from './own.ts';
import { watchRoom } from './watcher.ts';

/** With the room around it a message of some 8.4 KB: the largest state there is. */
const text = 'x'.repeat(8000);
const WATCHERS = 10;
const BYTES_PER_SECOND = 65_536;
const CHANGES = 30;

test('a room under a burst of large states pushes no more bytes than ROOM_BYTES_PER_SECOND, and everybody gets the last', async () => {
  await using redis = await ownRedis();
  await using service = await redis.start({ settings: { ROOM_BYTES_PER_SECOND: String(BYTES_PER_SECOND) } });
  const room = await open(service);
  const watchers = await Promise.all(Array.from({ length: WATCHERS }, () => watchRoom(service, room.code)));
  const startedAt = performance.now();
  let seq = 0;
  for (let change = 1; change <= CHANGES; change++) ({ seq } = (await room.act('state', room.host, { state: { change, text } })).body.room);
  await Promise.all(watchers.map((watcher) => watcher.reaches(seq)));
  const seconds = (performance.now() - startedAt) / 1000;

  const states = watchers.map((watcher) => watcher.states.slice(1));
  const bytes = states.flat().reduce((sum, state) => sum + Buffer.byteLength(JSON.stringify(state)), 0);
  const pushBytes = WATCHERS * Buffer.byteLength(JSON.stringify(states[0]!.at(-1)));
  // The first push waits for nothing; each later one for those before it. Every change by itself would be 2.5 MB.
  expect(bytes).toBeLessThanOrEqual(BYTES_PER_SECOND * seconds + pushBytes);
  for (const seen of states) expect(seen.at(-1).room.state.change).toBe(CHANGES);
});
