import { setTimeout as delay } from 'node:timers/promises';
import type { Child } from '../processes/child.ts';
import type { Bench } from '../scenario.ts';
import type { Dialect, Tallied, WatchersToOpen } from './watchers.ts';

/** The watchers of a scenario. They run in separate processes (watchers.ts). */
export class Audience {
  readonly #children: readonly Child[];
  /** Number of watchers in each child. */
  readonly #watchers: number[];

  /** Resolves once all watchers are open and have their first state. */
  static async gather(bench: Bench, wanted: WatchersToOpen): Promise<Audience> {
    const audience = await Audience.empty(bench, wanted.dialect);
    await audience.open(wanted);
    return audience;
  }

  static async empty(bench: Bench, dialect: Dialect): Promise<Audience> {
    const module = new URL('watchers.ts', import.meta.url);
    return new Audience(await Promise.all(Array.from({ length: PROCESSES[dialect] ?? 1 }, () => bench.child(module))));
  }

  private constructor(children: readonly Child[]) {
    this.#children = children;
    this.#watchers = children.map(() => 0);
  }

  async open(wanted: WatchersToOpen): Promise<void> {
    const share = Math.ceil(wanted.each / this.#children.length);
    const eachOf = this.#children.map((_, index) => Math.max(0, Math.min(share, wanted.each - index * share)));
    await Promise.all(this.#children.map((child, index) => child.ask('open', { ...wanted, each: eachOf[index] })));
    for (const [index, each] of eachOf.entries()) this.#watchers[index]! += each * wanted.paths.length;
    await delay(SETTLE_MS);
  }

  /**
   * Closes all watchers except those whose own port is to be kept. Only for plain sockets.
   * @returns the number of watchers that stay
   */
  async keep(isKept: (port: number) => boolean): Promise<number> {
    for (const [index, child] of this.#children.entries()) {
      const ports = await child.ask<number[]>('ports');
      this.#watchers[index] = await child.ask<number>('keep', ports.filter(isKept));
    }
    return sum(this.#watchers);
  }

  /** Resets the counts and starts to count messages. */
  async start(): Promise<void> {
    await this.#askAll('start');
  }

  /**
   * Stops counting after this many messages, or when no more arrive.
   * @param lastChanges the time of each path's last change; without it no watcher counts as behind
   */
  async stop(messages: number, lastChanges: Float64Array = new Float64Array()): Promise<Tallied> {
    const all = sum(this.#watchers) || 1;
    await Promise.all(this.#children.map((child, index) => child.ask('reached', (messages * this.#watchers[index]!) / all)));
    return together(await this.#askAll<Tallied>('stop', lastChanges));
  }

  /** When each watcher received its latest state, on the clock of `monotonicMs`. Infinity for one below `seq` or `messages`. */
  async lastStateAt(wanted: { seq?: number; messages?: number }): Promise<Float64Array> {
    return joined(Float64Array, await this.#askAll<Float64Array>('lastStateAt', wanted));
  }

  /** The distinct rooms of each path's watchers, as JSON; for watchers that keep a copy of the room. */
  async states(paths: number): Promise<string[][]> {
    const found = await this.#askAll<string[][]>('states', paths);
    return Array.from({ length: paths }, (_, path) => [...new Set(found.flatMap((states) => states[path]!))]);
  }

  /** Closes all watchers. The processes stay, to open others. */
  async leave(): Promise<void> {
    await this.#askAll('close');
    this.#watchers.fill(0);
  }

  async end(): Promise<void> {
    await Promise.all(this.#children.map((child) => child.stop()));
  }

  #askAll<Answer>(question: string, value?: unknown): Promise<Answer[]> {
    return Promise.all(this.#children.map((child) => child.ask<Answer>(question, value)));
  }
}

/** Colyseus's own client needs several times the CPU of the other watchers, which read only two values of a message. */
const PROCESSES: Partial<Record<Dialect, number>> = { colyseus: 2 };

/** Waits for first states and replies that are still on their way when the last socket is open. */
const SETTLE_MS = 150;

function together(parts: readonly Tallied[]): Tallied {
  return {
    watchers: sum(parts.map(({ watchers }) => watchers)),
    messages: sum(parts.map(({ messages }) => messages)),
    behind: sum(parts.map(({ behind }) => behind)),
    busiestSecond: Math.max(...parts.map(({ busiestSecond }) => busiestSecond)),
    faults: sum(parts.map(({ faults }) => faults)),
    closed: sum(parts.map(({ closed }) => closed)),
    latencies: joined(
      Float32Array,
      parts.map(({ latencies }) => latencies),
    ),
  };
}

function joined<Numbers extends Float32Array | Float64Array>(kind: new (length: number) => Numbers, parts: readonly Numbers[]): Numbers {
  if (parts.length === 1) return parts[0]!;
  const all = new kind(sum(parts.map(({ length }) => length)));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
