import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { OUTBOX } from '../../redis/outbox.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { eventKeys } from './model.ts';

const logLibrary = new URL('log.lua', import.meta.url);

const takeOutbox = defineScript({
  file: new URL('take-outbox.lua', import.meta.url),
  keys: ['outbox'],
  args: ['last', 'limit'],
  answers: ['taken'],
  durable: true,
});

const appendLog = defineScript({
  file: new URL('append-log.lua', import.meta.url),
  keys: ['state', 'chunks', 'forgotten'],
  args: ['source', 'seen', 'last', 'knownNext', 'entries'],
  answers: ['appended', 'changed'],
  library: logLibrary,
  durable: true,
});

const showLog = defineScript({
  file: new URL('show-log.lua', import.meta.url),
  keys: ['state'],
  args: ['readable'],
  answers: ['shown'],
});

const leaseRelay = defineScript({
  file: new URL('lease-relay.lua', import.meta.url),
  keys: ['state'],
  args: ['holder', 'leaseMs'],
  answers: ['yours', 'others'],
  // The replicas have then what an earlier holder appended, too.
  durable: true,
});

/** Elements of an outbox that are taken at a time: up to 2,048 events, which take Redis a millisecond or two to append. */
const ELEMENTS_AT_ONCE = 32;

/** How often the outbox of one Redis is looked at, while there is news and while there was none for a second. */
const BUSY_LOOK_MS = 10;
const IDLE_LOOK_MS = 50;

/** A process that does not renew its lease for so long is dead, and another one relays. */
const LEASE_MS = 4000;
const RENEW_MS = 1000;

/** After a look that failed: Redis is away, or a slot moves. */
const RETRY_MS = 200;

export interface RelayParts {
  readonly scripts: ScriptRunner;
  readonly log: Logger;
}

/** An element of an outbox as entries of the log. */
interface Element {
  /** Tells the element from all others: its time and its first line. */
  readonly begin: string;
  readonly microseconds: number;
  readonly entries: readonly string[];
}

/**
 * Carries what scripts have written to the outboxes into the log, in one process at a time.
 *
 * For each outbox in turn: `take` reads the elements that the log lacks, `append` writes them to the log if the outbox's last element there is
 * still the one that was taken after, and the next `take` drops them from the outbox. Both wait for the replicas of REDIS_WAIT_REPLICAS, so that
 * no failover takes back what the next step builds on. Then `show` lets readers see them. A relay that dies between two steps
 * leaves nothing undone and nothing done twice: the next one finds the last element of each outbox in the log.
 */
export class Relay {
  readonly #parts: RelayParts;
  readonly #holder = randomBytes(9).toString('base64url');
  /** The begin of the last element of each outbox that is in the log. */
  readonly #last = new Map<string, string>();
  #isHolder = false;
  #knownNext = 0;
  #renewedAt = -Infinity;
  #newsAt = -Infinity;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #running: Promise<void>;
  #wake: (() => void) | undefined;

  constructor(parts: RelayParts) {
    this.#parts = parts;
    this.#running = this.#run();
  }

  /** Ends the work under way, and lets another process relay. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wake?.();
    await this.#running;
    if (this.#isHolder) await this.#lease(0).catch(() => {});
  }

  /** A script of this process has emitted. */
  emitted(_tag: string): void {
    this.#newsAt = performance.now();
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      let pauseMs = RENEW_MS;
      try {
        await this.#keepLease();
        if (this.#isHolder) pauseMs = await this.#look();
      } catch (error) {
        this.#parts.log.debug({ reason: (error as Error).message }, 'the relay of events could not look; it tries again');
        pauseMs = RETRY_MS;
      }
      await this.#pause(pauseMs);
    }
  }

  #pause(milliseconds: number): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = (): void => {
        clearTimeout(this.#timer);
        resolve();
      };
      this.#timer = setTimeout(this.#wake, milliseconds);
    });
  }

  async #keepLease(): Promise<void> {
    if (performance.now() < this.#renewedAt + RENEW_MS) return;
    const startedAt = performance.now();
    const [word, next, readable] = await this.#lease(LEASE_MS);
    this.#isHolder = word === 'yours';
    this.#renewedAt = startedAt;
    if (!this.#isHolder) return;
    this.#knownNext = Math.max(this.#knownNext, Number(next));
    // An earlier holder died between `append` and `show`.
    if (next !== readable) await this.#show(next!);
  }

  #lease(leaseMs: number) {
    return this.#parts.scripts.run(leaseRelay, { state: eventKeys.state }, { holder: this.#holder, leaseMs });
  }

  async #show(readable: string): Promise<void> {
    await this.#parts.scripts.run(showLog, { state: eventKeys.state }, { readable });
  }

  /** @returns after how many milliseconds to look again */
  async #look(): Promise<number> {
    const hasNews = await this.#relay('');
    if (hasNews) this.#newsAt = performance.now();
    return performance.now() < this.#newsAt + 1000 ? BUSY_LOOK_MS : IDLE_LOOK_MS;
  }

  /** Carries what an outbox has. @returns whether it had something */
  async #relay(tag: string): Promise<boolean> {
    for (let rounds = 0; ; rounds++) {
      const seen = this.#last.get(tag) ?? '';
      const [, , ...texts] = await this.#parts.scripts.run(
        takeOutbox,
        { outbox: `${tag}${OUTBOX}` },
        { last: seen, limit: ELEMENTS_AT_ONCE },
      );
      if (texts.length === 0 || this.#isClosed) return rounds > 0;
      await this.#append(
        tag,
        seen,
        texts.map((text) => parseElement(text, tag)),
      );
      await this.#keepLease();
      if (!this.#isHolder) return true;
    }
  }

  async #append(tag: string, seen: string, elements: readonly Element[]): Promise<void> {
    const last = elements.at(-1)!.begin;
    const [word, figure] = await this.#parts.scripts.run(
      appendLog,
      { state: eventKeys.state, chunks: eventKeys.chunks, forgotten: eventKeys.forgotten },
      { source: tag, seen, last, knownNext: this.#knownNext, entries: elements.flatMap(({ entries }) => entries).join('\n') },
    );
    if (word === 'changed') {
      this.#last.set(tag, figure!);
      return;
    }
    this.#last.set(tag, last);
    this.#knownNext = Number(figure);
    await this.#show(figure!);
  }
}

function parseElement(text: string, tag: string): Element {
  const [time = '', ...lines] = text.split('\n');
  const microseconds = Number(time);
  const from = `${microseconds.toString(36)}-${tag.slice(1, -1) || '0'}`;
  return {
    begin: `${time}\n${lines[0]}`,
    microseconds,
    // `c <account> <number> …` becomes `c <id> <account> <number> …`.
    entries: lines.map((line, index) => `${line.slice(0, 1)} ${from}-${index.toString(36)}${line.slice(1)}`),
  };
}
