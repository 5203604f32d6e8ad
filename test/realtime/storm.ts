import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually, Watcher, type Message } from './watcher.ts';
import { seeded } from '../seeded.ts';

export interface StormOptions {
  /** Base URLs of the services. Each request and each watcher goes to a random one. */
  readonly urls: readonly string[];
  readonly rooms: number;
  readonly watchersPerRoom: number;
  readonly actions: number;
  /** Actions under way at a time. */
  readonly actors: number;
  readonly seed: number;
  /** Called once, after half of the actions. */
  readonly halfway?: () => Promise<void>;
}

export interface StormFigures {
  actions: number;
  sockets: number;
  messages: number;
  reconnects: number;
  /** Milliseconds from the last action until every watcher had the final state. */
  settledMs: number;
}

interface StormRoom {
  readonly code: string;
  readonly installs: string[];
}

/** Watches a room over one socket after another, sometimes as one of its players. */
class Viewer {
  readonly sockets: Watcher[] = [];
  readonly #room: StormRoom;
  readonly #urls: readonly string[];
  readonly #random: () => number;
  watcher!: Watcher;

  constructor(room: StormRoom, urls: readonly string[], random: () => number) {
    this.#room = room;
    this.#urls = urls;
    this.#random = random;
  }

  async connect(): Promise<void> {
    this.watcher = await Watcher.open(pick(this.#urls, this.#random), `/v1/rooms/${this.#room.code}/live`);
    this.sockets.push(this.watcher);
    if (this.#random() < 0.3) this.watcher.send({ type: 'hello', installId: pick(this.#room.installs, this.#random) });
  }

  async reconnect(): Promise<void> {
    await this.watcher.close();
    await this.connect();
  }
}

/**
 * Acts at random in rooms on several processes, while watchers connect and disconnect.
 * @throws AssertionError if a watcher's last state differs from the state in Redis, as read by any of the processes, or if a socket
 * got a state twice or out of order
 */
export async function storm({ urls, rooms, watchersPerRoom, actions, actors, seed, halfway }: StormOptions): Promise<StormFigures> {
  const random = seeded(seed);
  const all = await Promise.all(Array.from({ length: rooms }, (_, index) => openRoom(pick(urls, random), `${seed}-${index}`)));
  const viewers = all.map((room) => Array.from({ length: watchersPerRoom }, () => new Viewer(room, urls, random)));
  for (const ofRoom of viewers) await Promise.all(ofRoom.map((viewer) => viewer.connect()));

  let left = actions;
  let reconnects = 0;
  let interlude: Promise<void> | undefined;
  const busy = new Set<Viewer>();
  const actor = async (): Promise<void> => {
    while (left-- > 0) {
      const index = Math.floor(random() * rooms);
      await act(pick(urls, random), all[index]!, random);
      if (left < actions / 2) interlude ??= halfway?.() ?? Promise.resolve();
      const viewer = pick(viewers[index]!, random);
      if (random() > 0.15 || busy.has(viewer)) continue;
      busy.add(viewer);
      await viewer.reconnect();
      busy.delete(viewer);
      reconnects++;
    }
  };
  await Promise.all(Array.from({ length: actors }, actor));
  await interlude;

  const settledAt = performance.now();
  const sockets = viewers.flat().flatMap((viewer) => viewer.sockets);
  await Promise.all(all.map(({ code }, index) => expectEqualStates(urls, code, viewers[index]!)));
  const settledMs = performance.now() - settledAt;
  for (const socket of sockets) assert.deepEqual(socket.faults, []);
  await Promise.all(viewers.flat().map((viewer) => viewer.watcher.close()));
  return {
    actions,
    sockets: sockets.length,
    messages: sockets.reduce((sum, { messages }) => sum + messages.length, 0),
    reconnects,
    settledMs,
  };
}

/** Hellos still under way may change a room after the last action, so this waits until the room is at rest. */
async function expectEqualStates(urls: readonly string[], code: string, viewers: Viewer[]): Promise<void> {
  let seen: Message[] = [];
  const isAtRest = async (): Promise<boolean> => {
    const ofAll = await Promise.all(urls.map((url) => read(url, code)));
    seen = [...ofAll, ...viewers.map(({ watcher }) => watcher.last?.room)];
    return seen.every((room) => isDeepStrictEqual(room, seen[0]));
  };
  await eventually(isAtRest, 30_000).catch(() => {});
  for (const room of seen) assert.deepEqual(room, seen[0]);
}

async function openRoom(url: string, name: string): Promise<StormRoom> {
  const host = `storm-host-${name}`;
  const { room } = await post(url, '/v1/rooms', { installId: host, maxPlayers: 64 });
  return { code: room.code, installs: [host, ...Array.from({ length: 5 }, (_, index) => `storm-guest-${name}-${index}`)] };
}

const guestActions = ['join', 'join', 'leave', 'ready', 'unready'];

async function act(url: string, { code, installs }: StormRoom, random: () => number): Promise<void> {
  const isHost = random() < 0.5;
  const action = isHost ? pick(['state', 'state', 'state', 'lock', 'unlock', 'ready', 'unready'], random) : pick(guestActions, random);
  // The host stays, so that no room ends.
  const installId = isHost ? installs[0] : pick(installs.slice(1), random);
  const state = action === 'state' ? { value: random(), text: 'x'.repeat(Math.floor(random() * 400)) } : undefined;
  await post(url, `/v1/rooms/${code}/${action}`, { installId, state });
}

/** @throws Error on a status of 500 and above; a refusal, such as that of a locked room, is a result */
export async function post(url: string, path: string, body: object): Promise<Message> {
  const response = await fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const text = await response.text();
  if (response.status >= 500) throw new Error(`${path}: ${text}`);
  return JSON.parse(text) as Message;
}

export async function read(url: string, code: string): Promise<Message> {
  const response = await fetch(`${url}/v1/rooms/${code}`);
  return ((await response.json()) as Message).room;
}

function pick<Item>(items: readonly Item[], random: () => number): Item {
  return items[Math.floor(random() * items.length)]!;
}

/**
 * Kills every connection of a subscriber every 5 ms for this long.
 * @returns how many it killed
 */
export async function cutSubscribers(
  redis: { client(subcommand: 'LIST'): Promise<unknown>; call(command: string, ...args: string[]): Promise<unknown> },
  forMs: number,
): Promise<number> {
  const until = performance.now() + forMs;
  let cuts = 0;
  while (performance.now() < until) {
    for (const line of String(await redis.client('LIST')).split('\n')) {
      if (!line.includes('name=coinop-subscriber')) continue;
      await redis.call('CLIENT', 'KILL', 'ID', /^id=(\d+)/.exec(line)![1]!);
      cuts++;
    }
    await delay(5);
  }
  return cuts;
}
