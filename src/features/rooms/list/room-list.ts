import type { Logger } from 'pino';
import { defineScript } from '../../../redis/script.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import { LruCache } from '../../../server/lru-cache.ts';
import type { Metrics } from '../../../server/metrics.ts';
import { seatedIn, type RoomFields } from '../record.ts';
import { ALL_GAMES, entryOf, listLibrary, matchesIn, summaryOf, writtenKeyNames, writtenKeys } from './list-model.ts';

const putScript = defineScript({
  file: new URL('put.lua', import.meta.url),
  keys: writtenKeyNames,
  args: ['entries', 'matches'],
  answers: ['done'],
  library: listLibrary,
});

const sweepScript = defineScript({
  file: new URL('sweep.lua', import.meta.url),
  keys: writtenKeyNames,
  args: ['most', 'matches'],
  answers: ['swept'],
  library: listLibrary,
});

/** After an act of a player, and of a server in its own room, somebody counts as present for so long. */
const PLAYER_PRESENT_MS = 15_000;
const SERVER_PRESENT_MS = 60_000;

/**
 * So long counts a socket after its process last said so, and so often the process says so. The rooms of a process that was killed leave
 * the lists in 12 s; a process may miss two renewals.
 */
const SOCKET_PRESENT_MS = 12_000;
const RENEWAL_INTERVAL_MS = 4000;

/** Acts that change nothing in a list only show that a player is present. One in so many milliseconds says so. */
const TOUCH_INTERVAL_MS = 3000;

/** Rooms in one call of a script: each takes Redis some 4 µs. */
const ROOMS_A_CALL = 100;

/** Entries that one call sweeps, and calls that follow each other. */
const SWEPT_A_CALL = 500;
const MOST_SWEEPS = 400;

/** Rooms of which the last touch is remembered. */
const TOUCHES_REMEMBERED = 10_000;

/** Who shows to be present in a room. */
export type Present = 'player' | 'server';

/** A socket that shows that somebody is present. */
export interface PresentSocket {
  readonly id: string;
  readonly connectionId: string;
  /** The latest state of the room. Undefined once the room does not exist. */
  readonly state: unknown;
}

interface Renewed {
  /** The id of the player, or `server`. */
  readonly playerId: string;
  readonly socket: PresentSocket;
}

export interface RoomListParts {
  readonly scripts: ScriptRunner;
  readonly log: Logger;
  readonly now: () => number;
  readonly metrics: Pick<Metrics, 'count' | 'gauge'>;
  /** How often this process renews its rooms, in milliseconds. Default: RENEWAL_INTERVAL_MS. */
  readonly renewalMs?: number;
}

/**
 * Writes what lists show of public rooms.
 *
 * A list lies in another slot than its rooms, so no script writes both: an act changes the room, then its process writes the room's
 * summary. A write has the room's `seq`, and the list ignores older ones. A write that is lost is made good by the next act in the room,
 * by the next renewal of any process with a welcomed socket in the room, or else by the end of the entry's time, which is never more than
 * 15 s away (60 s for a server's room after an act). So a list is behind its rooms by one call, and by 15 s after a crash.
 */
export class RoomList {
  readonly #parts: RoomListParts;
  readonly #sockets = new Map<string, Map<string, Renewed>>();
  readonly #touched = new LruCache<string, number>(TOUCHES_REMEMBERED);
  /** The rooms that the last renewal found open. */
  #open = new Map<string, RoomFields>();
  readonly #sweeping = new Map<string, Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #renewal: Promise<void> | undefined;
  #written = 0;
  #failed = 0;
  #swept = 0;

