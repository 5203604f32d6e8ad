import { codeOf } from '../../src/features/rooms/model.ts';
import type { Measured } from '../measure/measured.ts';
import { inParallel } from './api.ts';
import type { RoomChanges } from './room-changes.ts';
import { roomDoc, stampedState } from './room-message.ts';
import { changed, plainRoom, type PlainRoom, type RoomChange } from './room-schema.ts';

/**
 * Creates rooms in a Colyseus server through its matchmaker, as a host's client does. Colyseus disposes of a room when its
 * last watcher leaves, or after 15 s without one.
 */
export async function createColyseusRooms({ url }: Measured, count: number): Promise<Map<string, PlainRoom>> {
  const rooms = Array.from({ length: count }, (_, index) => plainRoom(roomDoc(codeOf(index), 0), stampedState()));
  await inParallel(rooms, async (room) => {
    const response = await fetch(new URL('/matchmake/create/game', url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ room }),
    });
    if (!response.ok) throw new Error(`Colyseus created no room: ${response.status} ${await response.text()}`);
    await response.body?.cancel();
  });
  return new Map(rooms.map((room) => [room.code, room]));
}

/**
 * Stores each change in Redis and publishes it on a topic of Colyseus's Presence API, as another process of the same
 * application would. The topic carries only the changed fields, not the whole room.
 */
export function byPresence({ redis }: Measured, rooms: ReadonlyMap<string, PlainRoom>): RoomChanges {
  const standing = new Map(rooms);
  return {
    async change(code, dueMs) {
      const room = standing.get(code)!;
      const { updatedAt, expiresAt, stateSeq } = roomDoc(code, room.seq + 1);
      const { turn, at } = stampedState(dueMs);
      const change: RoomChange = { seq: room.seq + 1, updatedAt, expiresAt, stateSeq, state: { turn, at } };
      const next = changed(room, change);
      standing.set(code, next);
      await redis!.multi().hset(`kept:${code}`, 'room', JSON.stringify(next)).publish(`room:${code}`, JSON.stringify(change)).exec();
    },
    standing: (code) => JSON.stringify(standing.get(code)),
    close() {},
  };
}
