import type { Measured } from '../measure/measured.ts';
import { monotonicMs } from '../measure/clock.ts';
import { Api } from './api.ts';
import { createColyseusRooms } from './colyseus-rooms.ts';
import { colyseusClient } from './colyseus-watcher.ts';
import { Posts } from './posts.ts';
import { sortedJson } from './room-copy.ts';
import { openRooms } from './room-changes.ts';
import { stampedState } from './room-message.ts';
import { RoomState, type RoomChange } from './room-schema.ts';

/** The host of a room, who changes its state over the public API. */
export interface Host {
  /** The room's code. */
  readonly code: string;
  /** When the last change was acknowledged, on the clock of `monotonicMs`. */
  readonly answeredAt: number;
  /** Resolves once the server acknowledged the change. Rejects when the server refuses it. */
  change(dueMs: number): Promise<void>;
  /** The current `seq` of the room on the server. */
  standingSeq(): Promise<number>;
  /** The current room on the server, as JSON; for watchers that keep a copy of it. */
  standing?(): Promise<string>;
  close(): void;
}

/** A host that sends `POST /v1/rooms/{code}/state`. */
export async function serviceHost(service: Measured, connections: number): Promise<Host> {
  const [[code, installId]] = [...(await openRooms(service, 1))] as [[string, string]];
  const posts = await Posts.open(service.url, connections);
  const api = new Api(service.url);
  const read = async (): Promise<{ seq: number }> => {
    const { body } = await api.expectOk(api.get(`/v1/rooms/${code}`));
    return (body as { room: { seq: number } }).room;
  };
  return {
    code,
    get answeredAt() {
      return posts.answeredAt;
    },
    change: (dueMs) => posts.post(`/v1/rooms/${code}/state`, { installId, state: stampedState(dueMs) }),
    standingSeq: async () => (await read()).seq,
    standing: async () => sortedJson(await read()),
    close() {
      posts.close();
      api.close();
    },
  };
}

/** A host that sends requests over the room's connection, as Colyseus's clients do. */
export async function colyseusHost(server: Measured): Promise<Host> {
  const [code] = [...(await createColyseusRooms(server, 1)).keys()] as [string];
  const client = await colyseusClient(server.url);
  const room = await client.joinById<RoomState>(code, {}, RoomState);
  room.reconnection.enabled = false;
  let answeredAt = 0;
  const standing = (): Promise<string> => room.request('standing');
  return {
    code,
    get answeredAt() {
      return answeredAt;
    },
    async change(dueMs) {
      const { turn, at } = stampedState(dueMs);
      await room.request('change', { turn, at } satisfies RoomChange['state']);
      answeredAt = monotonicMs();
    },
    standingSeq: async () => (JSON.parse(await standing()) as { seq: number }).seq,
    standing,
    close: () => room.connection.close(),
  };
}