  constructor(parts: RoomListParts) {
    this.#parts = parts;
    const { metrics } = parts;
    const renew = (): void => void (this.#renewal ??= this.#renew().finally(() => (this.#renewal = undefined)));
    this.#timer = setInterval(renew, parts.renewalMs ?? RENEWAL_INTERVAL_MS);
    metrics.count({
      name: 'coinop_room_list_writes_total',
      help: 'Summaries of public rooms that were written for the list, renewals included.',
      value: () => this.#written,
    });
    metrics.count({
      name: 'coinop_room_list_failed_writes_total',
      help: 'Those of them that Redis did not take. The next renewal or act makes them good.',
      value: () => this.#failed,
    });
    metrics.count({
      name: 'coinop_room_list_swept_total',
      help: 'Entries of lists that readers found past their time, and that this process removed.',
      value: () => this.#swept,
    });
    metrics.gauge({
      name: 'coinop_room_list_rooms_renewed',
      help: 'Open public rooms with a welcomed socket on this process.',
      value: () => this.#open.size,
    });
  }

  /** Writes a room as it is after an act that lists may show. `settings` may have made it private. */
  changed(fields: RoomFields, by: Present): void {
    if (fields.size === 0) return;
    this.#touched.set(entryOf(fields), this.#parts.now());
    void this.#write([{ fields, until: this.#presentUntil(fields, by) }]);
  }

  /**
   * Writes a room, as it is after a match, into the list of all games.
   * @returns its line for the list of its own game, which the match writes together with its reservation
   */
  matched(fields: RoomFields): string {
    this.#touched.set(entryOf(fields), this.#parts.now());
    const until = this.#presentUntil(fields, 'player');
    void this.#write([{ fields, until }], [ALL_GAMES]);
    return lineOf(fields, until);
  }

  /** Writes that somebody acted in a room, unless that was written a moment ago. */
  touched(fields: RoomFields, by: Present): void {
    if (fields.get('public') !== 'true' || fields.get('phase') !== 'lobby') return;
    const now = this.#parts.now();
    if (Math.abs(now - (this.#touched.get(entryOf(fields)) ?? 0)) < TOUCH_INTERVAL_MS) return;
    this.changed(fields, by);
  }

  /**
   * From now on the socket shows that somebody is present in its room, as long as the player has the seat.
   * @param playerId of its player, or `server`
   */
  present(socket: PresentSocket, playerId: string): void {
    const sockets = this.#sockets.get(socket.id) ?? new Map<string, Renewed>();
    this.#sockets.set(socket.id, sockets.set(socket.connectionId, { playerId, socket }));
    const fields = fieldsOf(socket);
    if (fields !== undefined && summaryOf(fields) !== '' && keepsListed(fields, playerId))
      void this.#write([{ fields, until: this.#parts.now() + SOCKET_PRESENT_MS }]);
  }

  absent({ id, connectionId }: PresentSocket): void {
    const sockets = this.#sockets.get(id);
    if (sockets?.delete(connectionId) === true && sockets.size === 0) this.#sockets.delete(id);
  }

  /** Removes the entries of a list whose time is past: a reader has met some. */
  sweep(game: string): void {
    if (this.#sweeping.has(game)) return;
    const done = this.#sweep(game)
      .catch((error: unknown) => this.#parts.log.debug({ reason: (error as Error).message }, 'could not sweep a list of rooms'))
      .finally(() => this.#sweeping.delete(game));
    this.#sweeping.set(game, done);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([this.#renewal, ...this.#sweeping.values()]);
  }

  async #sweep(game: string): Promise<void> {
    for (let calls = 0; calls < MOST_SWEEPS; calls++) {
      const [, swept] = await this.#parts.scripts.run(sweepScript, writtenKeys(game), { most: SWEPT_A_CALL, matches: matchesIn(game) });
      this.#swept += Number(swept);
      if (Number(swept) < SWEPT_A_CALL) return;
    }
  }

  #presentUntil(fields: RoomFields, by: Present): number {
    if (!counts(fields, by)) return 0;
    return this.#parts.now() + (by === 'server' ? SERVER_PRESENT_MS : PLAYER_PRESENT_MS);
  }

  /** One call after the other: 10,000 rooms must not keep Redis from requests. */
  async #renew(): Promise<void> {
    const open = new Map<string, RoomFields>();
    for (const [code, sockets] of this.#sockets) {
      for (const { playerId, socket } of sockets.values()) {
        const fields = fieldsOf(socket);
        // A socket that lags closes up to half a minute after its process lost the room. Later sockets have the room that stands.
        if (fields === undefined) continue;
        if (summaryOf(fields) === '') break;
        if (!keepsListed(fields, playerId)) continue;
        open.set(code, fields);
        break;
      }
    }
    // A room that was open at the last renewal may have been closed by a process that died before it wrote that.
    const closed = [...this.#open].flatMap(([code]) => {
      const sockets = open.has(code) ? [] : [...(this.#sockets.get(code)?.values() ?? [])];
      return sockets.flatMap(({ socket }) => fieldsOf(socket) ?? []).slice(0, 1);
    });
    this.#open = open;
    const all = [...open.values(), ...closed.filter((fields) => summaryOf(fields) === '')];
    for (let start = 0; start < all.length; start += ROOMS_A_CALL) {
      const until = this.#parts.now() + SOCKET_PRESENT_MS;
      await this.#write(all.slice(start, start + ROOMS_A_CALL).map((fields) => ({ fields, until })));
    }
  }

  /** @param only the lists that are written. Default: that of the room's game, and that of all games */
  async #write(rooms: readonly { readonly fields: RoomFields; readonly until: number }[], only?: readonly string[]): Promise<void> {
    const lines = new Map<string, string>();
    for (const { fields, until } of rooms) {
      const line = lineOf(fields, until);
      for (const game of only ?? [fields.get('game') ?? [], ALL_GAMES].flat()) lines.set(game, (lines.get(game) ?? '') + line);
    }
    this.#written += rooms.length;
    const calls = [...lines].map(([game, entries]) =>
      this.#parts.scripts.run(putScript, writtenKeys(game), { entries, matches: matchesIn(game) }),
    );
    for (const { status, ...outcome } of await Promise.allSettled(calls)) {
      if (status === 'fulfilled') continue;
      this.#failed++;
      const { reason } = outcome as PromiseRejectedResult;
      this.#parts.log.debug({ reason: (reason as Error).message }, 'could not write a list of rooms');
    }
  }
}

/** A line of `put.lua`. */
function lineOf(fields: RoomFields, until: number): string {
  return `${entryOf(fields)} ${fields.get('seq')} ${until} ${summaryOf(fields)}\n`;
}

/** Whether somebody like this keeps the room in the list: in a server's room the server, in others a player. */
function counts(fields: RoomFields, by: Present): boolean {
  return (by === 'server') !== fields.has('hostId');
}

/** Whether a welcomed socket of this player, or of the server, does. One that left or was kicked may watch on. */
function keepsListed(fields: RoomFields, playerId: string): boolean {
  if (playerId === 'server') return counts(fields, 'server');
  return counts(fields, 'player') && seatedIn(fields.get('players')!).includes(playerId);
}

function fieldsOf({ state }: PresentSocket): RoomFields | undefined {
  return (state as { readonly fields: RoomFields } | undefined)?.fields;
}
