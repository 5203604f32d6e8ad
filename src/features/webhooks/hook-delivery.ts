import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import type { KeyedMutex } from '../../server/keyed-mutex.ts';
import type { EventRecord } from '../events/model.ts';
import { Backlog, type Job } from './backlog.ts';
import { note, waitingOf, type HeldHook } from './delivery-state.ts';
import { EndpointHealth } from './endpoint-health.ts';
import { ALL_FAILED, parseHook, secretsOf, typesOf, type Attempted, type EventSource, type HookRecord } from './model.ts';
import type { HookPlaces, RequestPlaces } from './request-places.ts';
import { isDelivered, type Attempt, type Sender } from './sender.ts';
import type { SharedLogReader } from './shared-log-reader.ts';
import { FRESH_MS, type WaitingEvents } from './waiting-events.ts';
import type { HookFigures, WebhookCounts } from './webhook-counts.ts';

/**
 * The outcome of a delivery is stored in Redis within this many milliseconds. If the process dies, only the deliveries of the last
 * milliseconds of this length are repeated.
 */
const NOTE_WITHIN_MS = 200;

/**
 * If the hook's position advanced only over events of types that the hook does not get, it is stored in Redis within this many
 * milliseconds.
 */
const NOTE_POSITION_WITHIN_MS = 1000;

/** The interval at which a process calls `tick` of each delivery, in milliseconds. */
export const TICK_MS = 100;

/** The longest time that a delivery waits for new events before it reads the log again, in milliseconds. */
const NEWS_MS = 30_000;

/** The wait after a failed read of the log, in milliseconds. */
const READ_AGAIN_MS = 1000;

/** How long a shutdown waits for open requests, in milliseconds. */
const CLOSE_MS = 3000;

export interface HookDeliveryOptions {
  readonly events: EventSource;
  readonly reads: Pick<SharedLogReader, 'read'>;
  readonly waitingEvents: Pick<WaitingEvents, 'at'>;
  readonly places: Pick<RequestPlaces, 'join'>;
  /** Lets one hook at a time read its state from Redis. */
  readonly begins: KeyedMutex;
  readonly scripts: ScriptRunner;
  readonly openSender: (url: string) => Pick<Sender, 'send' | 'close'>;
  readonly counts: Pick<WebhookCounts, 'begun' | 'counted' | 'gone'>;
  readonly log: Logger;
  /** The time now, in milliseconds since 1970. */
  readonly now: () => number;
  /** The name of this process in leases. */
  readonly holder: string;
  readonly leaseMs: number;
}

/**
 * Delivers the events of one hook while this process has the hook's lease. The delivery reads the hook's state from Redis once. The
 * delivery ends when the lease is lost, when the state in Redis has changed, or when the hook is removed or disabled. The process that then
 * leases the hook reads the state again.
 */
export class HookDelivery {
  readonly id: string;
  readonly #options: HookDeliveryOptions;
  readonly #sender: Pick<Sender, 'send' | 'close'>;
  readonly #stop = new AbortController();
  readonly #health = new EndpointHealth();
  readonly #sending = new Set<Promise<void>>();
  readonly #places: HookPlaces;
  #backlog: Backlog | undefined;
  #text: string;
  #hook: HookRecord;
  #turn: number;
  /** When the lease ends, on the clock of `performance.now()`. */
  #leaseEnd: number;
  #attempts: Attempted[] = [];
  #askedDone = 0;
  #goneAt: number | undefined;
  /** When the progress has to be stored in Redis, on the clock of `performance.now()`. */
  #noteAt = Infinity;
  #noting: Promise<void> | undefined;
  #isClosing = false;
  #roomMade = (): void => {};

  /** @param leaseEnd when the lease ends, on the clock of `performance.now()` */
  constructor(held: HeldHook, hook: HookRecord, leaseEnd: number, options: HookDeliveryOptions) {
    this.id = held.id;
    this.#options = options;
    this.#text = held.text;
    this.#hook = hook;
    this.#turn = held.turn;
    this.#leaseEnd = leaseEnd;
    this.#sender = options.openSender(hook.url);
    this.#places = options.places.join(() => this.#beginNext());
    options.counts.begun(held.id);
    void this.#begin(held);
  }

  /** Whether the delivery has ended. */
  get isOver(): boolean {
    return this.#stop.signal.aborted;
  }

