import type { CoinopError, Result } from './routes.ts';

/**
 * The state of a watch.
 * - `connecting`: the connection is being opened.
 * - `live`: news arrive, by WebSocket or by long-poll.
 * - `waiting`: the connection broke. The next try comes in `ms` milliseconds, or earlier when the device wakes up.
 * - `ended`: no more news come. `finished`: the room ended, or the pairing has its final status. `gone`: it does not exist any more.
 * `closed`: the watch was closed. Any other code is the code of the error with which the service refused or ended the watch.
 */
export type WatchState =
  | { status: 'connecting' }
  | { status: 'live'; by: 'socket' | 'poll' }
  | { status: 'waiting'; ms: number; error?: CoinopError }
  | { status: 'ended'; code: string };

/** The parts of a WebSocket that the client uses. The types are loose, so that the platform's class and the class of `ws` both fit. */
export interface Socket {
  onopen: ((event: any) => unknown) | null;
  onmessage: ((event: any) => unknown) | null;
  onclose: ((event: any) => unknown) | null;
  onerror: ((event: any) => unknown) | null;
  send(text: string): void;
  close(): void;
}
export type SocketClass = new (url: string) => Socket;

export type Message = Record<string, unknown> & { type?: string; error?: CoinopError };

/** What is watched, such as a room, and how its states are read and passed on. */
export interface Watched {
  readonly socketUrl: string;
  readonly WebSocket: SocketClass | null | undefined;
  /** Whether the channel may send patches of a room (what changed) in place of the whole room. */
  readonly patches?: true;
  /** The functions of patch.ts, for rooms. */
  patched?: (room: unknown, patch: Message) => unknown;
  freeze?: (room: unknown) => void;
  /** Reads the present state or, given seconds to wait, the first state after the position. */
  poll(waitSeconds: number, position: number, signal: AbortSignal): Promise<Result>;
  /** The position of the state in a message or in a reply of `poll`. Undefined: it has no state. */
  positionOf(message: Message): number | undefined;
  /** Passes on a state to the game. Returns whether the state is final. */
  deliver(message: Message): boolean | Promise<boolean>;
  /** Passes on a message that has no state. */
  other?(message: Message): void;
  /** The message to send on a new connection. */
  hello?(): Promise<string>;
  /** Called when a connection is open. `send` sends a text on it; `close` closes it, and a new connection follows. */
  opened?(send: (text: string) => void, close: () => void): void;
  /** Whether the watch goes on after the service has closed it finally, because another caller has signed in. */
  goesOn?(): Promise<boolean>;
  /** Loads the functions of this object that are in a module of their own. */
  load?: (() => Promise<Partial<Watched>>) | undefined;
  onState?: (state: WatchState) => void;
}

/** What is watched, and the path of its channel below the service's address. */
export type Followed = Omit<Watched, 'socketUrl' | 'WebSocket' | 'onState'> & { readonly path: string };
