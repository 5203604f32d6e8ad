import type { EventPage, Position } from './model.ts';
import type { EventRecord } from '../events/model.ts';
import { nextAttemptAt } from './retry-schedule.ts';

/**
 * The most accounts of a hook that may wait for a next attempt, and the most events of these accounts. When one of these bounds is reached,
 * the hook's position in the log stops.
 */
export const MOST_WAITING = { accounts: 1000, events: 20_000 };

/** At most this many events of a hook are read from the log before they are delivered. */
export const MOST_READ = 1000;

/**
 * While an endpoint is down and no event is due, a waiting account may be probed again after this many milliseconds. The account that was
 * tried least recently comes first.
 */
const PROBE_AGAIN_MS = 300_000;

/** The key of the lane for events without an account. A lane has the events of one account in order. */
const NO_ACCOUNT = '-';

/** The prefix of the key of a lane that has only one event, which an operator has asked to deliver again. */
const ASKED = '!';

interface Entry {
  readonly position: Position;
  readonly event: EventRecord;
  /** When the event was read, on the clock of `performance.now()`. */
  readonly readAt: number;
  /** True if the event is delivered or given up, or if it is among the waiting events that Redis keeps. */
  isSettled: boolean;
}

/** The retries of a lane's first event. Times are milliseconds since 1970. */
interface Retry {
  failedSince: number;
  attempts: number;
  nextAt: number;
  triedAt: number;
}

/** The events of one account that are not delivered yet, in order. One of them is sent at a time. */
interface Lane {
  readonly key: string;
  /** Positions of events that Redis keeps as waiting. The events in this list come before the events of `queue`. */
  waiting: Position[];
  readonly queue: Entry[];
  retry: Retry | undefined;
  isSending: boolean;
  /** Whether the lane is in `#ready`. */
  isReady: boolean;
}

/** The event of an account that is to be sent now. */
export interface Job {
  readonly lane: Lane;
  readonly position: Position;
  /** The event. Undefined if it has to be read from the log. */
  readonly event: EventRecord | undefined;
  /** When the event was read, on the clock of `performance.now()`. */
  readonly readAt: number;
  /** The number of this attempt, 1 for the first. */
  readonly attempt: number;
}

/**
 * The events that a hook still has to get, in order within each account: events read from the log, and events that wait for a next attempt.
 * The backlog itself sends and stores nothing.
 *
 * If an event fails, all events of its account wait, while the events of other accounts are delivered. Redis keeps the positions of the
 * waiting events, so the hook's position in the log may advance beyond them. If too many accounts wait, further accounts wait only in this
 * process, and the hook's position stops.
 */
export class Backlog {
  readonly #lanes = new Map<string, Lane>();
  readonly #read: Entry[] = [];
  readonly #ready: Lane[] = [];
  readonly #changed = new Set<string>();
  #readTo: Position;
  #nextRetryAt = Infinity;
  #waitingLanes = 0;
  #waitingEvents = 0;

  /** @param cursor the hook's position in the log. @param waiting the waiting events of each account, as `waitingText` wrote them */
  constructor(cursor: Position, waiting: readonly (readonly [key: string, text: string])[]) {
    this.#readTo = cursor;
    for (const [key, text] of waiting) {
      const { positions, ...retry } = parseWaiting(text);
      // If an operator has set the hook's position back, waiting events from this position on are dropped here, because they will be read
      // from the log again.
      const kept = key.startsWith(ASKED) ? positions : positions.filter((position) => position < cursor);
      if (kept.length < positions.length) this.#changed.add(key);
      if (kept.length === 0) continue;
      this.#lanes.set(key, { key, waiting: kept, queue: [], retry: { ...retry, triedAt: 0 }, isSending: false, isReady: false });
      this.#waitingLanes++;
      this.#waitingEvents += kept.length;
      this.#nextRetryAt = Math.min(this.#nextRetryAt, retry.nextAt);
    }
  }

  /** The position in the log after the last event that was read. */
  get readTo(): Position {
    return this.#readTo;
  }

  /** Whether MOST_READ events are read but not delivered yet, so that no further events should be read for now. */
  get isFull(): boolean {
    this.#dropSettled();
    return this.#read.length >= MOST_READ;
  }

  get waitingAccounts(): number {
    return this.#waitingLanes;
  }

