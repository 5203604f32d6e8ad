import { ArraySchema, schema, t } from '@colyseus/schema';
import type { RoomDoc } from '../../src/features/rooms/model.ts';
import type { stampedState } from './room-message.ts';

/**
 * A room as the service sends it, as Colyseus's schemas: its server keeps the room in them, and its clients decode into
 * them. Fields have the service's names and order, so that both can be compared as JSON.
 */

const Player = schema(
  {
    id: t.string(),
    name: t.string(),
    ready: t.boolean(),
    connected: t.boolean(),
    host: t.boolean(),
    joinedAt: t.string(),
  },
  'Player',
);

const GameState = schema({ turn: t.uint8(), board: t.array('uint8'), at: t.string() }, 'GameState');

export const RoomState = schema(
  {
    code: t.string(),
    game: t.string(),
    phase: t.string(),
    seq: t.number(),
    hostId: t.string(),
    minPlayers: t.uint8(),
    maxPlayers: t.uint8(),
    locked: t.boolean(),
    players: t.array(Player),
    createdAt: t.string(),
    updatedAt: t.string(),
    startedAt: t.string(),
    expiresAt: t.string(),
    state: GameState,
  },
  'RoomState',
);
export type RoomState = InstanceType<typeof RoomState>;

/** A whole room, before it is one of schemas. */
export interface PlainRoom extends RoomDoc {
  readonly state: ReturnType<typeof stampedState>;
}

/** What one change alters. The board is in none of them: in no side's messages does a field of it change. */
export interface RoomChange {
  readonly seq: number;
  readonly updatedAt: string;
  readonly expiresAt: string;
  readonly state: { readonly turn: number; readonly at: string };
}

export function roomState({ players, state, ...room }: PlainRoom): RoomState {
  return new RoomState().assign({
    ...room,
    players: new ArraySchema(...players.map((player) => new Player().assign(player))),
    state: new GameState().assign({ ...state, board: new ArraySchema(...state.board) }),
  } as never);
}

export function applyChange(room: RoomState, { seq, updatedAt, expiresAt, state }: RoomChange): void {
  room.seq = seq;
  room.updatedAt = updatedAt;
  room.expiresAt = expiresAt;
  room.state.turn = state.turn;
  room.state.at = state.at;
}

/** The room with a change applied, as its watchers have to have it in the end. */
export function changed(room: PlainRoom, { state, ...change }: RoomChange): PlainRoom {
  return { ...room, ...change, state: { ...room.state, ...state } };
}
