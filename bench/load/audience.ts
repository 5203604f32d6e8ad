import { setTimeout as delay } from 'node:timers/promises';
import type { Child } from '../processes/child.ts';
import type { Bench } from '../scenario.ts';
import type { Tallied, WatchersToOpen } from './watchers.ts';

/** Watchers in a process of their own, as the scenarios deal with them. */
export class Audience {
  readonly #child: Child;

  /** Resolves once all of them watch, and have what they are sent at first. */
  static async gather(bench: Bench, wanted: WatchersToOpen): Promise<Audience> {
    const audience = await Audience.empty(bench);
    await audience.open(wanted);
    return audience;
  }

  static async empty(bench: Bench): Promise<Audience> {
    return new Audience(await bench.child(new URL('watchers.ts', import.meta.url)));
  }

  private constructor(child: Child) {
    this.#child = child;
  }

  async open(wanted: WatchersToOpen): Promise<void> {
    await this.#child.ask('open', wanted);
    await delay(SETTLE_MS);
  }

  /** Counts from now on. */
  async start(): Promise<void> {
    await this.#child.ask('start');
  }

  /**
   * Stops counting once this many messages have come, or no more do.
   * @param lastChanges when each path's state changed last, where it is to be seen whether all have it
   */
  async stop(messages: number, lastChanges: Float64Array = new Float64Array()): Promise<Tallied> {
    await this.#child.ask('reached', messages);
    return this.#child.ask<Tallied>('stop', lastChanges);
  }

  /** When each got its latest state, on the clock of `monotonicMs`; Infinity for one that never came to `seq`, or to so many messages. */
  lastStateAt(wanted: { seq?: number; messages?: number }): Promise<Float64Array> {
    return this.#child.ask<Float64Array>('lastStateAt', wanted);
  }

  /** The rooms that the watchers of each path have, as JSON, each but once; for watchers that keep the room. */
  states(paths: number): Promise<string[][]> {
    return this.#child.ask<string[][]>('states', paths);
  }

  /** They go; the process stays for others. */
  async leave(): Promise<void> {
    await this.#child.ask('close');
  }

  async end(): Promise<void> {
    await this.#child.stop();
  }
}

/** First states and answers that are still on their way when the last socket is open. */
const SETTLE_MS = 150;
