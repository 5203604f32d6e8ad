import { defineRoom, Room } from '@colyseus/core';
import { applyChange, roomState, type PlainRoom, type RoomChange, type RoomState } from '../load/room-schema.ts';
import { listen } from './colyseus-listen.ts';

/**
 * Colyseus 0.18, set up as its documentation says (docs.colyseus.io: /state, /room, /room/messages, /presence,
 * /deployment/scalability). A room's state is in schemas, and clients get patches every 50 ms, or as often as
 * PATCHES_PER_SECOND says. A room lives in the memory of one process. Another process of the same application changes it over
 * Redis with the Presence API, a client with a message. Only this process reserves seats, so the matchmaker stays local.
 */

const { PATCHES_PER_SECOND } = process.env;
const DEFAULT_PATCHES_PER_SECOND = 20;

class GameRoom extends Room<{ state: RoomState }> {
  override patchRate = 1000 / Number(PATCHES_PER_SECOND ?? DEFAULT_PATCHES_PER_SECOND);
  override messages = {
    change: (_client: unknown, state: RoomChange['state']): boolean => {
      const now = Date.now();
      const updatedAt = new Date(now).toISOString();
      const expiresAt = new Date(now + ROOM_TTL_MS).toISOString();
      const seq = this.state.seq + 1;
      applyChange(this.state, { seq, updatedAt, expiresAt, stateSeq: seq, state });
      return true;
    },
    standing: (): string => JSON.stringify(this.state),
  };

  override async onCreate({ room }: { room: PlainRoom }): Promise<void> {
    this.roomId = room.code;
    this.state = roomState(room);
    await this.presence.subscribe(`room:${room.code}`, (change: RoomChange) => applyChange(this.state, change));
  }
}

const ROOM_TTL_MS = 7_200_000;

await listen({ game: defineRoom(GameRoom) });