  /**
   * The position in the log at which delivery begins again after a crash. All earlier events are delivered, given up, or kept in Redis as
   * waiting events.
   */
  get cursor(): Position {
    this.#dropSettled();
    return this.#read[0]?.position ?? this.#readTo;
  }

  /**
   * The time of the oldest event that is read but not delivered yet, in milliseconds since 1970. Undefined if there is none. Waiting events
   * that Redis keeps do not count.
   */
  get oldestAt(): number | undefined {
    this.#dropSettled();
    return this.#read[0] && Date.parse(this.#read[0].event.at);
  }

  /** Adds a page of events from the log. @param readAt when they were read, on the clock of `performance.now()` */
  take({ events, positions, next }: Pick<EventPage, 'events' | 'positions' | 'next'>, readAt: number): void {
    for (const [index, event] of events.entries()) {
      const lane = this.#laneOf(event.accountId ?? NO_ACCOUNT);
      const entry: Entry = { position: positions[index]!, event, readAt, isSettled: false };
      this.#read.push(entry);
      lane.queue.push(entry);
      if (lane.waiting.length > 0) this.#wait(lane);
      else this.#makeReady(lane);
    }
    this.#readTo = next;
  }

  /** Adds an event that an operator has asked to deliver again. @returns false if too many events wait */
  ask(event: string, position: Position, now: number): boolean {
    const lane = this.#laneOf(ASKED + event);
    if (lane.waiting.length > 0) return true;
    if (!this.#hasRoom(lane)) {
      this.#lanes.delete(lane.key);
      return false;
    }
    lane.waiting = [position];
    lane.retry = { failedSince: 0, attempts: 0, nextAt: now, triedAt: 0 };
    this.#waitingLanes++;
    this.#waitingEvents++;
    this.#changed.add(lane.key);
    this.#nextRetryAt = Math.min(this.#nextRetryAt, now);
    return true;
  }

  /**
   * Returns the event to send next. The event stays in its lane until `settle` or `fail` is called.
   * @param isProbe whether the endpoint is down, so that a waiting account may be tried before its time
   */
  next(now: number, isProbe: boolean): Job | undefined {
    const ready = this.#ready.shift();
    if (ready !== undefined) return this.#jobOf(ready);
    if (this.#nextRetryAt > now && !isProbe) return undefined;
    let [due, least]: (Lane | undefined)[] = [];
    let nextRetryAt = Infinity;
    for (const lane of this.#lanes.values()) {
      const { retry } = lane;
      if (retry === undefined || lane.isSending) continue;
      if (retry.nextAt > now) nextRetryAt = Math.min(nextRetryAt, retry.nextAt);
      else if (due === undefined || retry.nextAt < due.retry!.nextAt) due = lane;
      if (least === undefined || retry.triedAt < least.retry!.triedAt) least = lane;
    }
    this.#nextRetryAt = due === undefined ? nextRetryAt : now;
    const lane = due ?? (isProbe && least !== undefined && least.retry!.triedAt + PROBE_AGAIN_MS <= now ? least : undefined);
    return lane && this.#jobOf(lane);
  }

  /** To be called when an event was delivered or given up. The account's next event can then be sent. */
  settle({ lane }: Job, now: number): void {
    lane.isSending = false;
    if (lane.waiting.length > 0) {
      lane.waiting.shift();
      this.#waitingEvents--;
      this.#changed.add(lane.key);
      if (lane.waiting.length === 0) this.#waitingLanes--;
    } else lane.queue.shift()!.isSettled = true;
    lane.retry = lane.waiting.length === 0 ? undefined : { failedSince: 0, attempts: 0, nextAt: now, triedAt: now };
    if (lane.retry !== undefined) this.#nextRetryAt = Math.min(this.#nextRetryAt, now);
    if (lane.queue.length > 0) this.#makeReady(lane);
    else if (lane.waiting.length === 0) this.#lanes.delete(lane.key);
  }

  /**
   * To be called when an event failed. The account of this event then waits for the next attempt.
   * @returns when the next attempt begins, in milliseconds since 1970. Undefined if the event is given up, because its time is over: the
   * caller must then call `settle`
   */
  fail({ lane, attempt }: Job, now: number, retryAfterMs: number | undefined): number | undefined {
    const failedSince = lane.retry?.failedSince || now;
    const nextAt = nextAttemptAt(failedSince, now, retryAfterMs);
    if (nextAt !== undefined) this.#retryAt(lane, { failedSince, attempts: attempt, nextAt, triedAt: now });
    return nextAt;
  }

  /** To be called when an event was not sent, because the log could not be read. Its account waits for `waitMs` milliseconds. */
  putBack({ lane }: Job, now: number, waitMs: number): void {
    this.#retryAt(lane, { failedSince: 0, attempts: 0, triedAt: now, ...lane.retry, nextAt: now + waitMs });
  }

  /**
   * To be called when the endpoint accepts events again, or when an operator asks to repeat failed deliveries now. All waiting accounts are
   * due at once.
   */
  retryAll(now: number): void {
    for (const lane of this.#lanes.values()) {
      if (lane.retry === undefined) continue;
      lane.retry.nextAt = Math.min(lane.retry.nextAt, now);
      if (lane.waiting.length > 0) this.#changed.add(lane.key);
    }
    this.#nextRetryAt = now;
  }

  /**
   * For each account that changed since the last call, its waiting events as the text that Redis keeps, or '' if the account no longer
   * waits.
   */
  changes(): [key: string, text: string][] {
    const changes = [...this.#changed].map((key): [string, string] => {
      const lane = this.#lanes.get(key);
      return [key, lane === undefined || lane.waiting.length === 0 ? '' : waitingText(lane)];
    });
    this.#changed.clear();
    return changes;
  }

