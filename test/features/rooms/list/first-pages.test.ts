import { expect, test } from 'vitest';
import { listKeys } from '../../../../src/features/rooms/list/list-model.ts';
import { forFile, freshId, start } from '../../../harness.ts';
import { open } from '../room.ts';

const here = await forFile(start());
const there = await forFile(start());

const read = async (game: string, more = '', at = here) => (await at.get(`/v1/rooms?game=${game}${more}`)).body;
const tagsOf = async (game: string, more = '') => (await read(game, more)).rooms.map(({ tags }: { tags: { n: number } }) => tags.n);

/** A list with one room for a minute, written by hand. `write` only writes its tag; `change` also notifies readers. */
async function listOfOne() {
  const game = freshId('game').toLowerCase();
  const { order, untils, rooms, version } = listKeys(game);
  const { redis } = here.service;
  const entry = '1700000000000BBBBB';
  const write = (n: number) => redis.hset(rooms, entry, `1 1 4 ${game} {"n":${n}}`);
  const change = (to: string) => redis.set(version, to);
  await redis.zadd(order, 0, entry);
  await redis.zadd(untils, here.now() + 60_000, entry);
  await write(1);
  await change('first');
  return { game, write, change };
}

test('a list whose version has not changed is not read again, and one that has changed is', async () => {
  const { game, write, change } = await listOfOne();
  expect(await tagsOf(game)).toEqual([1]);
  await write(2);
  expect(await tagsOf(game)).toEqual([1]);
  // Other pages of the same list are cached separately.
  expect(await tagsOf(game, '&limit=5')).toEqual([2]);
  expect(await tagsOf(game, '&tag.n=2')).toEqual([2]);
  expect(await tagsOf(game, '&tag.n=1')).toEqual([]);
  expect(await tagsOf(game, '&cursor=9999999999999ZZZZZ')).toEqual([2]);
  await change('second');
  expect(await tagsOf(game)).toEqual([2]);
});

test('a request after the answer of a change by another process has the change, however often the list was read', async () => {
  const game = freshId('game').toLowerCase();
  const room = await open(here, { game, public: true, maxPlayers: 4 });
  await expect.poll(async () => (await read(game)).rooms).toHaveLength(1);
  for (let seats = 2; seats < 4; seats++) {
    expect((await read(game)).rooms[0].players).toBe(seats - 1);
    await there.post(`/v1/rooms/${room.code}/join`, { installId: freshId() });
    // The write of the list follows the answer of the join, on the same connection as the next request of that process.
    expect((await read(game, '', there)).rooms[0].players).toBe(seats);
    expect((await read(game)).rooms[0].players).toBe(seats);
  }
});

test('an expired room leaves a cached page without a change of the list', async () => {
  await using own = await start({ stoppedClock: true });
  const game = freshId('game').toLowerCase();
  await open(own, { game, public: true });
  await expect.poll(async () => (await read(game, '', own)).rooms).toHaveLength(1);
  const { version } = listKeys(game);
  const before = await own.service.redis.get(version);
  own.advance(14_900);
  expect((await read(game, '', own)).rooms).toHaveLength(1);
  own.advance(200);
  expect(await read(game, '', own)).toEqual({ ok: true, rooms: [] });
  expect(await own.service.redis.get(version)).toBe(before);
});
