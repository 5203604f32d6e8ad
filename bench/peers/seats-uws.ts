import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { roomKeys } from '../../src/features/rooms/model.ts';
import { ScriptLink } from '../../src/redis/script-link.ts';
import { Subscriber } from '../../src/redis/subscriber.ts';
import { uws, type WebSocket } from '../../src/server/uws.ts';
import { playerId } from '../load/player-moves.ts';
import { ready } from '../processes/parent.ts';
import { CHANNEL, upgrade } from './uws-channel.ts';

/**
 * A floor for rooms whose players change their own data: the system calls alone, with nothing checked and nothing kept exactly once. Frames
 * come in. As often as the service pushes a room, one EVALSHA writes all changes since the last push, and publishes them. The message comes
 * back on a subscription, and uWS sends the same frames as the service: a patch to each player, and in the same write `acted` to each actor.
 */

const { REDIS_SOCKET, PATCH_MILLISECONDS, PLAYERS } = process.env;
const PUSH_INTERVAL_MS = Number(PATCH_MILLISECONDS);

const WRITE = `redis.call('HSET', KEYS[1], unpack(ARGV, 2)) redis.call('PEXPIRE', KEYS[1], 7200000) redis.call('PUBLISH', KEYS[1], ARGV[1])`;

const redis = new Redis({ path: REDIS_SOCKET! });
const [link, subscriber] = [new ScriptLink(redis), new Subscriber(redis)];
await redis.script('LOAD', WRITE);
await Promise.all([link.opened(), subscriber.opened()]);
const sha = createHash('sha1').update(WRITE).digest('hex');

interface Player {
  readonly room: Room;
  place: number;
}

interface Change {
  readonly socket: WebSocket<Player>;
  readonly order: string;
  readonly data: string;
}

const app = uws.App();

class Room {
  readonly key: string;
  /** The players' data, as JSON texts by their places. */
  readonly #data: readonly string[] = Array.from({ length: Number(PLAYERS) }, () => 'null');
  #seq = 1;
  /** When the next push may go out, on the clock of `performance.now()`. */
  #mayPushAt = 0;
  #waiting: Change[] = [];
  #written: Change[] = [];
  #isDue = false;

  constructor(key: string) {
    this.key = key;
  }

  text(): string {
    const players = this.#data.map((data, place) => `{"id":"${playerId(place)}","data":${data}}`);
    return `{"type":"room","seq":${this.#seq},"room":{"players":[${players.join(',')}],"seq":${this.#seq}}}`;
  }

  take(change: Change): void {
    this.#waiting.push(change);
    // While the last changes are being written, the next ones are collected.
    if (this.#written.length === 0) this.#schedule();
  }

  #schedule(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    const waitMs = Math.ceil(this.#mayPushAt - performance.now());
    if (waitMs > 0) setTimeout(() => leave(this), waitMs);
    else leave(this);
  }

  write(): void {
    this.#isDue = false;
    this.#written = this.#waiting;
    this.#waiting = [];
    const from = this.#seq;
    const now = Date.now();
    this.#seq += this.#written.length;
    const changed = new Map<number, string>();
    for (const { socket, data } of this.#written) changed.set(socket.getUserData().place, data);
    const fields: string[] = ['seq', String(this.#seq), 'updatedAt', String(now)];
    let ops = '';
    for (const [place, data] of changed) {
      fields.push(`${playerId(place)}.data`, data);
      ops += `,{"op":"replace","path":"/players/${place}/data","value":${data}}`;
    }
    for (const { socket, order } of this.#written) fields.push(`${playerId(socket.getUserData().place)}:tabs`, `${order} bench`);
    const times = ['updatedAt', 'expiresAt'].map((name) => `{"op":"replace","path":"/${name}","value":"${new Date(now).toISOString()}"}`);
    const patch =
      `{"type":"patch","seq":${this.#seq},"from":${from},"ops":[{"op":"replace","path":"/seq","value":${this.#seq}},` +
      `${times.join(',')}${ops}]}`;
    void link.call('EVALSHA', [sha, 1, this.key, patch, ...fields]);
  }

  published(patch: string): void {
    app.publish(this.key, patch);
    for (const { socket, order } of this.#written)
      app.publish(ownTopic(socket.getUserData()), `{"type":"acted","order":${order},"seq":${this.#seq}}`);
    this.#written = [];
    this.#mayPushAt = performance.now() + PUSH_INTERVAL_MS;
    if (this.#waiting.length > 0) this.#schedule();
  }
}

/** The rooms that are due in this turn of the event loop: all of their commands leave in one write. */
let leaving: Room[] = [];

function leave(late: Room): void {
  if (leaving.push(late) > 1) return;
  setImmediate(() => {
    const due = leaving;
    leaving = [];
    for (const room of due) room.write();
  });
}

function ownTopic({ room, place }: Player): string {
  return `${room.key}${place}`;
}

const rooms = new Map<string, Room>();
subscriber.on('message', (channel, message) => rooms.get(channel)?.published(message));

/** An act of the load. */
const ACT = /^\{"type":"act","order":(\d+),"action":"data","data":(.*)\}$/;

app.ws<Player>('/v1/rooms/:code/live', {
  ...CHANNEL,
  upgrade(response, request, context) {
    const key = roomKeys.room(request.getParameter(0));
    let room = rooms.get(key);
    if (room === undefined) {
      rooms.set(key, (room = new Room(key)));
      void subscriber.subscribe(key);
    }
    upgrade({ room, place: -1 }, response, request, context);
  },
  open() {},
  message(socket, bytes) {
    const text = Buffer.from(bytes).toString();
    const player = socket.getUserData();
    const { room } = player;
    const [, order, data] = ACT.exec(text) ?? [];
    if (order !== undefined) return room.take({ socket, order, data: data! });
    // A hello names the place in its installId.
    player.place = Number(/-(\d+)"/.exec(text)![1]);
    socket.subscribe(room.key);
    socket.subscribe(ownTopic(player));
    socket.send(room.text());
    socket.send('{"type":"welcome"}');
  },
  dropped() {},
  drain() {},
  close() {},
});

app.listen('127.0.0.1', 0, 0, (listening) => {
  if (listening === false) throw new Error('cannot listen');
  ready({ port: uws.us_socket_local_port(listening) });
});
