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

/** Removes entries of a list that are past their time. Answers swept(number). */
const sweepScript = defineScript({
  name: 'list/sweep',
  lua: `return {'swept', string.format('%d', sweep(list_of(order, untils, rooms, version, free, reserved, taken, matches), most))}`,
  keys: writtenKeyNames,
  args: ['most', 'matches'],
  answers: ['swept'],
  library: listLibrary,
});

/** How long a player, or a server in its own room, counts as present after an act. */
const PLAYER_PRESENT_MS = 15_000;
const SERVER_PRESENT_MS = 60_000;

/**
 * How long a socket shows presence after the last renewal by its process, and how often the process renews. The rooms of a killed process
 * leave the lists within 12 s, and a process may miss two renewals.
 */
const SOCKET_PRESENT_MS = 12_000;
const RENEWAL_INTERVAL_MS = 4000;

/** Acts that do not change a list show only that a player is present. At most one in this many milliseconds is written. */
const TOUCH_INTERVAL_MS = 3000;

/** Rooms in one call of a script. Each takes Redis some 4 µs. */
const ROOMS_A_CALL = 100;

/** Entries that one call removes, and calls in a row. */
const SWEPT_A_CALL = 500;
const MOST_SWEEPS = 400;

/** Number of rooms whose last touch is remembered. */
const TOUCHES_REMEMBERED = 10_000;

/** The kind of participant that is present in a room. */
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

export interface RoomListOptions {
  readonly scripts: ScriptRunner;
  readonly log: Logger;
  readonly now: () => number;
  readonly metrics: Pick<Metrics, 'count' | 'gauge'>;
  /** How often this process renews its rooms, in milliseconds. Default: RENEWAL_INTERVAL_MS. */
  readonly renewalMs?: number;
}

/**
 * Writes the summaries of public rooms into lists.
 *
 * A list is in another slot than its rooms, so no script writes both: an act changes the room, then its process writes the room's
 * summary. A write has the room's `seq`, and the list ignores an older `seq`. If a write is lost, the next act in the room corrects the
 * list, or the next renewal by a process with a welcomed socket in the room. Otherwise the entry ends, after 15 s at most (60 s for a
 * server's room after an act). So a list is behind its rooms by one call, and by 15 s after a crash.
 */
export class RoomList {
  readonly #options: RoomListOptions;
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

