import { afterAll, expect, test } from 'vitest';
import { roomKeys } from '../../../src/features/rooms/model.ts';
import { LARGEST_ROOM_BYTES } from '../../../src/features/rooms/room-size.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { openFullRoom } from '../../server/full-room.ts';
import { watched } from './room.ts';

const service = await forFile(start({ settings: { ROOM_BYTES_PER_SECOND: '65536' } }));
const { redis } = service.service;
const post = async (path: string, body: object) => {
  const reply = await service.post(path, body);
  expect([path, reply.status, reply.body.error]).toEqual([path, 200, undefined]);
  return reply.body;
};
const room = await openFullRoom(post, redis, freshId());
afterAll(() => redis.del(roomKeys.room(room.code)));

const read = async () => (await service.get(`/v1/rooms/${room.code}`)).body.room;

test('the largest room is as long as the bound says, less the times and the words that it does not have yet', async () => {
  const text = JSON.stringify(await read());
  // The room has not started or ended, and has no next room. "lobby" and "host" are shorter than "playing" and "players".
  const lacking = '"startedAt":"1970-01-01T00:00:00.000Z","endedAt":"1970-01-01T00:00:00.000Z","nextCode":"BCDFG",'.length + 2 + 3;
  // The bound allows for a longer id of the host, and for "connected" and "host" that are false for every player.
  const bytes = Buffer.byteLength(text) + lacking;
  expect(bytes).toBeLessThanOrEqual(LARGEST_ROOM_BYTES);
  expect(bytes).toBeGreaterThan(LARGEST_ROOM_BYTES - 100);
});

test('the bound is below what a channel may push in a second, so that every watcher gets the room', async () => {
  expect(LARGEST_ROOM_BYTES).toBeLessThan(65_536);
  const watcher = await watched(service, room.code);
  const { room: pushed } = await watcher.until(({ type }) => type === 'room');
  expect(pushed).toEqual(await read());
  const { seq } = (await service.post(`/v1/rooms/${room.code}/ready`, { installId: room.players[63] })).body.room;
  expect((await watcher.reaches(seq)).players[63].ready).toBe(true);
});

test('in Redis the largest room takes what docs/operating.md says', async () => {
  const bytes = Number(await redis.memory('USAGE', roomKeys.room(room.code), 'SAMPLES', 0));
  expect(bytes).toBeLessThan(200_000);
});
