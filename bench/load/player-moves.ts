/** The data that a player sets with each of its changes. */
export interface Move {
  readonly x: number;
  readonly y: number;
  /** Number of the change among those of its player, from 1. */
  readonly n: number;
}

/** The change with this number: a place on a track, in quarters, which a float of 32 bits holds exactly. */
export function moveOf(place: number, n: number): Move {
  return { x: Math.round(4000 * Math.cos(n / 50 + place)) / 4, y: Math.round(4000 * Math.sin(n / 50 + place)) / 4, n };
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
  /** Acts that the server has answered. For a server that does not answer acts: the sent ones. */
  readonly answered: number;
  /** The errors that the server answered acts with. */
  readonly refusals: readonly string[];
  readonly localPort?: number | undefined;
  move(move: Move): void;
  /** The number of the last change of each player that this client has seen, in the order of their places; 0 for none. */
  seen(): number[];
  /** The data of all players as this client has seen them last, for comparison with `standingOf`. */
  standing(): string;
  close(): void;
}

/** Called with the client that a push or an answer came to. */
export interface PlayerEvents {
  pushed(player: Playing): void;
  answered(): void;
}

/** The data that all clients of a room must have at the end: the last change of each player. `last` holds the numbers, 0 for none. */
export function standingOf(last: readonly number[]): string {
  return standingText(last.map((n, place) => [playerId(place), n === 0 ? null : moveOf(place, n)]));
}

/** The players by id with their data, in the order of their places. */
export function standingText(players: readonly (readonly [id: string, data: Move | null])[]): string {
  return JSON.stringify(players);
}

export function placeOf(id: string): number {
  return Number(id.slice(1)) - 1;
}