  constructor(options: RoomListOptions) {
    this.#options = options;
    const { metrics } = options;
    const renew = (): void => void (this.#renewal ??= this.#renew().finally(() => (this.#renewal = undefined)));
    this.#timer = setInterval(renew, options.renewalMs ?? RENEWAL_INTERVAL_MS);
    metrics.count({
      name: 'coinop_room_list_writes_total',
      help: 'Summaries of public rooms that were written for the list, renewals included.',
      value: () => this.#written,
    });
    metrics.count({
      name: 'coinop_room_list_failed_writes_total',
      help: 'Summaries that could not be written. The next renewal or act corrects the list.',
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

  /** Writes a room after an act that may change lists. `settings` may have made the room private. */
  changed(fields: RoomFields, by: Present): void {
    if (fields.size === 0) return;
    this.#touched.set(entryOf(fields), this.#options.now());
    void this.#write([{ fields, until: this.#presentUntil(fields, by) }]);
  }

  /**
   * Writes a room after a match into the list of all games.
   * @returns the room's line for the list of its game, which the match writes when it ends its reservation
   */
  matched(fields: RoomFields): string {
    this.#touched.set(entryOf(fields), this.#options.now());
    const until = this.#presentUntil(fields, 'player');
    void this.#write([{ fields, until }], [ALL_GAMES]);
    return lineOf(fields, until);
  }

  /** Writes that somebody acted in a room, at most once per TOUCH_INTERVAL_MS. */
  touched(fields: RoomFields, by: Present): void {
    if (fields.get('public') !== 'true' || fields.get('phase') !== 'lobby') return;
    const now = this.#options.now();
    if (Math.abs(now - (this.#touched.get(entryOf(fields)) ?? 0)) < TOUCH_INTERVAL_MS) return;
    this.changed(fields, by);
  }

  /**
   * From now on the socket counts as presence in its room, as long as the player has the seat.
   * @param playerId the id of the socket's player, or `server`
   */
  present(socket: PresentSocket, playerId: string): void {
    const sockets = this.#sockets.get(socket.id) ?? new Map<string, Renewed>();
    this.#sockets.set(socket.id, sockets.set(socket.connectionId, { playerId, socket }));
    const fields = fieldsOf(socket);
    if (fields !== undefined && summaryOf(fields) !== '' && keepsListed(fields, playerId))
      void this.#write([{ fields, until: this.#options.now() + SOCKET_PRESENT_MS }]);
  }

  absent({ id, connectionId }: PresentSocket): void {
    const sockets = this.#sockets.get(id);
    if (sockets?.delete(connectionId) === true && sockets.size === 0) this.#sockets.delete(id);
  }

  /** Removes the entries of a list that are past their time, after a reader has found some. */
  sweep(game: string): void {
    if (this.#sweeping.has(game)) return;
    const done = this.#sweep(game)
      .catch((error: unknown) => this.#options.log.debug({ reason: (error as Error).message }, 'could not sweep a list of rooms'))
      .finally(() => this.#sweeping.delete(game));
    this.#sweeping.set(game, done);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([this.#renewal, ...this.#sweeping.values()]);
  }

  async #sweep(game: string): Promise<void> {
    for (let calls = 0; calls < MOST_SWEEPS; calls++) {
      const [, swept] = await this.#options.scripts.run(sweepScript, writtenKeys(game), { most: SWEPT_A_CALL, matches: matchesIn(game) });
      this.#swept += Number(swept);
      if (Number(swept) < SWEPT_A_CALL) return;
    }
  }

  #presentUntil(fields: RoomFields, by: Present): number {
    if (!counts(fields, by)) return 0;
    return this.#options.now() + (by === 'server' ? SERVER_PRESENT_MS : PLAYER_PRESENT_MS);
  }

  /** One call after the other, so that 10,000 rooms do not block Redis. */
  async #renew(): Promise<void> {
    const open = new Map<string, RoomFields>();
    for (const [code, sockets] of this.#sockets) {
      for (const { playerId, socket } of sockets.values()) {
        const fields = fieldsOf(socket);
        // A slow socket may close up to half a minute after its room has ended. Later sockets under this code belong to a newer room.
        if (fields === undefined) continue;
        if (summaryOf(fields) === '') break;
        if (!keepsListed(fields, playerId)) continue;
        open.set(code, fields);
        break;
      }
    }
    // A room that was open at the last renewal may have closed, and the process that should have written that may have died.
    const closed = [...this.#open].flatMap(([code]) => {
      const sockets = open.has(code) ? [] : [...(this.#sockets.get(code)?.values() ?? [])];
      return sockets.flatMap(({ socket }) => fieldsOf(socket) ?? []).slice(0, 1);
    });
    this.#open = open;
    const all = [...open.values(), ...closed.filter((fields) => summaryOf(fields) === '')];
    for (let start = 0; start < all.length; start += ROOMS_A_CALL) {
      const until = this.#options.now() + SOCKET_PRESENT_MS;
      await this.#write(all.slice(start, start + ROOMS_A_CALL).map((fields) => ({ fields, until })));
    }
  }

  /** @param only the lists to write. Default: the list of the room's game, and the list of all games */
  async #write(rooms: readonly { readonly fields: RoomFields; readonly until: number }[], only?: readonly string[]): Promise<void> {
    const lines = new Map<string, string>();
    for (const { fields, until } of rooms) {
      const line = lineOf(fields, until);
      for (const game of only ?? [fields.get('game') ?? [], ALL_GAMES].flat()) lines.set(game, (lines.get(game) ?? '') + line);
    }
    this.#written += rooms.length;
    const calls = [...lines].map(([game, entries]) =>
      this.#options.scripts.run(putScript, writtenKeys(game), { entries, matches: matchesIn(game) }),
    );
    for (const { status, ...outcome } of await Promise.allSettled(calls)) {
      if (status === 'fulfilled') continue;
      this.#failed++;
      const { reason } = outcome as PromiseRejectedResult;
      this.#options.log.debug({ reason: (reason as Error).message }, 'could not write a list of rooms');
    }
  }
}

/** A line of `put.lua`. */
function lineOf(fields: RoomFields, until: number): string {
  return `${entryOf(fields)} ${fields.get('seq')} ${until} ${summaryOf(fields)}\n`;
}

/** Whether this kind of presence keeps the room in lists: in a server's room the server, in other rooms a player. */
function counts(fields: RoomFields, by: Present): boolean {
  return (by === 'server') !== fields.has('hostId');
}

/** Whether a welcomed socket of this player, or of the server, keeps the room in lists. A player who left or was kicked may still watch. */
function keepsListed(fields: RoomFields, playerId: string): boolean {
  if (playerId === 'server') return counts(fields, 'server');
  return counts(fields, 'player') && seatedIn(fields.get('players')!).includes(playerId);
}

function fieldsOf({ state }: PresentSocket): RoomFields | undefined {
  return (state as { readonly fields: RoomFields } | undefined)?.fields;
}
