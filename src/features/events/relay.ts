import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { accountEvents } from '../../accounts/account-events.ts';
import { accountKey } from '../../accounts/account-keys.ts';
import { OUTBOX } from '../../redis/outbox.ts';
import { leaseLibrary } from '../../redis/lease.ts';
import { defineLibrary, defineScript } from '../../redis/script.ts';
import { SLOTS, tagOf } from '../../redis/slots.ts';
import { eventKeys, forwardedKey } from './model.ts';
import { LogUpkeep, type LogUpkeepOptions } from './log-upkeep.ts';
import type { OutboxNews } from './outbox-news.ts';
import { RelayCounts } from './relay-counts.ts';
import type { Metrics } from '../../server/metrics.ts';
import { read } from '../../redis/reads.ts';

const logLibrary = defineLibrary(new URL('log.lua', import.meta.url));

const takeOutbox = defineScript({
  file: new URL('take-outbox.lua', import.meta.url),
  keys: ['outbox'],
  args: ['last', 'limit', 'limitBytes'],
  answers: ['taken'],
  durable: true,
});

const appendLog = defineScript({
  file: new URL('append-log.lua', import.meta.url),
  keys: ['state', 'chunks', 'forgotten'],
  args: ['source', 'seen', 'last', 'knownNext', 'entries', 'shows'],
  answers: ['appended', 'changed'],
  library: logLibrary,
  durable: true,
});

/**
 * Lets readers see the events before a position, and announces the position to every process. The relay runs this script after as many
 * replicas have the events as REDIS_WAIT_REPLICAS says, because a failover must not lose an event that a reader has seen.
 */
const makeReadable = defineScript({
  name: 'events/make-readable',
  lua: `if tonumber(readable) > tonumber(redis.call('HGET', state, 'readable') or '0') then redis.call('HSET', state, 'readable', readable) end
    announce('events', readable)
    return {'shown'}`,
  keys: ['state'],
  args: ['readable'],
  answers: ['shown'],
});

/**
 * Emits an event of an account, only once, after a script in another slot has caused it. This script runs in the account's slot, because
 * only there the account's events get their numbers. A relay repeats this call if an earlier relay died before it had appended the whole
 * element of the outbox to the log. `id` is the id that the event got in the other slot.
 */
const forwardEvent = defineScript({
  name: 'events/forward-event',
  lua: `local KEPT_SECONDS = 86400
    if not redis.call('SET', forwarded .. id, '', 'EX', KEPT_SECONDS, 'NX') then return {'known'} end
    tell_event(string.match(account, '^{(.-)}'), letter, words)
    return {'told'}`,
  keys: ['account', 'forwarded'],
  args: ['id', 'letter', 'words'],
  answers: ['told', 'known'],
  library: accountEvents,
  durable: true,
});

const leaseRelay = defineScript({
  file: new URL('lease-relay.lua', import.meta.url),
  keys: ['state', 'chunks'],
  args: ['holder', 'leaseMs'],
  answers: ['yours', 'others'],
  library: leaseLibrary,
  // Once the replicas have this write, they also have all events that an earlier holder of the lease appended.
  durable: true,
});

/** The most elements that the relay takes from an outbox with one script. An element has 1 to 64 events. */
const ELEMENTS_AT_ONCE = 512;

/** The most bytes that the relay takes from an outbox with one script: about 2,000 events. Redis appends them to the log in 1 to 2 ms. */
const BYTES_AT_ONCE = 131_072;

/** The number of outboxes of a Cluster that the relay reads at the same time, so that the calls share a few Redis commands. */
const OUTBOXES_AT_ONCE = 256;

/** Milliseconds between two reads of the outboxes while they have new events. */
const BUSY_POLL_MS = 25;

/** Milliseconds between two reads of the outboxes after a second without new events. */
const IDLE_POLL_MS = 50;

/** How long a lease lasts without a renewal, in milliseconds. After this time another process may relay. */
const LEASE_MS = 4000;

/** Milliseconds after which a process renews its lease, or tries again to get the lease. */
const RENEW_MS = 1000;

