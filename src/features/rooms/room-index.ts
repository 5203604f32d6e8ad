import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { DueQueue } from '../../redis/due-queue.ts';
import { memberOf, queueKeys } from '../../redis/queue.ts';
import { read } from '../../redis/reads.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { defineScript } from '../../redis/script.ts';
import { redisFailure, type ScriptRunner } from '../../redis/script-runner.ts';
import { capitals, defineFormat, word } from '../../redis/text-format.ts';
import { roomKeys, ttlMsOf } from './model.ts';

/** A member of the index of rooms. */
export const indexedRoom = defineFormat('indexed', '<code> <game>', {
  code: capitals(5),
  /** The game's id, or `-` for a room without a game. */
  game: word,
});

/** The interval at which each process polls the index for rooms that may have expired, in milliseconds. */
const POLL_INTERVAL_MS = 5000;

/** How long a process may take to check a room, in milliseconds. A command fails after Redis has been silent for 3 s. */
const CHECK_LEASE_MS = 5000;

export interface RoomIndexOptions {
  readonly scripts: ScriptRunner;
  readonly config: Pick<Config, 'ROOM_TTL_SECONDS'>;
  readonly log: Logger;
  readonly now: () => number;
  /** Default: POLL_INTERVAL_MS. */
  readonly pollIntervalMs?: number;
}

/**
 * The index of all rooms, for operators. It is a queue whose members are rooms, each due when the room expires if it does not change. A
 * change of a room does not touch the index. When a room is due, a process checks the room: if the room still exists, it is due again at
 * its new end, otherwise it leaves the index. So a room costs one write at its creation, and one check in each ROOM_TTL_SECONDS.
 *
 * The index is in another slot than its rooms, so no script writes both. Both commands are sent in the same turn of the event loop, first
 * the one of the index. So on one Redis a room is in the index before it exists. On a Cluster the room may exist for an instant before it is
 * in the index, and stays out of the index if the process dies in between.
 */
export class RoomIndex {
  readonly #options: RoomIndexOptions;
  readonly #queue: DueQueue;

  constructor(options: RoomIndexOptions) {
    this.#options = options;
    const { scripts, log, now, pollIntervalMs = POLL_INTERVAL_MS } = options;
    this.#queue = new DueQueue({
      name: roomKeys.expiry,
      work: (member) => this.#endOf(member),
      leaseMs: CHECK_LEASE_MS,
      pollIntervalMs,
      scripts,
      log,
      now,
    });
  }

  /**
   * Puts a room into the index. To be called in the same turn of the event loop as the script that creates the room. If the code turns out
   * to be taken, the entry does no harm. Never rejects, because a room may open without the index.
   */
  add(code: string, game: string | undefined): void {
    const { now, config, log } = this.#options;
    const member = indexedRoom.write({ code, game: game ?? '-' });
    const dueAt = now() + ttlMsOf(config);
    this.#queue
      .bring(member, dueAt)
      .catch(async (error: unknown) => {
        if (redisFailure(error) !== 'not_applied') throw error;
        // The primary of the member's sorted set is down. `ahead` writes to another primary.
        await this.#queue.ahead(member, dueAt);
      })
      .catch((error: unknown) => log.debug({ reason: (error as Error).message }, 'could not put a room into the index'));
  }

  close(): Promise<void> {
    return this.#queue.close();
  }

  /** When the room of a member expires, in milliseconds since 1970. Undefined: the room does not exist. */
  async #endOf(member: string): Promise<number | undefined> {
    const { scripts, now, config } = this.#options;
    const indexed = indexedRoom.parse(member);
    if (indexed === undefined) return undefined;
    try {
      const [expiresAt = '', game = ''] = await read(scripts, 'HMGET', roomKeys.room(indexed.code), 'expiresAt', 'game');
      return (game || '-') === indexed.game && Number(expiresAt) > now() ? Number(expiresAt) : undefined;
    } catch (error) {
      if (redisFailure(error) !== undefined) throw error;
      // The key is no hash. The room stays in the index, so that operators see it, and is checked again later.
      return now() + ttlMsOf(config);
    }
  }
}

