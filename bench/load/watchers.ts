import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../measure/clock.ts';
import { ready } from '../processes/parent.ts';
import { packings, type PackingName } from './packings.ts';
import { Watcher } from './watcher.ts';
import type { Tally, Watching } from './watching.ts';

/** A process full of watchers: opens them, counts what they get, and tells how long after its change it came. */

/** How a server is spoken to: by WebSocket messages of a packing, or by Colyseus's own client. */
export type Dialect = PackingName | 'colyseus';

export interface WatchersToOpen {
  readonly url: string;
  readonly dialect: Dialect;
  /** A channel each; all of them are opened `each` times. */
  readonly paths: readonly string[];
  readonly each: number;
}

export interface Tallied {
  readonly watchers: number;
  readonly messages: number;
  /** Those that have not got the last state. */
  readonly behind: number;
  /** Messages that the busiest got within one second of the clock. */
  readonly busiestSecond: number;
  /** States that were not newer than the one before, and sockets that were closed. */
  readonly faults: number;
  readonly closed: number;
  /** From change to arrival, of each message, in ms. */
  readonly latencies: Float32Array;
}

/** As many as this are being opened at a time: more would wait in the server's queue, and time out there. */
const OPENED_AT_ONCE = 100;

const PATIENCE_MS = 30_000;

/** Where nothing has come for so long, nothing more will. */
const QUIET_MS = 2000;

/** Stamps are whole microseconds. */
const SAME_MS = 0.001;

const MAX_SECONDS = 64;

class Counts implements Tally {
  readonly watchers: Watching[] = [];
  #isCounting = false;
  #startedAt = 0;
  #latencies = new Float32Array(1 << 16);
  #count = 0;
  #perSecond = new Map<Watching, Uint16Array>();
  /** Told when as many messages have come. */
  #awaited: { messages: number; done: () => void } | undefined;

  /** Forgets what was counted. */
  start(): void {
    this.#perSecond = new Map(this.watchers.map((watcher) => [watcher, new Uint16Array(MAX_SECONDS)]));
    this.#count = 0;
    this.#startedAt = monotonicMs();
    this.#isCounting = true;
    for (const watcher of this.watchers) watcher.faults = 0;
  }

  arrived(watcher: Watching, atMs: number): void {
    if (!this.#isCounting) return;
    if (this.#count === this.#latencies.length) {
      const more = new Float32Array(2 * this.#count);
      more.set(this.#latencies);
      this.#latencies = more;
    }
    this.#latencies[this.#count++] = atMs - watcher.stampMs;
    const second = Math.floor((atMs - this.#startedAt) / 1000);
    const perSecond = this.#perSecond.get(watcher);
    if (perSecond !== undefined && second < MAX_SECONDS) perSecond[second]!++;
    if (this.#awaited !== undefined && this.#count >= this.#awaited.messages) this.#awaited.done();
  }

  /** Resolves when this many messages have come since `start`, or when no more come. */
  async reached(messages: number): Promise<void> {
    for (let before = -1; this.#count < messages && this.#count > before;) {
      before = this.#count;
      const timeout = new AbortController();
      await Promise.race([
        new Promise<void>((done) => (this.#awaited = { messages, done })),
        delay(QUIET_MS, undefined, { signal: timeout.signal }).catch(() => {}),
      ]);
      timeout.abort();
    }
    this.#awaited = undefined;
  }

  /** @param lastChanges when each path's state changed last; NaN where it did not */
  stop(lastChanges: ArrayLike<number>): Tallied {
    this.#isCounting = false;
    return {
      watchers: this.watchers.length,
      messages: this.#count,
      // They were opened path by path, again and again.
      behind: this.watchers.filter(({ stampMs }, index) => Math.abs(stampMs - lastChanges[index % lastChanges.length]!) > SAME_MS).length,
      busiestSecond: [...this.#perSecond.values()].reduce((most, seconds) => Math.max(most, ...seconds), 0),
      faults: this.watchers.reduce((sum, { faults }) => sum + faults, 0),
      closed: this.watchers.filter(({ isClosed }) => isClosed).length,
      latencies: this.#latencies.slice(0, this.#count),
    };
  }
}

const counts = new Counts();

async function open({ url, dialect, paths, each }: WatchersToOpen): Promise<void> {
  const wanted = Array.from({ length: each }, () => paths).flat();
  const openSome = await opener(url, dialect);
  for (let start = 0; start < wanted.length; start += OPENED_AT_ONCE) {
    const some = await openSome(wanted.slice(start, start + OPENED_AT_ONCE));
    counts.watchers.push(...some);
    await Promise.all(some.map(({ opened }) => opened));
  }
}

async function opener(url: string, dialect: Dialect): Promise<(paths: readonly string[]) => Promise<Watching[]>> {
  if (dialect === 'colyseus') {
    const { ColyseusWatcher, colyseusClient } = await import('./colyseus-watcher.ts');
    const client = await colyseusClient(url);
    return (paths) => ColyseusWatcher.open(client, paths, counts);
  }
  const address = new URL(url);
  return async (paths) => paths.map((path) => new Watcher(address, path, packings[dialect], counts));
}

/** The states that the watchers of each path have, as JSON, each but once: one where all have the same. */
function states(paths: number): string[][] {
  const found = Array.from({ length: paths }, () => new Set<string>());
  // They were opened path by path, again and again.
  for (const [index, watcher] of counts.watchers.entries()) found[index % paths]!.add(watcher.state?.() ?? '');
  return found.map((distinct) => [...distinct]);
}

/** When each watcher got its latest state; Infinity for one that did not come to this `seq`, or to so many messages, in time. */
async function lastStateAt({ seq = 0, messages = 0 }: { seq?: number; messages?: number }): Promise<Float64Array> {
  const isBehind = (watcher: Watching): boolean => watcher.seq < seq || watcher.messages < messages;
  const giveUpAt = monotonicMs() + PATIENCE_MS;
  while (counts.watchers.some(isBehind) && monotonicMs() < giveUpAt) await delay(5);
  return Float64Array.from(counts.watchers, (watcher) => (isBehind(watcher) ? Infinity : watcher.at));
}

function close(): void {
  for (const watcher of counts.watchers.splice(0)) watcher.close();
}

ready(
  {},
  {
    open,
    start: () => counts.start(),
    reached: (messages: number) => counts.reached(messages),
    stop: (lastChanges: ArrayLike<number>) => counts.stop(lastChanges),
    lastStateAt,
    states,
    close,
  },
);