/** How long the relay waits after a failed read, in milliseconds. A read fails when Redis is down or a slot is being moved. */
const RETRY_MS = 200;

/**
 * The number of outboxes of a Cluster that one sweep reads. Sweeps are needed because a process may die before it tells the relay of its
 * events. The sweeps read all outboxes within 13 s.
 */
const SWEPT_AT_ONCE = 128;

/** Milliseconds between two sweeps. */
const SWEEP_MS = 100;

export interface RelayOptions extends LogUpkeepOptions {
  readonly config: LogUpkeepOptions['config'] & { readonly REDIS_WAIT_REPLICAS: number };
  readonly metrics: Metrics;
  readonly outboxNews: OutboxNews;
  readonly log: Logger;
  /** The time now by Redis's clock, in milliseconds since 1970. */
  readonly now: () => number;
}

/** An element of an outbox: the events that one batch of scripts emitted, as entries of the log. */
interface Element {
  /** The beginning of the element's text, which identifies the element: its time and its first line. */
  readonly begin: string;
  readonly microseconds: number;
  readonly entries: readonly string[];
  /** Events of accounts in other slots. The script `forwardEvent` emits each event again in the slot of its account. */
  readonly elsewhere: readonly (readonly [letter: string, id: string, accountId: string, words: string])[];
}

/**
 * Moves events from the outboxes, to which scripts write, into the log. One process at a time does so.
 *
 * For each outbox there are four steps. `take-outbox.lua` reads the elements that the log lacks. `append-log.lua` appends their events to
 * the log, unless another relay has done so meanwhile. `makeReadable` lets readers see the events. The next `take-outbox.lua` drops the
 * elements from the outbox. The first two scripts wait for as many replicas as REDIS_WAIT_REPLICAS says, so that a failover cannot undo a
 * step on which the next step relies. If a relay dies between two steps, the next relay neither loses nor repeats an event, because the
 * log's state has the beginning of the last appended element of each outbox.
 */
