import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../measure/clock.ts';
import { ready } from '../processes/parent.ts';
import { patchedPacking, RoomCopy, sortedJson } from './room-copy.ts';
import { packings, type PackingName } from './room-protocols.ts';
import { Watcher } from './watcher.ts';
import type { Tally, Watching } from './watching.ts';

/** A child process with many watchers. It opens them, counts their messages and measures latencies from change to arrival. */

/** The protocol of a server: a packing over plain WebSockets, the service's with patches, or Colyseus's own client. */
export type Dialect = PackingName | 'patched' | 'colyseus';

export interface WatchersToOpen {
  readonly url: string;
  readonly dialect: Dialect;
  /** The channels to watch, with `each` watchers a channel. */
  readonly paths: readonly string[];
  readonly each: number;
}

export interface Tallied {
  readonly watchers: number;
  readonly messages: number;
  /** Number of watchers without the last state. */
  readonly behind: number;
  /** The most messages that a watcher received within one second. Seconds count from `start`. */
  readonly busiestSecond: number;
  /** Number of states whose `seq` did not rise. */
  readonly faults: number;
  /** Number of closed sockets. */
  readonly closed: number;
  /** Latency from change to arrival of each message, in ms. */
  readonly latencies: Float32Array;
}

/** More connections at a time would wait in the server's accept queue and time out there. */
const OPENED_AT_ONCE = 100;

const LAST_STATE_TIMEOUT_MS = 30_000;

/** After a pause of this length no more messages are expected. */
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
  /** Resolves the wait of `reached` at this number of messages. */
  #awaited: { messages: number; done: () => void } | undefined;

  /** Resets the counts. */
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

  /** Resolves when this many messages have arrived since `start`, or when no more arrive. */
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

  /** @param lastChanges the time of each path's last change; NaN for a path without a change */
  stop(lastChanges: ArrayLike<number>): Tallied {
    this.#isCounting = false;
    return {
      watchers: this.watchers.length,
      messages: this.#count,
      // Watcher i watches path i modulo the number of paths.
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

/** The paths whose first watcher keeps a copy of the room. For the other watchers, `from` shows that the patches follow each other. */
const copied = new Set<string>();

class PatchedWatcher extends Watcher {
  readonly #copy: RoomCopy<{ readonly seq: number }> | undefined;

  constructor(url: URL, path: string) {
    const copy = copied.has(path) ? undefined : new RoomCopy<{ readonly seq: number }>();
    copied.add(path);
    super(url, `${path}?patch=1`, patchedPacking(copy), counts);
    this.#copy = copy;
  }

  state(): string | undefined {
    return this.#copy && sortedJson(this.#copy.room);
  }
}

async function opener(url: string, dialect: Dialect): Promise<(paths: readonly string[]) => Promise<Watching[]>> {
  if (dialect === 'colyseus') {
    const { ColyseusWatcher, colyseusClient } = await import('./colyseus-watcher.ts');
    const client = await colyseusClient(url);
    return (paths) => ColyseusWatcher.open(client, paths, counts);
  }
  const address = new URL(url);
  if (dialect === 'patched') return async (paths) => paths.map((path) => new PatchedWatcher(address, path));
  return async (paths) => paths.map((path) => new Watcher(address, path, packings[dialect], counts));
}

/** The distinct states of each path's watchers, as JSON. One state means that all watchers agree. */
function states(paths: number): string[][] {
  const found = Array.from({ length: paths }, () => new Set<string>());
  // Watcher i watches path i modulo the number of paths.
  for (const [index, watcher] of counts.watchers.entries()) {
    const state = watcher.state === undefined ? '' : watcher.state();
    if (state !== undefined) found[index % paths]!.add(state);
  }
  return found.map((distinct) => [...distinct]);
}

/** When each watcher received its latest state; Infinity for a watcher that did not reach `seq` or `messages` in time. */
async function lastStateAt({ seq = 0, messages = 0 }: { seq?: number; messages?: number }): Promise<Float64Array> {
  const isBehind = (watcher: Watching): boolean => watcher.seq < seq || watcher.messages < messages;
  const giveUpAt = monotonicMs() + LAST_STATE_TIMEOUT_MS;
  while (counts.watchers.some(isBehind) && monotonicMs() < giveUpAt) await delay(5);
  return Float64Array.from(counts.watchers, (watcher) => (isBehind(watcher) ? Infinity : watcher.at));
}

/** Closes all watchers except those on these ports. Afterwards the order of the watchers no longer matches that of the paths. */
function keep(ports: readonly number[]): number {
  const kept = new Set<number | undefined>(ports);
  for (const watcher of counts.watchers.splice(0)) {
    if (kept.has(watcher.localPort)) counts.watchers.push(watcher);
    else watcher.close();
  }
  return counts.watchers.length;
}

function close(): void {
  for (const watcher of counts.watchers.splice(0)) watcher.close();
  copied.clear();
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
    ports: () => counts.watchers.map(({ localPort }) => localPort),
    keep,
    close,
  },
);
