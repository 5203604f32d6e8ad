import type { ClientCode, CoinopError, Room } from './routes.ts';
import type { WatchState } from './watched.ts';
import type { ActionName, Wire } from './wire.ts';

/** The types of a game's data in its rooms: `{ state: Board; data: Cursor; private: Card[]; message: string }`. */
export interface Game {
  /** The room's public state. */
  state?: unknown;
  /** Each player's own public data. */
  data?: unknown;
  /** The private part: data that only one player sees. */
  private?: unknown;
  message?: unknown;
}

type Of<G, Part extends keyof Game> = G extends { [P in Part]: infer T } ? T : unknown;
export type StateOf<G> = Of<G, 'state'>;
export type DataOf<G> = Of<G, 'data'>;
export type PrivateOf<G> = Of<G, 'private'>;
export type MessageOf<G> = Of<G, 'message'>;

/** A merge patch (RFC 7396) of a value: `null` removes a member, a list is replaced whole. */
export type Patch<T> = T extends readonly unknown[] ? T : T extends object ? { [K in keyof T]?: Patch<T[K]> | null } : T;

type Player = Room['players'][number];

/** A player of the room. `data` is null before the player sets it. */
export type GamePlayer<G extends Game> = Omit<Player, 'data'> & { data: DataOf<G> | null };
/** The player of this page. */
export type OwnPlayer<G extends Game> = GamePlayer<G> & { /** Data that only this player sees. */ private?: PrivateOf<G> };
/** A room. `state` is `{}` before the game sets it. */
export type GameRoom<G extends Game> = Omit<Room, 'players' | 'state'> & { state: StateOf<G>; players: GamePlayer<G>[] };

/** The room and the player of this page: what a game draws. `me` is undefined without a seat. */
export type ShownRoom<G extends Game> = GameRoom<G> & { me: OwnPlayer<G> | undefined };

export interface RoomMessage<G extends Game> {
  /** The number of the message. It rises with each message of the room. */
  n: number;
  /** The sender: the id of a player, or `server`. */
  from: string;
  data: MessageOf<G>;
  at: string;
}

type FieldsOf<A extends ActionName> = Omit<Wire[`POST /v1/rooms/{code}/${A}`]['input'], 'code'>;

/** The fields of lobby actions, as in the body of the same action over HTTP. */
export interface LobbyActions {
  leave: object;
  ready: object;
  unready: object;
  start: object;
  end: object;
  lock: object;
  unlock: object;
  rematch: object;
  kick: FieldsOf<'kick'>;
  transfer: FieldsOf<'transfer'>;
  settings: FieldsOf<'settings'>;
}

/** The error codes of an action, or of all actions. `queue_full`: 256 acts already wait. */
export type ActCode<A extends Exclude<ActionName, 'join'> = Exclude<ActionName, 'join'>> =
  | Wire[`POST /v1/rooms/{code}/${A}`]['code']
  | ClientCode
  | 'bad_key'
  | 'forbidden'
  | 'queue_full';
export type ActError<Code extends ActCode = ActCode> = CoinopError<Code>;
/** The result of an act. `seq` is the first `seq` of the room with the act's effect. */
export type ActResult<Code extends ActCode = ActCode> = { ok: true; seq: number; replayed?: true } | { ok: false; error: ActError<Code> };
/** The result of a message. `away`: its receivers who have no connection, and miss it. Left out if there are none. */
export type SendResult =
  | (ActResult<ActCode<'message'>> & { ok: true; away?: string[] })
  | { ok: false; error: ActError<ActCode<'message'>> };
type Done<A extends Exclude<ActionName, 'join'>> = Promise<ActResult<ActCode<A>>>;

export interface RoomEvents<G extends Game> {
  /**
   * The room changed: another client changed it, or this page shows the effect of an own act that the service has not done yet. A listener
   * that is added when the page has the room is called at once.
   */
  change: (room: ShownRoom<G>) => void;
  message: (message: RoomMessage<G>) => void;
  /** Messages of the room that this client did not get because its connection was too slow: the numbers of the first and the last. */
  missed: (missed: { from: number; to: number }) => void;
  /** The state of the connection. */
  connection: (state: WatchState) => void;
  /**
   * An act was refused, and the page no longer shows its effect. The act's result has the same error. Without a listener the client warns
   * (`onWarning`).
   */
  refused: (error: ActError, act: { action: string }) => void;
  /**
   * The caller has no seat: `not_in_room`, or the code of a session that ended. `message` says it in a sentence. Not called when the player
   * has left by `act('leave')`.
   */
  error: (error: CoinopError) => void;
}

export interface StateOptions {
  /**
   * The `room.stateSeq` from which the change was made. If the room has another `stateSeq` by now, the act is refused as `stale_state`,
   * with the present state.
   */
  ifStateSeq?: number;
}

/** A room that this page plays in. The room already shows the effect of own acts that the service has not answered yet. */
export interface PlayedRoom<G extends Game = Game> {
  readonly code: string;
  /** The whole room. Undefined before the first news. Do not change it. */
  readonly room: GameRoom<G> | undefined;
  readonly state: StateOf<G> | undefined;
  readonly players: readonly GamePlayer<G>[];
  /** The player of this page. Undefined without a seat, and until the service has named the player. */
  readonly me: OwnPlayer<G> | undefined;
  readonly connection: WatchState;
  /** The time by the clock of the service, in milliseconds since 1970: the same for all players, whatever their clocks say. */
  now(): number;
  /** The number of acts that have no answer yet. */
  readonly unanswered: number;
  /** Resolves when no further news can come. */
  readonly ended: Promise<{ code: string }>;

  /** Replaces the player's own public data: any JSON of 1 KiB. */
  set(data: DataOf<G>): Done<'data'>;
  /** Merges a patch into the player's own public data. */
  merge(patch: Patch<DataOf<G>>): Done<'data'>;
  /** Replaces the room's state: any JSON of 8 KiB. */
  setState(state: StateOf<G>, options?: StateOptions): Done<'state'>;
  /** Merges a patch into the room's state. */
  mergeState(patch: Patch<StateOf<G>>, options?: StateOptions): Done<'state'>;
  /** (Host) sets the private parts of players, by player id, and changes the state in the same step. */
  deal(
    seats: Record<string, PrivateOf<G>>,
    more?: StateOptions & ({ state?: StateOf<G>; merge?: never } | { merge?: Patch<StateOf<G>>; state?: never }),
  ): Done<'private'>;
  /**
   * Sends a message of 1 KiB to everybody, or to these player ids, or `server`. Nothing keeps it: `away` of the result names the receivers
   * without a connection, who miss it.
   */
  send(data: MessageOf<G>, to?: readonly string[]): Promise<SendResult>;
  /** A lobby action: `act('start')`, `act('kick', { playerId })`. */
  act<A extends keyof LobbyActions>(action: A, ...fields: object extends LobbyActions[A] ? [LobbyActions[A]?] : [LobbyActions[A]]): Done<A>;
  /** Adds a listener. The returned function removes it. */
  on<E extends keyof RoomEvents<G>>(event: E, listener: RoomEvents<G>[E]): () => void;
  /**
   * Stops playing on this page. The player keeps the seat. Acts without an answer get the result `aborted`, although the service may have
   * done them.
   */
  close(): void;
}
