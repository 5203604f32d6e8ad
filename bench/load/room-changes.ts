import { createAdapter } from '@socket.io/redis-adapter';
import { Redis } from 'ioredis';
import { Server } from 'socket.io';
import { actInRoom } from '../../src/features/rooms/act.ts';
import type { Measured } from '../measure/measured.ts';
import { Api, inParallel } from './api.ts';
import { directly } from './direct.ts';
import { Posts } from './posts.ts';
import { roomDoc, roomMessage, stampedState } from './room-message.ts';

/** Changes rooms from outside the process that serves their watchers, as another process of the same application would. */
export interface RoomChanges {
  /** Resolves once it is done, which is not yet once it has arrived. Rejects where it is refused. */
  change(code: string, dueMs: number): Promise<void>;
  /** The whole room as the last change left it, as JSON: for servers that send watchers differences, to compare theirs with. */
  standing?(code: string): string;
  close(): void;
}

/** Rooms of the service, and who their host is. */
export type RoomHosts = ReadonlyMap<string, string>;

/** By the script that every process of the service runs for `POST /v1/rooms/{code}/state`: its watchers learn of it over Redis. */
export function byScript({ redis }: Measured, hosts: RoomHosts): RoomChanges {
  const calling = directly(redis!);
  return {
    async change(code, dueMs) {
      const state = JSON.stringify(stampedState(dueMs));
      const call = await calling;
      await call(actInRoom, { installId: hosts.get(code)!, params: { code, action: 'state' }, body: { state } });
    },
    close() {},
  };
}

/** By `POST /v1/rooms/{code}/state`: for a service whose Redis is out of reach, or where the request is part of what is measured. */
export async function byRequest({ url }: Measured, hosts: RoomHosts, connections = 32): Promise<RoomChanges> {
  const posts = await Posts.open(url, connections);
  return {
    change: (code, dueMs) => posts.post(`/v1/rooms/${code}/state`, { installId: hosts.get(code), state: stampedState(dueMs) }),
    close: () => posts.close(),
  };
}

/** Kept in Redis and published in one transaction, as watchers are to have it. */
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

/** Kept in Redis, then emitted by a Socket.IO server without sockets, whose adapter tells the one that has them. */
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

/** Numbers each room's changes. */
function messages(): (code: string, dueMs: number) => string {
  const seqs = new Map<string, number>();
  return (code, dueMs) => {
    const seq = (seqs.get(code) ?? 0) + 1;
    seqs.set(code, seq);
    return roomMessage(roomDoc(code, seq), JSON.stringify(stampedState(dueMs)));
  };
}

/** Opens rooms of four players each, whose games have started. */
export async function openRooms({ url }: Measured, count: number): Promise<Map<string, string>> {
  const api = new Api(url);
  const run = crypto.randomUUID();
  const post = async (path: string, body: object): Promise<{ room: { code: string } }> =>
    (await api.need(api.post(path, body))).body as { room: { code: string } };
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
