import type { Redis } from 'ioredis';
import { listKeys } from '../../src/features/rooms/list/list-model.ts';
import { codeOf } from '../../src/features/rooms/model.ts';
import type { Target } from './floods.ts';

/** As often as watchers can see a change: the service reads twice a second. */
export const LIST_CHANGES_MS = 250;

const GAME = 'flooded-list';

/** More rooms than one page examines. */
const ROOMS = 1_500;

/** Longer than the proof runs. */
const PRESENT_MS = 6 * 3_600_000;

/**
 * Fills the list of a game as processes with rooms would, with tags that fill a message of 50 rooms: 32 KiB. The rooms themselves
 * do not exist.
 * @returns `change`: changes the newest room of the list
 */
export async function fillList(redis: Redis): Promise<{ readonly target: Target['list']; change(): Promise<unknown> }> {
  const tags = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`t${index}`, String(index).repeat(64)]));
  const { order, untils, rooms, version } = listKeys(GAME);
  const now = Date.now();
  const entries = Array.from({ length: ROOMS }, (_, place) => `${now - place}${codeOf(place)}`);
  const summary = (players: number): string => `1 ${players} 64 ${GAME} ${JSON.stringify(tags)}`;
  await redis.zadd(order, ...entries.flatMap((entry) => [0, entry]));
  await redis.zadd(untils, ...entries.flatMap((entry) => [now + PRESENT_MS, entry]));
  await redis.hset(rooms, ...entries.flatMap((entry) => [entry, summary(1)]));
  await redis.set(version, '0');
  let changes = 0;
  const change = (): Promise<unknown> =>
    redis
      .multi()
      .hset(rooms, entries[0]!, summary(1 + (++changes % 60)))
      .set(version, String(changes))
      .exec();
  return { target: { game: GAME, tags }, change };
}
