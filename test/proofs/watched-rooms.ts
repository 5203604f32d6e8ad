import { isDeepStrictEqual } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import { Watcher, type Message } from '../realtime/watcher.ts';
import { seeded } from '../seeded.ts';
import { Client, inParallel, sum, times } from './client.ts';
import { now, within } from './history.ts';
import type { Load } from './scenario.ts';

export interface RoomsOptions {
  /** Base URLs of the services. Each request and each channel goes to one of them at random. */
  readonly urls: () => readonly string[];
  readonly rooms: number;
  readonly watchersPerRoom: number;
  /** Default: without end. */
  readonly acts?: number;
  /** Acts a second. Default: as fast as the service takes them. */
  readonly perSecond?: number;
  /** The share of acts after which a watcher of the room closes its channel and opens another one. Default: none. */
  readonly reconnects?: number;
  /** Close codes that channels may get from the service, each watcher once from each process. */
  readonly codes?: readonly number[];
}

interface Room {
  readonly code: string;
  /** The first one is the host. */
  readonly installs: readonly string[];
  readonly viewers: readonly Viewer[];
}

/** Acts under way at a time. */
const ACTORS = 24;
const AT_ONCE = 40;
const AGAIN_MS = 200;

/** A service compares what it sent with Redis every 3 s. */
const SETTLED_WITHIN_MS = 30_000;

/** Watches a room over one channel after another, sometimes as one of its players. */
class Viewer {
  readonly channels: Watcher[] = [];
  /** By the service. */
  readonly closes: { readonly code: number; readonly url: string }[] = [];
  readonly #open: (url: string) => Promise<Watcher>;
  readonly #url: () => string;
  #isOver = false;
  #isLeaving = false;

