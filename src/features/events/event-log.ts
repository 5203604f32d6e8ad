import { defineLibrary, defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import type { Subscriptions } from '../../redis/subscriber.ts';
import { CHUNK_LENGTH, eventKeys, EVENTS_CHANNEL, lettersOf, MOST_AHEAD, type EventRecord, type EventType } from './model.ts';
import { parseEvent } from './parse-event.ts';

const logLibrary = defineLibrary(new URL('log.lua', import.meta.url));

const readLog = defineScript({
  file: new URL('read-log.lua', import.meta.url),
  keys: ['state', 'chunks', 'forgotten'],
  args: ['after', 'limit', 'letters', 'most'],
  answers: ['page', 'ahead'],
  library: logLibrary,
  readOnly: true,
});

const logEnds = defineScript({
  file: new URL('log-ends.lua', import.meta.url),
  keys: ['state', 'chunks'],
  args: ['time'],
  answers: ['ends'],
  library: logLibrary,
  readOnly: true,
});

const readBack = defineScript({
  file: new URL('read-back.lua', import.meta.url),
  keys: ['state', 'chunks', 'forgotten'],
  args: ['before', 'owners', 'limit', 'most'],
  answers: ['page'],
  library: logLibrary,
  readOnly: true,
});

const skipAhead = defineScript({
  file: new URL('skip-ahead.lua', import.meta.url),
  keys: ['state'],
  args: ['position', 'most'],
  answers: ['moved', 'refused'],
  library: logLibrary,
  durable: true,
});

/** A position in the log. A read from a position begins with the event that has this position. Positions only rise, and may jump ahead. */
export type Position = number;

export interface EventPage {
  readonly events: EventRecord[];
  /** The position of each event of the page. A read from this position gives the event again. */
  readonly positions: readonly Position[];
  /**
   * The position at which the next page begins. If `types` was given, the position is also after the events of other types that were read.
   */
  readonly next: Position;
  /** Whether the page ends with the last readable event of the log. If false, further events can be read at once. */
  readonly isEnd: boolean;
}

/** A page of events of some accounts, newest first. */
export interface BackPage {
  readonly events: readonly EventRecord[];
  /** The number of entries of the log that were read, including those of other accounts. */
  readonly looked: number;
  /** The time of the oldest entry that was read, as ISO 8601. Undefined: no entry was read. */
  readonly since: string | undefined;
  /** The value of `before` for the next page. 0: the log has no older events. */
  readonly next: Position;
}

export interface EventReader {
  /**
   * Reads events in the order of the log. One call reads a bounded number of entries, so its page may have fewer than `limit` events, or
   * none, although the log has more. @param after a position of an earlier page, 0 for the oldest event. If the events there were dropped,
   * the page begins with the oldest
   * event
   * @param limit 1 to 1,000
   * @param types only events of these types. Default: all
   * @throws AheadOfLog for a position that the log never had
   * @throws Error if Redis is unavailable
   */
  read(after: Position, limit: number, types?: readonly EventType[]): Promise<EventPage>;
  /**
   * Reads events of accounts backwards. The log has no index by account, because an index would make each credit slower. One call reads a
   * bounded number of entries, so its page may have fewer than `limit` events, or none, although the log has more.
   * @param before a position of an earlier page, or of `positionAfter`. Default: the end of the log
   * @throws Error if Redis is unavailable
   */
  readBack(accountIds: readonly string[], limit: number, before?: Position): Promise<BackPage>;
  /**
   * Gives a position that is after all events from before a time (milliseconds since 1970). Some events from after the time may be before
   * the position too.
   */
  positionAfter(time: number): Promise<Position>;
  /** The position of the oldest event in the log. */
  oldest(): Promise<Position>;
  /** The position after the last readable event. */
  end(): Promise<Position>;
  /** Whether a process relays events into the log, or did so in the last minute. */
  isRelayed(): Promise<boolean>;
  /**
   * Gives a position that is before all events from a time (milliseconds since 1970) or later. Some events from before the time may be
   * after the position too, because clocks differ.
   */
  positionAt(time: number): Promise<Position>;
  /** Resolves once the log may have events after a position, after `waitMs` milliseconds, or when the signal aborts. Never rejects. */
  news(after: Position, waitMs: number, signal?: AbortSignal): Promise<void>;
}

/** A reader asked for a position that the log never had. */
export class AheadOfLog extends Error {}

export interface EventLogOptions {
  readonly scripts: ScriptRunner;
  readonly subscriber: Subscriptions;
}

/** The most entries that one script reads. To read them blocks Redis for some 3 ms. */
const MOST_ENTRIES_READ = 2000;

/** The most scripts that run for one page of `readBack`. So a page reads 20,000 entries at most. Other scripts run in between. */
const BACK_READS = 10;

/**
 * How often readers that wait check the log, in milliseconds. Checks are needed because a message on the channel is lost if the connection
 * breaks.
 */
const POLL_INTERVAL_MS = 2000;

/**
 * `positionAt` gives the position of a time that is this much earlier, in milliseconds. Events are in the order of their times, except for
 * the delay of the relay and differences between clocks.
 */
const CLOCKS_DIFFER_MS = 60_000;

/**
 * `positionAfter` gives the position of a time that is this much later, in milliseconds, because of the delay of the relay. A whole minute,
 * as for `positionAt`, would be too much: on a busy log it would use up the entries that a page reads.
 */
const RELAY_TAKES_MS = 2000;

/**
 * Whether a service with EVENTS=on has run on this data. False if the log cannot be read, because for example a primary of a Cluster is
 * down.
 */
export async function hasEventLog(scripts: ScriptRunner): Promise<boolean> {
  try {
    return (await findEnds('', scripts)).next !== '';
  } catch {
    return false;
  }
}

/**
 * The ends of the log. @param time in microseconds since 1970: `position` is that of the last chunk which begins before this time; '':
 * `position` is that of the oldest event
 */
async function findEnds(time: number | '', scripts: ScriptRunner) {
  const [, position, readable, next, _oldest, isRelayed] = await scripts.run(logEnds, keys, { time });
  return { position: Number(position), readable: Number(readable), next, isRelayed: isRelayed === '1' };
}

/** The log of events for readers. The relay writes the log (`relay.ts`). */
export class EventLog implements EventReader {
  readonly #options: EventLogOptions;
  /** The position after the last readable event, as far as this process knows. */
  #readable: Position = 0;
  #messages = 0;
  readonly #waiting = new Set<{ readonly after: Position; readonly wake: () => void }>();
  readonly #poll: NodeJS.Timeout;

  constructor(options: EventLogOptions) {
    this.#options = options;
    const { subscriber } = options;
    subscriber.on('ready', (isConcerned) => {
      // If the subscription fails, another `ready` follows.
      if (isConcerned(EVENTS_CHANNEL)) subscriber.subscribe(EVENTS_CHANNEL).catch(() => {});
    });
    subscriber.on('message', (channel, message) => {
      if (channel === EVENTS_CHANNEL) this.#hear(Number(message));
    });
    this.#poll = setInterval(() => {
      if (this.#waiting.size > 0) this.end().catch(() => {});
    }, POLL_INTERVAL_MS);
  }

  async read(after: Position, limit: number, types: readonly EventType[] = []): Promise<EventPage> {
    const messages = this.#messages;
    const args = { after, limit, letters: lettersOf(types), most: MOST_ENTRIES_READ };
    const [word, next, isEnd, ...found] = await this.#options.scripts.run(readLog, { ...keys, forgotten: eventKeys.forgotten }, args);
    if (word === 'ahead') return this.#readAhead(after, messages);
    if (isEnd === '1') this.#ends(Number(next), messages);
    const events: EventRecord[] = [];
    const positions: Position[] = [];
    let position = 0;
    for (const text of found) {
      // A position begins with a digit, and an entry with a letter.
      if (text < ':') position = Number(text);
      else {
        positions.push(position++);
        events.push(parseEvent(text));
      }
    }
    return { events, positions, next: Number(next), isEnd: isEnd === '1' };
  }

  /**
   * Handles a read beyond the end of the log. A failover may have lost the events there. So the end of the log is moved to the reader's
   * position, and the reader misses no later event.
   */
  async #readAhead(after: Position, messages: number): Promise<EventPage> {
    const [word] = await this.#options.scripts.run(skipAhead, { state: keys.state }, { position: after, most: MOST_AHEAD });
    if (word === 'refused') throw new AheadOfLog(`the log has no position ${after}`);
    this.#ends(after, messages);
    return { events: [], positions: [], next: after, isEnd: true };
  }

  async readBack(accountIds: readonly string[], limit: number, before?: Position): Promise<BackPage> {
    const events: EventRecord[] = [];
    let [at, looked, oldest] = [before ?? '', 0, ''] as [Position | '', number, string];
    for (let reads = 0; reads < BACK_READS && events.length < limit && at !== 0; reads++) {
      const args = { before: at, owners: accountIds.join(' '), limit: limit - events.length, most: MOST_ENTRIES_READ };
      const [, next, count, last = '', ...found] = await this.#options.scripts.run(
        readBack,
        { ...keys, forgotten: eventKeys.forgotten },
        args,
      );
      events.push(...found.map(parseEvent));
      at = Number(next);
      looked += Number(count);
      oldest = last || oldest;
    }
    return { events, looked, since: oldest === '' ? undefined : parseEvent(oldest).at, next: at || 0 };
  }

  async positionAfter(time: number): Promise<Position> {
    const { position } = await this.#find(Math.max(1, time + RELAY_TAKES_MS) * 1000);
    return position + CHUNK_LENGTH;
  }

  async oldest(): Promise<Position> {
    return (await this.#find('')).position;
  }

  async end(): Promise<Position> {
    const messages = this.#messages;
    const { readable } = await this.#find('');
    this.#hear(readable);
    this.#ends(readable, messages + 1);
    return readable;
  }

  async isRelayed(): Promise<boolean> {
    return (await this.#find('')).isRelayed;
  }

  async positionAt(time: number): Promise<Position> {
    return (await this.#find(Math.max(0, time - CLOCKS_DIFFER_MS) * 1000)).position;
  }

  #find(time: number | '') {
    return findEnds(time, this.#options.scripts);
  }

  async news(after: Position, waitMs: number, signal?: AbortSignal): Promise<void> {
    if (this.#readable > after || waitMs <= 0 || signal?.aborted === true) return;
    await new Promise<void>((resolve) => {
      const waiting = {
        after,
        wake: (): void => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', waiting.wake);
          this.#waiting.delete(waiting);
          resolve();
        },
      };
      const timer = setTimeout(waiting.wake, waitMs);
      signal?.addEventListener('abort', waiting.wake);
      this.#waiting.add(waiting);
    });
  }

  /** Stops the checks of the log, and wakes all waiting readers. */
  close(): void {
    clearInterval(this.#poll);
    for (const { wake } of this.#waiting) wake();
  }

  #hear(readable: Position): void {
    this.#messages++;
    this.#readable = Math.max(this.#readable, readable);
    for (const { after, wake } of this.#waiting) if (readable > after) wake();
  }

  /**
   * Records the end of the log that a script replied, unless a message has arrived since this process had received `messages` messages. The
   * end may be lower than before, because a restore sets the log back.
   */
  #ends(position: Position, messages: number): void {
    if (messages === this.#messages) this.#readable = position;
  }
}

const keys = { state: eventKeys.state, chunks: eventKeys.chunks };
