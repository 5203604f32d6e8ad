/** What a player of the scenario `seat-data` says about itself with each of its changes. */
export interface Move {
  readonly x: number;
  readonly y: number;
  /** Number of the change among those of its player, from 1. */
  readonly n: number;
}

export const PLAYERS_A_ROOM = 8;

/** The change with this number: a place on a track, in quarters, which a float of 32 bits holds exactly. */
export function moveOf(player: number, n: number): Move {
  return { x: Math.round(4000 * Math.cos(n / 50 + player)) / 4, y: Math.round(4000 * Math.sin(n / 50 + player)) / 4, n };
}

/** The id of a room's player, by its place. */
export function playerId(place: number): string {
  return `p${place + 1}`;
}

/** A client with a seat. */
export interface Playing {
  /** Resolves once the client has the room and may act. */
  readonly opened: Promise<void>;
  /** Number of states or patches that arrived. */
  readonly pushes: number;
  /** States that were not newer than the one before. */
  readonly faults: number;
  readonly isClosed: boolean;
  /** Acts that the server has answered. Of a server that answers none: those sent. */
  readonly answered: number;
  /** The errors that the server answered acts with. */
  readonly refusals: readonly string[];
  move(move: Move): void;
  /** The last change of each player that this client has seen, in the order of their places; 0 for none. */
  seen(): number[];
  /** Every change of every player that this client has seen last, as JSON, for comparison with what was sent. */
  standing(): string;
  close(): void;
}

/** Calls back with every push, with the client that got it. */
export type OnPush = (player: Playing) => void;

/** What all clients of a room must have at the end: the last change of each player. */
export function standingOf(last: readonly number[]): string {
  return JSON.stringify(last.map((n, place) => [playerId(place), moveOf(place, n)]));
}
