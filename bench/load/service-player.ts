import { placeOf, standingText, type Move, type PlayerEvents, type Playing } from './player-moves.ts';
import type { Posts } from './posts.ts';
import { RoomCopy } from './room-copy.ts';
import { plainOffsets } from './room-message.ts';
import type { Packing } from './room-protocols.ts';
import { Watcher } from './watcher.ts';

type Players = readonly { readonly id: string; readonly data: Move | null }[];

interface Room {
  readonly seq: number;
  readonly players: Players;
}

/** A player of the service with a channel, who acts over the channel or over HTTP. */
export class ServicePlayer implements Playing {
  readonly opened: Promise<void>;
  pushes = 0;
  answered = 0;
  readonly refusals: string[] = [];
  readonly #watcher: Watcher;
  readonly #events: PlayerEvents;
  readonly #http: { readonly posts: Posts; readonly path: string; readonly installId: string } | undefined;
  readonly #copy = new RoomCopy<Room>();
  #order = 0;

  /** @param how whether the player asks for patches, and the connections on which it acts, where that is over HTTP */
  constructor(url: URL, code: string, installId: string, events: PlayerEvents, how: { takesPatches: boolean; posts: Posts | undefined }) {
    const { takesPatches, posts } = how;
    this.#events = events;
    this.#http = posts && { posts, path: `/v1/rooms/${code}/data`, installId };
    const packing: Packing = {
      offsets: plainOffsets,
      greeting: JSON.stringify({ type: 'hello', installId, tab: TAB }),
      isState: (bytes, start) => bytes[start + TYPE_AT] === ROOM,
      answer: (message) => this.#heard(message),
      isWelcome: (message) => message.startsWith('{"type":"welcome"'),
      keep: (bytes, start, end) => this.#copy.keep(bytes, start, end),
    };
    const arrived = (): void => {
      this.pushes++;
      events.pushed(this);
    };
    this.#watcher = new Watcher(url, `/v1/rooms/${code}/live${takesPatches ? '?patch=1' : ''}`, packing, { arrived });
    this.opened = this.#watcher.opened;
  }

  get faults(): number {
    return this.#watcher.faults + this.#copy.faults;
  }

  get isClosed(): boolean {
    return this.#watcher.isClosed;
  }

  get localPort(): number | undefined {
    return this.#watcher.localPort;
  }

  move(data: Move): void {
    const order = ++this.#order;
    if (this.#http === undefined)
      return this.#watcher.send(`{"type":"act","order":${order},"action":"data","data":${JSON.stringify(data)}}`);
    const { posts, path, installId } = this.#http;
    posts.post(path, { installId, order, tab: TAB, data }).then(
      () => this.#answered(),
      (error: Error) => this.refusals.push(error.message),
    );
  }

  seen(): number[] {
    return this.#players().map(({ data }) => data?.n ?? 0);
  }

  standing(): string {
    return standingText(this.#players().map(({ id, data }) => [id, data]));
  }

  close(): void {
    this.#watcher.close();
  }

  #players(): Players {
    return this.#copy.room.players.toSorted((one, other) => placeOf(one.id) - placeOf(other.id));
  }

  #answered(): void {
    this.answered++;
    this.#events.answered();
  }

  #heard(message: string): undefined {
    if (message.startsWith('{"type":"welcome"')) return;
    if (message.startsWith('{"type":"patch"')) {
      this.#copy.patch(message);
      this.pushes++;
      return this.#events.pushed(this) as undefined;
    }
    if (message.startsWith('{"type":"acted"')) this.#answered();
    if (!message.startsWith('{"type":"acted"') || message.includes('"error"') || message.includes('"replayed"'))
      this.refusals.push(message);
  }
}

const TAB = 'bench';
const TYPE_AT = '{"type":"'.length;
const ROOM = 'r'.charCodeAt(0);
