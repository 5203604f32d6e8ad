import { defineRoom, Room, type Client } from '@colyseus/core';
import type { Move } from '../load/player-moves.ts';
import { Seat, SeatsState } from '../load/seats-schema.ts';
import { listen } from './colyseus-listen.ts';

/**
 * Colyseus 0.18 with rooms whose players each change their own data, as its documentation says (docs.colyseus.io: /state, /room,
 * /room/messages): players in a map of schemas by session, one message type, patches as often as PATCH_MILLISECONDS says.
 */

const { PATCH_MILLISECONDS } = process.env;

class SeatsRoom extends Room<{ state: SeatsState }> {
  override patchRate = Number(PATCH_MILLISECONDS);
  override state = new SeatsState();
  override messages = {
    move: (client: Client, { x, y, n }: Move): void => {
      const seat = this.state.players.get(client.sessionId)!;
      seat.x = x;
      seat.y = y;
      seat.n = n;
    },
  };

  override onCreate({ code }: { code: string }): void {
    this.roomId = code;
    this.state.code = code;
  }

  override onJoin(client: Client, { id }: { id: string }): void {
    this.state.players.set(client.sessionId, new Seat().assign({ id, x: 0, y: 0, n: 0 }));
  }

  override onLeave(client: Client): void {
    this.state.players.delete(client.sessionId);
  }
}

await listen({ seats: defineRoom(SeatsRoom) });
