import type { Logger } from 'pino';
import { defineScript } from '../../../redis/script.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import { LruCache } from '../../../server/lru-cache.ts';
import type { Metrics } from '../../../server/metrics.ts';
import { seatedIn, type RoomFields } from '../record.ts';
import { ALL_GAMES, entryOf, listLibrary, matchesIn, summaryOf, writtenKeyNames, writtenKeys } from './list-model.ts';

const putScript = defineScript({
  file: new URL('write-rooms.lua', import.meta.url),
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

/** How long after its creation a player's room is listed without a further act or a channel, in milliseconds. */
const PLAYER_PRESENT_MS = 15_000;

/** How long after its creation a server's room is listed without a further act or a channel, in milliseconds. */
const SERVER_PRESENT_MS = 60_000;

/**
 * A process renews the rooms of its sockets in lists. After the last renewal, a socket shows for this long that its player is present, in
 * milliseconds. So if a process is killed, its rooms leave the lists within this time.
 */
const SOCKET_PRESENT_MS = 12_000;

/**
 * The interval at which a process renews the rooms of its sockets in lists, in milliseconds. Two renewals may fail before a room leaves the
 * lists.
 */
const RENEWAL_INTERVAL_MS = 4000;

/**
 * The shortest time between two writes into lists after acts that do not change what lists show, in milliseconds. Such an act only shows
 * that somebody is present. If the act comes sooner, it is written at the end of this time.
 */
const TOUCH_INTERVAL_MS = 3000;

/** The most rooms in one call of `write-rooms.lua`. Each room takes Redis about 4 µs. */
const ROOMS_A_CALL = 100;

/** The most entries that one call of `sweepScript` removes. */
const SWEPT_A_CALL = 500;

/** The most calls of `sweepScript` in a row for one list. */
const MOST_SWEEPS = 400;

/** For this many rooms, the process remembers when it last wrote the room into lists. */
const TOUCHES_REMEMBERED = 10_000;

/** A socket that shows that somebody is present in its room. */
export interface PresentSocket {
  /** The code of the room. */
  readonly id: string;
  readonly connectionId: string;
  /** The latest state of the room, a `RoomState`. Undefined if the room no longer exists. */
  readonly state: unknown;
}

/** A socket whose room this process renews in lists. */
interface Renewed {
  /** The id of the socket's player, or `server`. */
  readonly playerId: string;
  readonly socket: PresentSocket;
}

export interface ListWriterOptions {
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
 * A list is in another slot than its rooms, so no script can write both. An act first changes the room, and then the process writes the
 * room's summary into the lists. Each write has the room's `seq`, and the list ignores a write with an older `seq`. If a write is lost, the
 * list is corrected by the next act in the room, or by the next renewal of a process with a welcomed socket in the room. If there is no
 * such act or renewal, the entry leaves the list after 15 s at most (a server's room 60 s after an act). So a list lags behind its rooms by
 * one call. After a crash it lags by up to 15 s, or by up to 60 s for a server's room.
 *
 * Players of one room may be connected to several processes, so only the room's scripts know who is present. A script whose change matters
 * for lists answers until when somebody is present (`presentUntil`). When the last channel ends, `presence.lua` answers 0, and the room
 * leaves the lists at once.
 */
export class ListWriter {
  readonly #options: ListWriterOptions;
  /** The welcomed sockets of this process by room code and connection id. */
  readonly #sockets = new Map<string, Map<string, Renewed>>();
  /** By entry: the time at which this process last wrote the room into lists after an act, in milliseconds since 1970. */
  readonly #touched = new LruCache<string, number>(TOUCHES_REMEMBERED);
  /** By entry: a room whose last act is not written into lists yet, and the timer that will write it. */
  readonly #touching = new Map<string, { readonly fields: RoomFields; readonly timer: NodeJS.Timeout }>();
  /** The rooms that were open at the last renewal, by code. */
  #open = new Map<string, RoomFields>();
  /** The running removals of lapsed entries, by list. */
  readonly #sweeping = new Map<string, Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #renewal: Promise<void> | undefined;
  #written = 0;
  #failed = 0;
  #swept = 0;

  constructor(options: ListWriterOptions) {
    this.#options = options;
    const { metrics } = options;
    const renew = (): void => void (this.#renewal ??= this.#renew().finally(() => (this.#renewal = undefined)));
    this.#timer = setInterval(renew, options.renewalMs ?? RENEWAL_INTERVAL_MS);
    metrics.count({
      name: 'coinop_room_list_writes_total',
      help: 'Summaries of public rooms that were written into lists, including renewals.',
      value: () => this.#written,
    });
    metrics.count({
      name: 'coinop_room_list_failed_writes_total',
      help: 'Writes of summaries into lists that failed. The next renewal or act corrects the list.',
      value: () => this.#failed,
    });
    metrics.count({
      name: 'coinop_room_list_swept_total',
      help: 'Entries of lists whose time was over and that this process removed.',
      value: () => this.#swept,
    });
    metrics.gauge({
      name: 'coinop_room_list_rooms_renewed',
      help: 'Open public rooms with a welcomed socket on this process.',
      value: () => this.#open.size,
    });
  }

  /** Writes a new public room into its lists. Its creation counts as an act. */
  opened(fields: RoomFields): void {
    const presentMs = fields.has('hostId') ? PLAYER_PRESENT_MS : SERVER_PRESENT_MS;
    this.changed(new Map(fields).set('presentUntil', String(this.#options.now() + presentMs)));
  }

  /**
   * Writes a room into its lists after a change that may concern them. Also writes a private room, because the act may have made it private.
   * @param fields from a script's answer, with the field `presentUntil` (`present_until` of room.lua) if lists show the room
   */
  changed(fields: RoomFields): void {
    if (fields.size === 0) return;
    this.#touched.set(entryOf(fields), this.#options.now());
    void this.#write([{ fields, until: presentUntil(fields) }]);
  }

  /**
   * Writes a room into the list of all games after a quick match.
   * @returns the room's line for the list of its game, which `end-reservations.lua` writes when it ends the match's reservation
   */
  matched(fields: RoomFields): string {
    this.#touched.set(entryOf(fields), this.#options.now());
    const until = presentUntil(fields);
    void this.#write([{ fields, until }], [ALL_GAMES]);
    return lineOf(fields, until);
  }

  /**
   * Writes into lists that somebody has acted in a room, at most once in TOUCH_INTERVAL_MS. The first act of a player after the player's
   * last channel has closed is written at once (`presenceBegins`), because the room may have left the lists when that channel closed.
   */
  touched(fields: RoomFields): void {
    if (fields.get('public') !== 'true' || fields.get('phase') !== 'lobby') return;
    if (fields.has('presenceBegins')) return this.changed(fields);
    const entry = entryOf(fields);
    const waitMs = (this.#touched.get(entry) ?? 0) + TOUCH_INTERVAL_MS - this.#options.now();
    if (waitMs <= 0 || waitMs > TOUCH_INTERVAL_MS) return this.changed(fields);
    const timer = this.#touching.get(entry)?.timer ?? setTimeout(() => this.#touchLate(entry), waitMs);
    this.#touching.set(entry, { fields, timer });
  }

  #touchLate(entry: string): void {
    const fields = this.#touching.get(entry)?.fields;
    this.#touching.delete(entry);
    if (fields !== undefined) this.changed(fields);
  }

  /**
   * From now on the socket keeps its room in lists, as long as the player has the seat. This call need not write the room into the list,
   * because the hello of the socket has done so.
   * @param playerId the id of the socket's player, or `server`
   */
  present(socket: PresentSocket, playerId: string): void {
    const sockets = this.#sockets.get(socket.id) ?? new Map<string, Renewed>();
    this.#sockets.set(socket.id, sockets.set(socket.connectionId, { playerId, socket }));
  }

  /** From now on the socket no longer keeps its room in lists. */
  absent({ id, connectionId }: PresentSocket): void {
    const sockets = this.#sockets.get(id);
    if (sockets?.delete(connectionId) === true && sockets.size === 0) this.#sockets.delete(id);
  }

  /** Removes the entries of a list that are past their time. To be called after a reader has found such entries. */
  sweep(game: string): void {
    if (this.#sweeping.has(game)) return;
    const done = this.#sweep(game)
      .catch((error: unknown) => this.#options.log.debug({ reason: (error as Error).message }, 'could not sweep a list of rooms'))
      .finally(() => this.#sweeping.delete(game));
    this.#sweeping.set(game, done);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const { timer } of this.#touching.values()) clearTimeout(timer);
    await Promise.all([this.#renewal, ...this.#sweeping.values()]);
  }

  async #sweep(game: string): Promise<void> {
    for (let calls = 0; calls < MOST_SWEEPS; calls++) {
      const [, swept] = await this.#options.scripts.run(sweepScript, writtenKeys(game), { most: SWEPT_A_CALL, matches: matchesIn(game) });
      this.#swept += Number(swept);
      if (Number(swept) < SWEPT_A_CALL) return;
    }
  }

  /** Renews the entries of rooms with a welcomed socket. Calls follow one after the other, so that 10,000 rooms do not block Redis. */
  async #renew(): Promise<void> {
    const open = new Map<string, RoomFields>();
    for (const [code, sockets] of this.#sockets) {
      for (const { playerId, socket } of sockets.values()) {
        const fields = fieldsOf(socket);
        // The socket's room may no longer exist, because a slow socket may close up to half a minute after its room. The next sockets may
        // belong to a newer room with the same code.
        if (fields === undefined) continue;
        if (summaryOf(fields) === '') break;
        if (!keepsListed(fields, playerId)) continue;
        open.set(code, fields);
        break;
      }
    }
    // Also writes rooms that were open at the last renewal but are not open now, because the process whose act closed such a room may have
    // died before it wrote that into the lists.
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

  /** Writes rooms into lists. @param only the lists to write. Default: the list of the room's game, and the list of all games */
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

/** The line of a room for `write-rooms.lua`. @param until as `ends` of put() in listed.lua */
function lineOf(fields: RoomFields, until: number): string {
  return `${entryOf(fields)} ${fields.get('seq')} ${until} ${summaryOf(fields)}\n`;
}

/** The time until which somebody is known to be present in a room, or 0 if nobody is present or if lists do not show the room. */
function presentUntil(fields: RoomFields): number {
  return Number(fields.get('presentUntil') ?? 0);
}

/**
 * Whether a welcomed socket of this player, or of the server, keeps the room in lists. A player without a seat does not keep it, because a
 * player who left or was kicked may still watch.
 */
function keepsListed(fields: RoomFields, playerId: string): boolean {
  if (playerId === 'server') return !fields.has('hostId');
  return fields.has('hostId') && seatedIn(fields.get('players')!).includes(playerId);
}

function fieldsOf({ state }: PresentSocket): RoomFields | undefined {
  return (state as { readonly fields: RoomFields } | undefined)?.fields;
}
