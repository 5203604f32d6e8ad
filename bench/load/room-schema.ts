import { ArraySchema, MapSchema, schema, t } from '@colyseus/schema';
import type { RoomDoc, stampedState } from './room-message.ts';

/**
 * A room in Colyseus's schemas, which the server keeps and the clients decode into. The fields have the names and the order
 * of the service's, so that both can be compared as JSON.
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
    writers: t.string(),
    public: t.boolean(),
    tags: t.map('string'),
    players: t.array(Player),
    createdAt: t.string(),
    updatedAt: t.string(),
    startedAt: t.string(),
    expiresAt: t.string(),
    stateSeq: t.number(),
    state: GameState,
  },
  'RoomState',
);
export type RoomState = InstanceType<typeof RoomState>;

/** A whole room as plain data. A schema leaves out a field that is null, and the grace of its seats and the data of its players are. */
export interface PlainRoom extends Omit<RoomDoc, 'players' | 'seatGraceSeconds'> {
  readonly players: readonly Omit<RoomDoc['players'][number], 'data'>[];
  readonly state: ReturnType<typeof stampedState>;
}

/** The fields that one change alters. The board stays the same in the messages of all sides. */
export interface RoomChange {
  readonly seq: number;
  readonly updatedAt: string;
  readonly expiresAt: string;
  readonly stateSeq: number;
  readonly state: { readonly turn: number; readonly at: string };
}

export function plainRoom({ seatGraceSeconds: _, ...doc }: RoomDoc, state: ReturnType<typeof stampedState>): PlainRoom {
  return { ...doc, players: doc.players.map(({ data: _, ...player }) => player), state };
}

export function roomState({ players, state, tags, ...room }: PlainRoom): RoomState {
  return new RoomState().assign({
    ...room,
    tags: new MapSchema(tags),
    players: new ArraySchema(...players.map((player) => new Player().assign(player))),
    state: new GameState().assign({ ...state, board: new ArraySchema(...state.board) }),
  } as never);
}

export function applyChange(room: RoomState, { seq, updatedAt, expiresAt, stateSeq, state }: RoomChange): void {
  room.seq = seq;
  room.updatedAt = updatedAt;
  room.expiresAt = expiresAt;
  room.stateSeq = stateSeq;
  room.state.turn = state.turn;
  room.state.at = state.at;
}

/** Applies a change to plain data. The copies of all watchers must equal the result of the last change. */
export function changed(room: PlainRoom, { state, ...change }: RoomChange): PlainRoom {
  return { ...room, ...change, state: { ...room.state, ...state } };
}