  get figures(): HookFigures {
    const oldestAt = this.#backlog?.oldestAt;
    return {
      id: this.id,
      lagSeconds: oldestAt === undefined ? 0 : Math.max(0, (this.#options.now() - oldestAt) / 1000),
      waitingAccounts: this.#backlog?.waitingAccounts ?? 0,
      isDown: this.#health.isDown,
    };
  }

  /** To be called when the lease was renewed. */
  renewed({ text, turn, asked }: HeldHook, leaseEnd: number): void {
    this.#leaseEnd = leaseEnd;
    this.#learn(text);
    if (this.isOver) return;
    // Either another process has changed the state, or the turn comes from a note of this process that is under way. The answer to the next
    // note shows which of these is the case.
    if (turn !== this.#turn) this.#noteSoon(0);
    this.#ask(asked);
  }

  /**
   * Stores the progress if the time for it has come, and sends the due events. The ticks of all hooks run in one turn of the event loop, so
   * that their notes share a few Redis commands, and Redis waits for the disk only once.
   */
  tick(): void {
    const now = performance.now();
    if (now > this.#leaseEnd) return this.abandon();
    if (now >= this.#noteAt) this.#noteNow();
    this.#places.want();
  }

  /** Ends the delivery at once. Open requests fail. */
  abandon(): void {
    if (this.isOver) return;
    this.#stop.abort();
    this.#places.leave();
    this.#roomMade();
    this.#sender.close();
  }

  /** Waits for open requests, stores their outcome, and gives the lease back. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.race([Promise.all(this.#sending), pause(CLOSE_MS, undefined, { ref: false })]);
    await this.#noting;
    if (!this.isOver && this.#backlog !== undefined) await this.#note(0).catch(() => {});
    this.abandon();
  }

  async #begin({ cursor, asked }: HeldHook): Promise<void> {
    const { events, scripts, begins, log } = this.#options;
    try {
      // Only one hook at a time reads its state, because it may take some milliseconds to read the waiting events of a hook.
      const [start, waiting, oldest] = await begins.take('', () =>
        Promise.all([cursor ?? events.end(), waitingOf(scripts, this.id), events.oldest()]),
      );
      if (this.isOver) return;
      if (start < oldest && cursor !== 0)
        log.warn({ hook: this.id }, 'a webhook missed events: the log dropped them after EVENTS_DAYS, before the endpoint accepted them');
      this.#backlog = new Backlog(start, waiting);
    } catch (error) {
      log.warn({ hook: this.id, reason: (error as Error).message }, 'the state of a webhook could not be read');
      return this.abandon();
    }
    if (cursor === undefined) {
      // A new hook's position is stored before the first delivery. If the process died before that, the next process would begin at the end
      // of the log of that later time, and the hook would miss the events in between.
      this.#noteNow();
      await this.#noting;
    }
    this.#ask(asked);
    await this.#readOn(this.#backlog);
  }

  async #readOn(backlog: Backlog): Promise<void> {
    const { events, reads, log } = this.#options;
    let problem = '';
    while (!this.isOver) {
      if (backlog.isFull) {
        await new Promise<void>((resolve) => (this.#roomMade = resolve));
        continue;
      }
      try {
        const page = await reads.read(backlog.readTo, typesOf(this.#hook));
        problem = '';
        if (this.isOver) return;
        const hasMoved = page.next !== backlog.readTo;
        backlog.take(page, page.readAt);
        this.#places.want();
        if (hasMoved) this.#noteSoon(NOTE_POSITION_WITHIN_MS);
        if (page.isEnd) await events.news(page.next, NEWS_MS, this.#stop.signal);
      } catch (error) {
        const { message } = error as Error;
        log[message === problem ? 'debug' : 'warn'](
          { hook: this.id, reason: message },
          'the log of events could not be read for a webhook',
        );
        problem = message;
        await pause(READ_AGAIN_MS, undefined, { signal: this.#stop.signal }).catch(() => {});
      }
    }
  }

  /** Begins the hook's next request. @returns undefined if nothing may be sent now */
  #beginNext(): Promise<void> | undefined {
    const backlog = this.#backlog;
    if (performance.now() > this.#leaseEnd) this.abandon();
    if (backlog === undefined || this.isOver || this.#isClosing || this.#goneAt !== undefined) return undefined;
    const now = this.#options.now();
    const { isDown, probeAt } = this.#health;
    if (isDown && (this.#sending.size > 0 || now < probeAt)) return undefined;
    const job = backlog.next(now, isDown);
    if (job === undefined) return undefined;
    const sent = this.#deliver(backlog, job).finally(() => {
      this.#sending.delete(sent);
      this.#roomMade();
    });
    this.#sending.add(sent);
    return sent;
  }

  async #deliver(backlog: Backlog, job: Job): Promise<void> {
    const { now, waitingEvents, log } = this.#options;
    let event = performance.now() - job.readAt < FRESH_MS ? job.event : undefined;
    if (event === undefined) {
      try {
        event = await waitingEvents.at(job.position);
      } catch (error) {
        log.debug({ hook: this.id, reason: (error as Error).message }, 'an event could not be read again');
        return backlog.putBack(job, now(), READ_AGAIN_MS);
      }
      if (this.isOver) return;
    }
    const at = now();
    const attempt = event && (await this.#sender.send({ id: event.id, body: JSON.stringify(event) }, secretsOf(this.#hook, at)));
    if (this.isOver) return;
    this.#end(backlog, job, event, at, attempt);
  }

  /** Records the outcome of an attempt. @param attempt undefined: the log has dropped the event */
  #end(backlog: Backlog, job: Job, event: EventRecord | undefined, at: number, attempt: Attempt | undefined): void {
    const { now, counts, log } = this.#options;
    const endedAt = now();
    const isSuccess = attempt !== undefined && isDelivered(attempt);
    if (attempt?.status === 410) this.#goneAt = endedAt;
    const nextAt = attempt === undefined || isSuccess ? undefined : backlog.fail(job, endedAt, attempt.retryAfterMs);
    if (nextAt === undefined) backlog.settle(job, endedAt);
    const outcome = isSuccess ? 'delivered' : nextAt === undefined ? 'given_up' : 'failed';
    const told = attempt?.status === undefined ? { error: attempt?.error ?? 'expired' } : { status: attempt.status };
    this.#attempts.push({
      event: event?.id ?? '',
      type: event?.type ?? '',
      position: job.position,
      at,
      attempt: job.attempt,
      outcome,
      ...told,
      ...(attempt?.answer === undefined ? {} : { answer: attempt.answer }),
      ...(nextAt === undefined ? {} : { nextAt }),
      durationMs: attempt?.durationMs ?? 0,
    });
    counts.counted(this.id, outcome);
    if (outcome === 'given_up')
      log.warn({ hook: this.id, event: event?.id, ...told }, 'an event was not delivered to a webhook, and is given up');
    if (isSuccess && this.#health.succeeded()) {
      log.info({ hook: this.id }, 'the endpoint of a webhook accepts events again');
      backlog.retryAll(endedAt);
    }
    if (attempt !== undefined && !isSuccess && this.#health.failed(job.lane.key, at, endedAt))
      log.warn({ hook: this.id, ...told }, 'the endpoint of a webhook is down: single attempts probe it');
    this.#noteSoon(this.#goneAt === undefined ? NOTE_WITHIN_MS : 0);
  }

  #ask(asked: readonly string[]): void {
    if (this.#backlog === undefined) return;
    for (const text of asked.slice(this.#askedDone)) {
      const { event, position } = JSON.parse(text) as { event: string; position: number };
      if (event === ALL_FAILED) this.#backlog.retryAll(this.#options.now());
      else if (!this.#backlog.ask(event, position, this.#options.now())) return;
      this.#askedDone++;
      this.#noteSoon(0);
    }
    this.#places.want();
  }

  /**
   * Plans to store the progress within this many milliseconds, unless an earlier time is planned. 0: at the end of this turn of the event
   * loop.
   */
  #noteSoon(withinMs: number): void {
    const at = performance.now() + withinMs - TICK_MS;
    if (this.isOver || this.#backlog === undefined || at >= this.#noteAt) return;
    this.#noteAt = at;
    if (withinMs === 0) setImmediate(() => this.#noteNow());
  }

  /**
   * Stores the progress. Only one call runs at a time, because each call needs the turn that the previous call has set. A later tick stores
   * changes that are made during a call.
   */
  #noteNow(): void {
    if (this.isOver || this.#isClosing || this.#noting !== undefined) return;
    this.#noteAt = Infinity;
    this.#noting = this.#note(this.#options.leaseMs)
      .catch((error: unknown) => {
        // The script may have run before the connection broke, so the state in Redis is unknown. The process that leases the hook next
        // reads the state again.
        this.#options.log.debug({ hook: this.id, reason: (error as Error).message }, 'the progress of a webhook could not be stored');
        this.abandon();
      })
      .finally(() => (this.#noting = undefined));
  }

  async #note(leaseMs: number): Promise<void> {
    const { scripts, holder, counts, log } = this.#options;
    const backlog = this.#backlog!;
    const [attempts, askedDone, goneAt, turn] = [this.#attempts, this.#askedDone, this.#goneAt, this.#turn];
    this.#attempts = [];
    const sentAt = performance.now();
    const noted = { turn, cursor: backlog.cursor, waits: backlog.changes(), attempts, askedDone, goneAt };
    const record = await note(scripts, this.id, holder, leaseMs, noted);
    if (record === undefined) return this.abandon();
    this.#turn = turn + 1;
    this.#askedDone -= askedDone;
    if (leaseMs > 0) this.#leaseEnd = Math.max(this.#leaseEnd, sentAt + leaseMs - LEASE_MARGIN_MS);
    this.#learn(record);
    if (goneAt === undefined) return;
    counts.gone++;
    log.warn({ hook: this.id }, 'the endpoint of a webhook answered 410: the hook is disabled');
    this.abandon();
  }

  /** Applies the present record of the hook. */
  #learn(text: string): void {
    if (text === this.#text) return;
    const hook = parseHook(text);
    // A sender is opened for one URL, so a new URL needs a new delivery.
    if (hook === undefined || hook.disabled !== undefined || hook.url !== this.#hook.url) return this.abandon();
    this.#text = text;
    this.#hook = hook;
  }
}

/** A process stops delivering this long before its lease ends, in milliseconds, because Redis's answer to a renewal takes time. */
export const LEASE_MARGIN_MS = 500;
