import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listKeys } from '../../../../src/features/rooms/list/list-model.ts';
import { freshId, start, type TestService } from '../../../harness.ts';
import { Watcher } from '../../../realtime/watcher.ts';

let service: TestService;
beforeAll(async () => void (service = await start()));
afterAll(() => service[Symbol.asyncDispose]());

/** A list of rooms, newest first, each with a summary of so many bytes. The longest tags have 3,200. @returns its game */
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
  // The last of the rooms that are read first has many times the length of the others, and is one too many bytes for a page.
  test.each([20, 40])('goes on after %i rooms that do not fit, and a longer one', async (count) => {
    const others = Array.from({ length: count }, () => Math.floor(31_900 / count));
    const game = await listOf([...others, 3200, ...Array.from({ length: 9000 }, () => 60)]);
    const { nextCursor } = await page(game, `&limit=${count}&tag.n=y`);
    // The first looks end with the longer one, and 800 follow.
    expect(nextCursor).toBe(`${1_700_000_000_000 - count - 800}BBBBB`);
  });

  test('has 32 KiB of rooms a page at most, and one more room', async () => {
    const game = await listOf(Array.from({ length: 150 }, () => 600));
    const { rooms, nextCursor } = await page(game, '&limit=100');
    expect(JSON.stringify(rooms).length).toBeLessThan(48 * 1024);
    expect(rooms.length).toBeGreaterThan(45);
    expect((await page(game, `&limit=100&cursor=${nextCursor}`)).rooms.length).toBe(rooms.length);
  });

  test('brings its newest fifty to the channel', async () => {
    const watcher = await Watcher.open(service.url, `/v1/lobby/live?game=${await listOf(Array.from({ length: 60 }, () => 500))}`);
    expect((await watcher.until(() => true)).rooms).toHaveLength(50);
    await watcher.close();
  });
});