/** A place in the index. `dueAt` is in milliseconds since 1970, and `skip` the number of rooms of this time that were already read. */
export interface IndexPlace {
  readonly dueAt: number;
  readonly skip: number;
}

export interface IndexedRoom {
  readonly code: string;
  /** Undefined: the room belongs to no game. */
  readonly game: string | undefined;
  /** The place behind this room. */
  readonly place: IndexPlace;
}

/** Reads entries of a sorted set by descending time, from the time `most` on, without the first `skip` of them. */
const readDescending = defineScript({
  name: 'rooms/read-descending',
  lua: `local from = most == '' and 0 or redis.call('ZCOUNT', due, '(' .. most, '+inf')
    from = from + skip
    return {'part', unpack(redis.call('ZRANGE', due, from, from + count - 1, 'REV', 'WITHSCORES'))}`,
  keys: ['due'],
  args: ['most', 'skip', 'count'],
  answers: ['part'],
  readOnly: true,
});

/** The number of entries that are read at once, in some 40 µs of Redis's time. On a Cluster all sorted sets share it. */
const ENTRIES_AT_ONCE = 200;

/** The fewest entries that are read at once from one sorted set. */
const FEWEST_AT_ONCE = 8;

interface Entry {
  readonly member: string;
  readonly dueAt: number;
}

/** One sorted set of the index, which is read in parts. */
class Part {
  readonly #scripts: ScriptRunner;
  readonly #key: string;
  readonly #count: number;
  #most: number | '';
  #skip = 0;
  #isDone = false;
  readonly entries: Entry[] = [];

  constructor(scripts: ScriptRunner, key: string, count: number, from: number | undefined) {
    this.#scripts = scripts;
    this.#key = key;
    this.#count = count;
    this.#most = from ?? '';
  }

  async fill(): Promise<void> {
    if (this.#isDone || this.entries.length > 0) return;
    const args = { most: this.#most, skip: this.#skip, count: this.#count };
    const [, ...words] = await this.#scripts.run(readDescending, { due: this.#key }, args);
    const found = pairsOf(words).map(([entry, time]) => ({ member: memberOf(entry), dueAt: Number(time) }));
    this.entries.push(...found);
    this.#isDone = found.length < this.#count;
    const last = found.at(-1)?.dueAt;
    if (last === undefined) return;
    const ofLast = found.filter(({ dueAt }) => dueAt === last).length;
    this.#skip = last === this.#most ? this.#skip + ofLast : ofLast;
    this.#most = last;
  }
}

/**
 * All rooms of the index, those with the latest times first. These are the newest rooms, and older rooms that were checked lately. Some of
 * the rooms may have expired. If a room is checked while the rooms are read, it may be missed.
 */
export async function* indexedRooms(scripts: ScriptRunner, from: IndexPlace | undefined): AsyncGenerator<IndexedRoom> {
  const keys = queueKeys(roomKeys.expiry, scripts.queueTags);
  const count = Math.max(FEWEST_AT_ONCE, Math.ceil(ENTRIES_AT_ONCE / keys.length));
  const parts = keys.map((key) => new Part(scripts, key, count, from?.dueAt));
  let place: IndexPlace = { dueAt: from?.dueAt ?? Infinity, skip: 0 };
  for (;;) {
    await Promise.all(parts.map((part) => part.fill()));
    const entry = takeFirst(parts);
    if (entry === undefined) return;
    place = { dueAt: entry.dueAt, skip: entry.dueAt === place.dueAt ? place.skip + 1 : 1 };
    if (from !== undefined && place.dueAt === from.dueAt && place.skip <= from.skip) continue;
    const indexed = indexedRoom.parse(entry.member);
    if (indexed !== undefined) yield { code: indexed.code, game: indexed.game === '-' ? undefined : indexed.game, place };
  }
}

/** Takes the entry that comes first in the order of times and members. */
function takeFirst(parts: readonly Part[]): Entry | undefined {
  let first: Part | undefined;
  for (const part of parts) {
    const [entry] = part.entries;
    if (entry !== undefined && (first === undefined || isBefore(entry, first.entries[0]!))) first = part;
  }
  return first?.entries.shift();
}

const isBefore = (one: Entry, other: Entry): boolean => one.dueAt > other.dueAt || (one.dueAt === other.dueAt && one.member > other.member);