export class Relay {
  readonly #options: RelayOptions;
  readonly #counts: RelayCounts;
  readonly #upkeep: LogUpkeep;
  readonly #holder = randomBytes(9).toString('base64url');
  /** For each outbox, by its tag: the `begin` of its last element that the log has. */
  readonly #last = new Map<string, string>();
  /** Tags of outboxes that may have new events. */
  readonly #tags = new Set<string>();
  /** The slot with which the next sweep of a Cluster begins. */
  #sweptTo = 0;
  #sweptAt = -Infinity;
  #isHolder = false;
  #knownNext = 0;
  #renewedAt = -Infinity;
  #newsAt = -Infinity;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #running: Promise<void>;
  #wake: (() => void) | undefined;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#counts = new RelayCounts(options.metrics);
    this.#upkeep = new LogUpkeep(options);
    this.#running = this.#run();
  }

  /** Ends the work under way, and gives the lease back, so that another process can relay. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wake?.();
    await this.#running;
    this.#options.outboxNews.close();
    if (this.#isHolder) await this.#lease(0).catch(() => {});
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      let pauseMs = RENEW_MS;
      try {
        await this.#keepLease();
        if (this.#isHolder) {
          pauseMs = await this.#poll();
          await this.#upkeep.step();
        }
      } catch (error) {
        this.#options.log.debug({ reason: (error as Error).message }, 'the relay of events failed and tries again');
        pauseMs = RETRY_MS;
      }
      this.#counts.isHolder = this.#isHolder;
      this.#counts.hasRelay = performance.now() < this.#renewedAt + LEASE_MS;
      await this.#pause(pauseMs);
    }
  }

  #pause(milliseconds: number): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = (): void => {
        this.#wake = undefined;
        clearTimeout(this.#timer);
        resolve();
      };
      this.#timer = setTimeout(this.#wake, milliseconds);
    });
  }

  async #keepLease(): Promise<void> {
    if (performance.now() < this.#renewedAt + RENEW_MS) return;
    const startedAt = performance.now();
    const [word, next, readable, oldest] = await this.#lease(LEASE_MS);
    this.#renewedAt = startedAt;
    if (word === 'others') {
      this.#isHolder = false;
      this.#options.outboxNews.relay(undefined);
      return;
    }
    this.#knownNext = Math.max(this.#knownNext, Number(next));
    this.#counts.kept = Number(next) - Number(oldest);
    // If the two differ, an earlier holder of the lease died between `append-log.lua` and `makeReadable`.
    if (next !== readable) await this.#show(Number(next));
    if (!this.#isHolder) await this.#begin();
  }

  /** To be called when this process has got the lease. Finds all outboxes that have events. */
  async #begin(): Promise<void> {
    this.#isHolder = true;
    this.#options.outboxNews.relay((tags) => {
      for (const tag of tags) this.#tags.add(tag);
      // If the relay is already at work, it finds these events when it next reads the outboxes.
      if (performance.now() > this.#newsAt + BUSY_POLL_MS) this.#wake?.();
      this.#newsAt = performance.now();
    });
    this.#tags.add('');
    if (this.#isCluster)
      for (let slot = 0; slot < SLOTS && !this.#isClosed; slot += OUTBOXES_AT_ONCE) await this.#sweep(slot, OUTBOXES_AT_ONCE);
  }

  #lease(leaseMs: number) {
    return this.#options.scripts.run(leaseRelay, { state: eventKeys.state, chunks: eventKeys.chunks }, { holder: this.#holder, leaseMs });
  }

  /** Whether readers may see events as soon as they are appended, because no replica has to confirm them. */
  get #showsAtOnce(): boolean {
    return this.#options.config.REDIS_WAIT_REPLICAS === 0;
  }

  get #isCluster(): boolean {
    return this.#options.scripts.isOnCluster;
  }

  /** Moves the events of all outboxes that have events into the log. @returns milliseconds until the outboxes are read again */
  async #poll(): Promise<number> {
    if (!this.#isCluster) this.#tags.add('');
    else if (performance.now() > this.#sweptAt + SWEEP_MS) {
      this.#sweptAt = performance.now();
      await this.#sweep(this.#sweptTo, SWEPT_AT_ONCE);
      this.#sweptTo = (this.#sweptTo + SWEPT_AT_ONCE) % SLOTS;
    }
    const tags = [...this.#tags].slice(0, OUTBOXES_AT_ONCE);
    for (const tag of tags) this.#tags.delete(tag);
    const left = await this.#relay(tags);
    if (left !== 'nothing') this.#newsAt = performance.now();
    if (left === 'more' || this.#tags.size > OUTBOXES_AT_ONCE) return 0;
    return performance.now() < this.#newsAt + 1000 ? BUSY_POLL_MS : IDLE_POLL_MS;
  }

  /** Finds the outboxes with events among the outboxes of some slots. */
  async #sweep(slot: number, count: number): Promise<void> {
    const tags = Array.from({ length: count }, (_, index) => tagOf(slot + index));
    const counts = await Promise.allSettled(tags.map((tag) => read(this.#options.scripts, 'LLEN', `${tag}${OUTBOX}`)));
    counts.forEach((counted, index) => {
      if (counted.status === 'fulfilled' && counted.value[0] !== '0') this.#tags.add(tags[index]!);
    });
  }

  /**
   * Reads up to ELEMENTS_AT_ONCE elements from the outbox of each tag, and appends their events to the log. @returns whether the outboxes
   * had elements, and whether they have more
   */
  async #relay(tags: readonly string[]): Promise<'nothing' | 'some' | 'more'> {
    // All calls start in one turn of the event loop, so that the calls for all outboxes of a primary share commands.
    const taken = await Promise.all(tags.map((tag) => this.#take(tag)));
    const news = taken
      .filter((outbox) => outbox !== undefined)
      .toSorted((one, other) => one.elements[0]!.microseconds - other.elements[0]!.microseconds);
    this.#counts.waiting = taken.reduce((sum, outbox) => sum + (outbox === undefined ? 0 : outbox.elements.length + outbox.left), 0);
    this.#counts.lagSeconds = news.length === 0 ? 0 : Math.max(0, this.#options.now() / 1000 - news[0]!.elements[0]!.microseconds / 1e6);
    if (news.length === 0) return 'nothing';
    await Promise.all(
      news.flatMap(({ elements }) => elements.flatMap(({ elsewhere }) => elsewhere)).map((event) => this.#forward(...event)),
    );
    const positions = await Promise.all(news.map(({ tag, seen, elements }) => this.#append(tag, seen, elements)));
    this.#knownNext = Math.max(this.#knownNext, ...positions);
    if (!this.#showsAtOnce) await this.#show(this.#knownNext);
    return news.some(({ left }) => left > 0) ? 'more' : 'some';
  }

  async #forward(letter: string, id: string, accountId: string, words: string): Promise<void> {
    const keys = { account: accountKey(accountId), forwarded: forwardedKey(accountId) };
    await this.#options.scripts.run(forwardEvent, keys, { id, letter, words });
  }

  async #take(tag: string) {
    const seen = this.#last.get(tag) ?? '';
    try {
      const args = { last: seen, limit: ELEMENTS_AT_ONCE, limitBytes: BYTES_AT_ONCE };
      const [, left, ...texts] = await this.#options.scripts.run(takeOutbox, { outbox: `${tag}${OUTBOX}` }, args);
      if (texts.length === 0) return undefined;
      // The tag is added so that the outbox is read once more: that call drops these elements, and takes further ones.
      this.#tags.add(tag);
      return { tag, seen, left: Number(left), elements: texts.map((text) => parseElement(text, tag)) };
    } catch (error) {
      // The error is not thrown, because the outboxes of other primaries must not wait for a primary that is down.
      this.#tags.add(tag);
      this.#options.log.debug({ reason: (error as Error).message, outbox: tag }, 'an outbox could not be read; the relay tries again');
      return undefined;
    }
  }

  /** Appends elements of an outbox to the log. @returns the position after the appended events; 0 if another relay has appended them */
  async #append(tag: string, seen: string, elements: readonly Element[]): Promise<number> {
    const last = elements.at(-1)!.begin;
    const [word, figure] = await this.#options.scripts.run(
      appendLog,
      { state: eventKeys.state, chunks: eventKeys.chunks, forgotten: eventKeys.forgotten },
      {
        source: tag,
        seen,
        last,
        knownNext: this.#knownNext,
        entries: elements.flatMap(({ entries }) => entries).join('\n'),
        shows: this.#showsAtOnce ? 1 : '',
      },
    );
    this.#last.set(tag, word === 'appended' ? last : figure!);
    if (word === 'changed') return 0;
    this.#counts.relayed += elements.reduce((sum, { entries }) => sum + entries.length, 0);
    return Number(figure);
  }

  async #show(readable: number): Promise<void> {
    await this.#options.scripts.run(makeReadable, { state: eventKeys.state }, { readable });
  }
}

/**
 * An event of an account in another slot. The event has a `?` in place of its number, because only a script in the account's slot can
 * number the event.
 */
const ELSEWHERE = /^(\w) (\S+) (\S+) \? (.*)$/;

function parseElement(text: string, tag: string): Element {
  const [time = '', ...lines] = text.split('\n');
  const microseconds = Number(time);
  const from = `${microseconds.toString(36)}-${tag.slice(1, -1) || '0'}`;
  // The event gets an id: `c <account> <number> …` becomes `c <id> <account> <number> …`.
  const entries = lines.map((line, index) => `${line.slice(0, 1)} ${from}-${index.toString(36)}${line.slice(1)}`);
  return {
    begin: `${time}\n${lines[0]}`,
    microseconds,
    entries: entries.filter((entry) => !ELSEWHERE.test(entry)),
    elsewhere: entries.flatMap((entry) => {
      const [, letter, id, accountId, words] = ELSEWHERE.exec(entry) ?? [];
      return letter === undefined ? [] : [[letter, id!, accountId!, words!] as const];
    }),
  };
}
