import { playerId, PLAYERS_A_ROOM, type Move, type OnPush, type Playing } from './player-moves.ts';
import { plainOffsets } from './room-message.ts';
import type { Packing } from './room-protocols.ts';
import { Watcher } from './watcher.ts';

/** A player of the service, who acts over the room's channel. */
export class ServicePlayer implements Playing {
  readonly opened: Promise<void>;
  pushes = 0;
  answered = 0;
  readonly refusals: string[] = [];
  readonly #watcher: Watcher;
  /** The last state. It is parsed only when somebody asks: parsing each would cost more than the service does. */
  #state = Buffer.alloc(8 * 1024);
  #length = 0;
  #order = 0;

  /** @param onPush called with every state */
  constructor(url: URL, code: string, installId: string, onPush: OnPush) {
    const packing: Packing = {
      offsets: plainOffsets,
      greeting: JSON.stringify({ type: 'hello', installId, tab: 'bench' }),
      isState: (bytes, start) => bytes[start + TYPE_AT] === ROOM,
      answer: (message) => this.#heard(message),
      isWelcome: (message) => message.startsWith('{"type":"welcome"'),
      keep: (bytes, start, end) => this.#keep(bytes, start, end),
    };
    const arrived = (): void => {
      this.pushes++;
      onPush(this);
    };
    this.#watcher = new Watcher(url, `/v1/rooms/${code}/live`, packing, { arrived });
    this.opened = this.#watcher.opened;
  }

  get faults(): number {
    return this.#watcher.faults;
  }

  get isClosed(): boolean {
    return this.#watcher.isClosed;
  }

  get localPort(): number | undefined {
    return this.#watcher.localPort;
  }

  move(data: Move): void {
    this.#watcher.send(`{"type":"act","order":${++this.#order},"action":"data","data":${JSON.stringify(data)}}`);
  }

  seen(): number[] {
    const players = new Map(this.#players().map(({ id, data }) => [id, data?.n ?? 0]));
    return Array.from({ length: PLAYERS_A_ROOM }, (_, place) => players.get(playerId(place)) ?? 0);
  }

  standing(): string {
    return JSON.stringify(this.#players().map(({ id, data }) => [id, data]));
  }

  close(): void {
    this.#watcher.close();
  }

  #players(): { id: string; data: Move | null }[] {
    const { room } = JSON.parse(this.#state.toString('utf8', 0, this.#length)) as {
      room: { players: { id: string; data: Move | null }[] };
    };
    return room.players;
  }

  #keep(bytes: Buffer, start: number, end: number): void {
    if (end - start > this.#state.length) this.#state = Buffer.alloc(2 * (end - start));
    this.#length = bytes.copy(this.#state, 0, start, end);
  }

  #heard(message: string): undefined {
    if (!message.startsWith('{"type":"acted"')) return void (message.startsWith('{"type":"welcome"') || this.refusals.push(message));
    this.answered++;
    if (message.includes('"error"') || message.includes('"replayed"')) this.refusals.push(message);
  }
}

const TYPE_AT = '{"type":"'.length;
const ROOM = 'r'.charCodeAt(0);
