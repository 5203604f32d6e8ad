import type { Client, Room, SeatReservation } from '@colyseus/sdk';
import { placeOf, playerId, standingText, type Move, type PlayerEvents, type Playing } from './player-moves.ts';
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

  constructor(client: Client, seat: SeatReservation, events: PlayerEvents) {
    this.opened = this.#join(client, seat, events);
  }

  move(move: Move): void {
    this.#room!.send('move', move);
    this.answered++;
  }

  seen(): number[] {
    return this.#seats().map(({ n }) => n);
  }

  standing(): string {
    return standingText(this.#seats().map(({ id, x, y, n }) => [id, n === 0 ? null : { x, y, n }]));
  }

  close(): void {
    this.#room?.connection.close();
  }

  #seats() {
    return [...this.#room!.state.players.values()].toSorted((one, other) => placeOf(one.id) - placeOf(other.id));
  }

  async #join(client: Client, seat: SeatReservation, events: PlayerEvents): Promise<void> {
    const room = await client.consumeSeatReservation(seat, SeatsState);
    this.#room = room;
    room.reconnection.enabled = false;
    room.onLeave(() => (this.isClosed = true));
    room.onDrop(() => (this.isClosed = true));
    await new Promise<void>((hasState) => {
      room.onStateChange(() => {
        this.pushes++;
        hasState();
        events.pushed(this);
      });
    });
  }
}

/** Joins all players of rooms. `ws` costs the load less than Node's own WebSocket, which Colyseus's client prefers. */
export async function joinColyseus(
  url: string,
  codes: readonly string[],
  players: number,
  events: PlayerEvents,
): Promise<ColyseusPlayer[][]> {
  Reflect.deleteProperty(globalThis, 'WebSocket');
  const { Client } = await import('@colyseus/sdk');
  const client = new Client(url);
  const rooms: ColyseusPlayer[][] = [];
  for (const code of codes) {
    const wanted = Array.from({ length: players }, (_, place) => ({ code, id: playerId(place) }));
    const { data } = await client.http.post('/seats', { body: wanted });
    const joined = (data as SeatReservation[]).map((seat) => new ColyseusPlayer(client, seat, events));
    await Promise.all(joined.map(({ opened }) => opened));
    rooms.push(joined);
  }
  return rooms;
}
