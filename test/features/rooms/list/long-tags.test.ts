import { describe, expect, test } from 'vitest';
import { listKeys } from '../../../../src/features/rooms/list/list-model.ts';
import { forFile, freshId, start } from '../../../harness.ts';
import { Watcher } from '../../../realtime/watcher.ts';

const service = await forFile(start());

/** A list of rooms, newest first, with summaries of these lengths in bytes. The longest tags make 3,200. @returns its game */
async function listOf(sizes: readonly number[]): Promise<string> {
  const game = freshId('game').toLowerCase();
  const { order, untils, rooms } = listKeys(game);
  const head = `1 1 4 ${game} {"n":"`;
  const listed = sizes.map((size, place) => [`${1_700_000_000_000 - place}BBBBB`, `${head.padEnd(size - 2, 'x')}"}`] as const);
  const { redis } = service.service;
  await redis.zadd(order, ...listed.flatMap(([entry]) => [0, entry]));
  await redis.zadd(untils, ...listed.flatMap(([entry]) => [service.now() + 60_000, entry]));
  await redis.hset(rooms, ...listed.flat());
  return game;
}

const page = async (game: string, more: string) => (await service.get(`/v1/rooms?game=${game}${more}`)).body;

describe('a list of rooms with long tags', () => {
  // The last room of the first read is many times as long as the others, and does not fit into the page.
  test.each([20, 40])('goes on after %i rooms that do not fit, and a longer one', async (count) => {
    const others = Array.from({ length: count }, () => Math.floor(31_900 / count));
    const game = await listOf([...others, 3200, ...Array.from({ length: 9000 }, () => 60)]);
    const { nextCursor } = await page(game, `&limit=${count}&tag.n=y`);
    // The first read ends with the longer room, and 800 rooms follow.
    expect(nextCursor).toBe(`${1_700_000_000_000 - count - 800}BBBBB`);
  });

  test('brings its newest fifty to the channel', async () => {
    const watcher = await Watcher.open(service.url, `/v1/lobby/live?game=${await listOf(Array.from({ length: 60 }, () => 500))}`);
    expect((await watcher.until(() => true)).rooms).toHaveLength(50);
    await watcher.close();
  });
});
