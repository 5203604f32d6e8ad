import type { Client, SeatReservation, Room } from '@colyseus/sdk';
import { monotonicMs } from '../measure/clock.ts';
import { RoomState } from './room-schema.ts';
import type { Tally, Watching } from './watching.ts';

/** A watcher that uses Colyseus's own client, which decodes every patch into its copy of the room. */
export class ColyseusWatcher implements Watching {
  readonly opened: Promise<void>;
  messages = 0;
  seq = 0;
  at = 0;
  stampMs = Number.NaN;
  faults = 0;
  isClosed = false;
  readonly #tally: Tally;
  #room: Room<unknown, RoomState> | undefined;

  /** @param paths `/v1/rooms/{code}/live`, of which only the codes are used */
  static async open(client: Client, paths: readonly string[], tally: Tally): Promise<ColyseusWatcher[]> {
    const { data } = await client.http.post('/seats', { body: paths.map((path) => path.split('/')[3]) });
    return (data as SeatReservation[]).map((seat) => new ColyseusWatcher(client, seat, tally));
  }

  private constructor(client: Client, seat: SeatReservation, tally: Tally) {
    this.#tally = tally;
    this.opened = this.#join(client, seat);
  }

  /** The client's copy of the room, as JSON. */
  state(): string {
    return JSON.stringify(this.#room?.state);
  }

  close(): void {
    this.#room?.connection.close();
  }

  async #join(client: Client, seat: SeatReservation): Promise<void> {
    const room = await client.consumeSeatReservation(seat, RoomState);
    this.#room = room;
    room.reconnection.enabled = false;
    room.onLeave(() => (this.isClosed = true));
    room.onDrop(() => (this.isClosed = true));
    await new Promise<void>((hasState) => {
      room.onStateChange((state) => {
        this.#arrived(state);
        hasState();
      });
    });
  }

  #arrived({ seq, state }: RoomState): void {
    this.messages++;
    if (seq <= this.seq) this.faults++;
    this.seq = seq;
    this.at = monotonicMs();
    this.stampMs = Number(state.at) / 1000;
    this.#tally.arrived(this, this.at);
  }
}

/** Loads Colyseus's client on first use, because its code would take memory in the processes of all other watchers. */
export async function colyseusClient(url: string): Promise<Client> {
  const { Client } = await import('@colyseus/sdk');
  return new Client(url);
}
