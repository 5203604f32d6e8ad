import { createAdapter } from '@socket.io/redis-adapter';
import { Redis } from 'ioredis';
import { Server } from 'socket.io';
import { actInRoom } from '../../src/features/rooms/act.ts';
import type { Measured } from '../measure/measured.ts';
import { Api, inParallel } from './api.ts';
import { directCaller } from './direct.ts';
import { Posts } from './posts.ts';
import { roomDoc, roomMessage, stampedState } from './room-message.ts';

/** Changes rooms from outside the process that serves their watchers, as another process of the same application would. */
export interface RoomChanges {
  /** Resolves once the change is stored, which may be before watchers receive it. Rejects when the change is refused. */
  change(code: string, dueMs: number): Promise<void>;
  /** The room after the last change, as JSON; for servers that send patches, to compare with the copies of the watchers. */
  standing?(code: string): string;
  close(): void;
}

/** The installId of each room's host, by room code. */
export type RoomHosts = ReadonlyMap<string, string>;

/** Runs the script of `POST /v1/rooms/{code}/state` without HTTP. The service receives the change over Redis Pub/Sub. */
export function byScript({ redis, cluster }: Measured, hosts: RoomHosts): RoomChanges {
  const calling = directCaller((redis ?? cluster)!);
  return {
    async change(code, dueMs) {
      const state = JSON.stringify(stampedState(dueMs));
      const call = await calling;
      await call(actInRoom, { installId: hosts.get(code)!, params: { code, action: 'state' }, body: { state } });
    },
    close() {},
  };
}

/** Sends `POST /v1/rooms/{code}/state`; for a service whose Redis the bench cannot reach. */
export async function byRequest({ url }: Measured, hosts: RoomHosts, connections = 32): Promise<RoomChanges> {
  const posts = await Posts.open(url, connections);
  return {
    change: (code, dueMs) => posts.post(`/v1/rooms/${code}/state`, { installId: hosts.get(code), state: stampedState(dueMs) }),
    close: () => posts.close(),
  };
}

/** Stores the watchers' message in Redis and publishes it, in one transaction. */
export function byPublishing({ redis }: Measured): RoomChanges {
  const next = messages();
  return {
    async change(code, dueMs) {
      const message = next(code, dueMs);
      await redis!.multi().hset(`kept:${code}`, 'room', message).publish(`room:${code}`, message).exec();
    },
    close() {},
  };
}

/** Stores the message in Redis. Then a Socket.IO server without sockets emits it, and its adapter passes it on over Redis. */
export function bySocketIo({ redis }: Measured): RoomChanges {
  const publisher = new Redis({ path: redis!.options.path! });
  const subscriber = publisher.duplicate();
  const io = new Server({ adapter: createAdapter(publisher, subscriber), serveClient: false });
  const next = messages();
  return {
    async change(code, dueMs) {
      const message = next(code, dueMs);
      await redis!.hset(`kept:${code}`, 'room', message);
      io.to(code).emit('room', JSON.parse(message));
    },
    close() {
      publisher.disconnect();
      subscriber.disconnect();
    },
  };
}

/** Makes the message of each room's next change. */
function messages(): (code: string, dueMs: number) => string {
  const seqs = new Map<string, number>();
  return (code, dueMs) => {
    const seq = (seqs.get(code) ?? 0) + 1;
    seqs.set(code, seq);
    return roomMessage(roomDoc(code, seq), JSON.stringify(stampedState(dueMs)));
  };
}

/** Creates rooms with four players each and starts their games. */
export async function openRooms({ url }: Measured, count: number): Promise<Map<string, string>> {
  const api = new Api(url);
  const run = crypto.randomUUID();
  const post = async (path: string, body: object): Promise<{ room: { code: string } }> =>
    (await api.expectOk(api.post(path, body))).body as { room: { code: string } };
  try {
    const rooms = await inParallel(Array.from({ length: count }).keys().toArray(), async (index) => {
      const host = `bench-host-${run}-${index}`;
      const { room } = await post('/v1/rooms', { installId: host, name: 'Ada', game: 'pebble-drop', state: stampedState() });
      for (const name of ['Bob', 'Cleo', 'Dan']) await post(`/v1/rooms/${room.code}/join`, { installId: `${host}-${name}`, name });
      await post(`/v1/rooms/${room.code}/start`, { installId: host });
      return [room.code, host] as const;
    });
    return new Map(rooms);
  } finally {
    api.close();
  }
}