  /** @param url base URL of a service, another one for each channel */
  constructor(url: () => string, open: (url: string) => Promise<Watcher>) {
    [this.#url, this.#open] = [url, open];
  }

  /** The latest state of the present channel. */
  get room(): Message {
    return this.channels.at(-1)!.last?.room;
  }

  /** Resolves when a channel is open. When that one is closed, another one follows. */
  async open(): Promise<void> {
    const url = this.#url();
    const channel = await this.#open(url);
    this.channels.push(channel);
    void channel.closed.then(({ code }) => this.#openAgain(code, url));
  }

  async #openAgain(code: number, url: string): Promise<void> {
    if (this.#isOver) return;
    if (!this.#isLeaving) this.closes.push({ code, url });
    this.#isLeaving = false;
    // An upgrade is refused while the room's primary is down.
    const isOpen = (): Promise<boolean> =>
      this.open().then(
        () => true,
        () => false,
      );
    while (!this.#isOver && !(await isOpen())) await delay(AGAIN_MS);
  }

  /** Closes the channel, and opens another one. */
  async reconnect(): Promise<void> {
    if (this.#isLeaving) return;
    const count = this.channels.length;
    this.#isLeaving = true;
    await this.channels.at(-1)!.close();
    while (this.channels.length === count && !this.#isOver) await delay(5);
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.channels.at(-1)?.close();
  }
}

/** Acts at random in rooms over several processes, while watchers connect and disconnect. At the end all have what Redis has. */
export class WatchedRooms implements Load {
  done = 0;
  refused = 0;
  reconnects = 0;
  readonly rooms: Room[] = [];
  readonly #options: RoomsOptions;
  readonly #client: Client;
  readonly #random = seeded(3);
  #internal = 0;

  static async open(options: RoomsOptions): Promise<WatchedRooms> {
    const load = new WatchedRooms(options);
    await inParallel(Array.from({ length: options.rooms }).keys(), (index) => load.#openRoom(index), AT_ONCE / 4);
    return load;
  }

  private constructor(options: RoomsOptions) {
    this.#options = options;
    this.#client = new Client(() => this.#pick(options.urls()));
  }

  get viewers(): Viewer[] {
    return this.rooms.flatMap(({ viewers }) => viewers);
  }

  get keys(): string[] {
    return this.rooms.map(({ code }) => `{room:${code}}`);
  }

  async run(isOver: () => boolean): Promise<void> {
    const { acts = Infinity, perSecond = Infinity, reconnects = 0 } = this.#options;
    const startedAt = now();
    let sent = 0;
    const actor = async (): Promise<void> => {
      while (sent < acts && !isOver()) {
        if (sent >= ((now() - startedAt) / 1000) * perSecond) {
          await delay(5);
          continue;
        }
        sent++;
        const room = this.#pick(this.rooms);
        await this.#act(room);
        if (this.#random() >= reconnects) continue;
        await this.#pick(room.viewers).reconnect();
        this.reconnects++;
      }
    };
    await Promise.all(times(ACTORS, actor));
  }

  async compare(): Promise<Record<string, number>> {
    const { codes = [] } = this.#options;
    const differing = await Promise.all(this.rooms.map((room) => this.#differs(room)));
    const channels = this.viewers.flatMap((viewer) => viewer.channels);
    const closes = this.viewers.flatMap((viewer) => viewer.closes);
    const isTwice = (own: Viewer['closes']): boolean => new Set(own.map(({ url }) => url)).size < own.length;
    for (const fault of channels.flatMap(({ faults }) => faults).slice(0, 5)) console.log(`    ${fault}`);
    const found = {
      'rooms that differ between Redis, processes and watchers': differing.filter(Boolean).length,
      'states repeated or older': sum(channels.map(({ faults }) => faults.length)),
      'channels closed with another code': closes.filter(({ code }) => !codes.includes(code)).length,
      // After a failover each process notices for itself that a room went back. A watcher may meet both.
      'watchers that a process closed more than once': this.viewers.filter((viewer) => isTwice(viewer.closes)).length,
      'answers of 500 and above': this.#internal,
    };
    await Promise.all(this.viewers.map((viewer) => viewer.close()));
    this.#client.close();
    return found;
  }

  /** Sets a state in every room, and waits until all watchers have it. @returns how many of them have not */
  async behind(state: unknown, withinMs: number): Promise<number> {
    await Promise.all(
      this.rooms.map(({ code, installs }) => this.#client.need(`/v1/rooms/${code}/state`, { installId: installs[0], state })),
    );
    const behind = (): number => this.viewers.filter(({ room }) => !isDeepStrictEqual(room?.state, state)).length;
    await within(withinMs, () => behind() === 0);
    return behind();
  }

  async #openRoom(index: number): Promise<void> {
    const host = `room-host-${process.pid}-${Math.floor(this.#random() * 1e9)}-${index}`;
    const { room } = await this.#client.need('/v1/rooms', { installId: host, maxPlayers: 64 });
    const installs = [host, ...times(5, (guest) => `${host}-guest-${guest}`)];
    const open = async (url: string): Promise<Watcher> => {
      const watcher = await Watcher.open(url, `/v1/rooms/${room.code}/live`);
      if (this.#random() < 0.3) watcher.send({ type: 'hello', installId: this.#pick(installs) });
      return watcher;
    };
    const viewers = times(this.#options.watchersPerRoom, () => new Viewer(() => this.#pick(this.#options.urls()), open));
    await inParallel(viewers, (viewer) => viewer.open(), AT_ONCE);
    this.rooms.push({ code: room.code, installs, viewers });
  }

  async #act({ code, installs }: Room): Promise<void> {
    const isHost = this.#random() < 0.5;
    // The host stays, so that no room ends.
    const actions = isHost ? 'state state state lock unlock ready unready' : 'join join leave ready unready';
    const action = this.#pick(actions.split(' '));
    const installId = isHost ? installs[0] : this.#pick(installs.slice(1));
    const state = action === 'state' ? { value: this.#random(), text: 'x'.repeat(Math.floor(this.#random() * 400)) } : undefined;
    const { status } = await this.#client.post(`/v1/rooms/${code}/${action}`, { installId, state });
    if (status === 0 || status >= 500) this.#internal++;
    // A refusal, such as that of a locked room, is a result.
    if (status === 200) this.done++;
    else this.refused++;
  }

  /** Hellos still under way may change a room after the last act, so this waits until the room is at rest. */
  async #differs({ code, viewers }: Room): Promise<boolean> {
    let seen: Message[] = [];
    const read = async (url: string): Promise<Message> => ((await (await fetch(`${url}/v1/rooms/${code}`)).json()) as Message).room;
    const isAtRest = async (): Promise<boolean> => {
      seen = [...(await Promise.all(this.#options.urls().map(read))), ...viewers.map(({ room }) => room)];
      return seen.every((room) => isDeepStrictEqual(room, seen[0]));
    };
    if (await within(SETTLED_WITHIN_MS, isAtRest)) return false;
    console.log(`    room ${code}: seqs ${seen.map((room) => room?.seq).join(' ')}`);
    return true;
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#random() * items.length)]!;
  }
}
