import type { Client, Room, SeatReservation } from '@colyseus/sdk';
import { playerId, PLAYERS_A_ROOM, type Move, type OnPush, type Playing } from './player-moves.ts';
import { SeatsState } from './seats-schema.ts';

/** A player that uses Colyseus's own client, which decodes every patch into its copy of the room. */
export class ColyseusPlayer implements Playing {
  readonly opened: Promise<void>;
  pushes = 0;
  /** Colyseus does not answer messages. */
  answered = 0;
  readonly refusals: string[] = [];
  readonly faults = 0;
  isClosed = false;
  #room: Room<unknown, SeatsState> | undefined;

  constructor(client: Client, seat: SeatReservation, onPush: OnPush) {
    this.opened = this.#join(client, seat, onPush);
  }

  move(move: Move): void {
    this.#room!.send('move', move);
    this.answered++;
  }

  seen(): number[] {
    const seen = Array.from({ length: PLAYERS_A_ROOM }, () => 0);
    for (const { id, n = 0 } of this.#room!.state.players.values()) seen[Number(id.slice(1)) - 1] = n;
    return seen;
  }

  standing(): string {
    const players = [...this.#room!.state.players.values()].map(({ id, x, y, n }) => [id, { x, y, n }] as const);
    return JSON.stringify(players.toSorted(([one], [other]) => one.localeCompare(other)));
  }

  close(): void {
    this.#room?.connection.close();
  }

  async #join(client: Client, seat: SeatReservation, onPush: OnPush): Promise<void> {
    const room = await client.consumeSeatReservation(seat, SeatsState);
    this.#room = room;
    room.reconnection.enabled = false;
    room.onLeave(() => (this.isClosed = true));
    room.onDrop(() => (this.isClosed = true));
    await new Promise<void>((hasState) => {
      room.onStateChange(() => {
        this.pushes++;
        hasState();
        onPush(this);
      });
    });
  }
}

/** Joins all players of rooms. `ws` costs the load less than Node's own WebSocket, which Colyseus's client prefers. */
export async function joinColyseus(url: string, codes: readonly string[], onPush: OnPush): Promise<ColyseusPlayer[][]> {
  Reflect.deleteProperty(globalThis, 'WebSocket');
  const { Client } = await import('@colyseus/sdk');
  const client = new Client(url);
  const rooms: ColyseusPlayer[][] = [];
  for (const code of codes) {
    const wanted = Array.from({ length: PLAYERS_A_ROOM }, (_, place) => ({ code, id: playerId(place) }));
    const { data } = await client.http.post('/seats', { body: wanted });
    const players = (data as SeatReservation[]).map((seat) => new ColyseusPlayer(client, seat, onPush));
    await Promise.all(players.map(({ opened }) => opened));
    rooms.push(players);
  }
  return rooms;
}