  #laneOf(key: string): Lane {
    let lane = this.#lanes.get(key);
    if (lane === undefined)
      this.#lanes.set(key, (lane = { key, waiting: [], queue: [], retry: undefined, isSending: false, isReady: false }));
    return lane;
  }

  #makeReady(lane: Lane): void {
    if (lane.retry !== undefined || lane.isSending || lane.isReady) return;
    lane.isReady = true;
    this.#ready.push(lane);
  }

  #jobOf(lane: Lane): Job {
    lane.isSending = true;
    lane.isReady = false;
    const attempt = (lane.retry?.attempts ?? 0) + 1;
    const [position] = lane.waiting;
    if (position !== undefined) return { lane, position, event: undefined, readAt: 0, attempt };
    const [entry] = lane.queue;
    return { lane, position: entry!.position, event: entry!.event, readAt: entry!.readAt, attempt };
  }

  #retryAt(lane: Lane, retry: Retry): void {
    lane.isSending = false;
    lane.retry = retry;
    this.#nextRetryAt = Math.min(this.#nextRetryAt, retry.nextAt);
    this.#wait(lane);
  }

  /** Makes the events of a lane waiting events, which Redis keeps, as far as there is room. */
  #wait(lane: Lane): void {
    if (lane.waiting.length > 0) this.#changed.add(lane.key);
    while (lane.queue.length > 0 && this.#hasRoom(lane)) {
      const entry = lane.queue.shift()!;
      entry.isSettled = true;
      if (lane.waiting.push(entry.position) === 1) this.#waitingLanes++;
      this.#waitingEvents++;
      this.#changed.add(lane.key);
    }
  }

  #hasRoom(lane: Lane): boolean {
    return this.#waitingEvents < MOST_WAITING.events && (lane.waiting.length > 0 || this.#waitingLanes < MOST_WAITING.accounts);
  }

  #dropSettled(): void {
    const unsettled = this.#read.findIndex(({ isSettled }) => !isSettled);
    this.#read.splice(0, unsettled === -1 ? this.#read.length : unsettled);
  }
}

/**
 * The text of a lane's waiting events in Redis. The text has the first position, and the differences between neighbouring positions,
 * because there are many positions and they are close together.
 */
function waitingText({ waiting, retry }: Lane): string {
  const steps = waiting.map((position, index) => position - (waiting[index - 1] ?? 0));
  const { failedSince = 0, attempts = 0, nextAt = 0 } = retry ?? {};
  return JSON.stringify({ steps: steps.join(' '), failedSince, attempts, nextAt });
}

function parseWaiting(text: string): { positions: Position[] } & Omit<Retry, 'triedAt'> {
  const { steps, ...retry } = JSON.parse(text) as { steps: string } & Omit<Retry, 'triedAt'>;
  let position = 0;
  return { ...retry, positions: steps.split(' ').map((step) => (position += Number(step))) };
}
