import type { CoinopError, Result } from './routes.ts';

/**
 * - `connecting`: the connection is being opened.
 * - `live`: news arrive, by WebSocket or by long-poll.
 * - `waiting`: the connection broke. The next try comes in `ms` milliseconds, or earlier when the device wakes up.
 * - `ended`: no more news come. `finished`: the room ended, or the pairing has its final status. `gone`: it does not exist any
 *   more. `closed`: the watch was closed. Any other code is that of the error that refused the watch.
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

export type Message = Record<string, unknown> & { error?: CoinopError };

/** The watched object. */
export interface Watched {
  readonly socketUrl: string;
  readonly WebSocket: SocketClass | null | undefined;
  /** The channel may send patches of a room instead of the whole room. */
  readonly patches?: true;
  /** Reads the present state or, given seconds to wait, the first state after the position. */
  poll(waitSeconds: number, position: number, signal: AbortSignal): Promise<Result>;
  /** The position of the state in a message or a reply of `poll`. Undefined: it contains no state. */
  positionOf(message: Message): number | undefined;
  /** Passes a state on. Returns whether it is final. */
  deliver(message: Message): boolean | Promise<boolean>;
  /** Passes another message of the service on. */
  other?(message: Message): void;
  /** The message to send on a new connection. */
  hello?(): Promise<string>;
  /** A connection is open: `send` sends on it; `close` ends it, and a new connection follows. */
  opened?(send: (text: string) => void, close: () => void): void;
  onState?: (state: WatchState) => void;
}

/** The watched object and its path below the service's address. */
export type Followed = Omit<Watched, 'socketUrl' | 'WebSocket' | 'onState'> & { readonly path: string };
