import { setTimeout as delay } from 'node:timers/promises';
import type { Child } from '../processes/child.ts';
import type { Bench } from '../scenario.ts';
import type { Dialect, Tallied, WatchersToOpen } from './watchers.ts';

/** Watchers in processes of their own, as the scenarios deal with them. */
export class Audience {
  readonly #children: readonly Child[];
  /** Of each child, the watchers that it has. */
  readonly #watchers: number[];

  /** Resolves once all of them watch, and have what they are sent at first. */
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

  /** Counts from now on. */
  async start(): Promise<void> {
    await this.#askAll('start');
  }

  /**
   * Stops counting once this many messages have come, or no more do.
   * @param lastChanges when each path's state changed last, where it is to be seen whether all have it
   */
  async stop(messages: number, lastChanges: Float64Array = new Float64Array()): Promise<Tallied> {
    const all = sum(this.#watchers) || 1;
    await Promise.all(this.#children.map((child, index) => child.ask('reached', (messages * this.#watchers[index]!) / all)));
    return together(await this.#askAll<Tallied>('stop', lastChanges));
  }

  /** When each got its latest state, on the clock of `monotonicMs`; Infinity for one that never came to `seq`, or to so many messages. */
  async lastStateAt(wanted: { seq?: number; messages?: number }): Promise<Float64Array> {
    return joined(Float64Array, await this.#askAll<Float64Array>('lastStateAt', wanted));
  }

  /** The rooms that the watchers of each path have, as JSON, each but once; for watchers that keep the room. */
  async states(paths: number): Promise<string[][]> {
    const found = await this.#askAll<string[][]>('states', paths);
    return Array.from({ length: paths }, (_, path) => [...new Set(found.flatMap((states) => states[path]!))]);
  }

  /** They go; the processes stay for others. */
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

/** Colyseus's own client takes several times the CPU of the watchers that only look at two places of a message. */
const PROCESSES: Partial<Record<Dialect, number>> = { colyseus: 2 };

/** First states and answers that are still on their way when the last socket is open. */
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
