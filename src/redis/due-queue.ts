import type { Logger } from 'pino';
import { Queue, type Taken } from './queue.ts';
import type { ScriptRunner } from './script-runner.ts';

export interface DueQueueOptions {
  /** The name of the queue in Redis. The keys of its sorted sets are made from the name (`queueKeys`). */
  readonly name: string;
  /**
   * Does the work for one member, and resolves with the time at which the member is due again. Undefined: the member is not due again. It
   * may be called again for finished work, and for a document that does not exist, because the queue's entry is written before the document
   * (`Queue`). If it throws, the member is due again when the lease ends.
   */
  readonly work: (member: string) => Promise<number | undefined>;
  /** Milliseconds that the work of a member may take before another process may take over the member. */
  readonly leaseMs: number;
  /** How often each process checks for due members, in milliseconds. Default: 500. */
  readonly pollIntervalMs?: number | undefined;
  /**
   * The highest number of members whose work runs at the same time in this process. It must be low enough that the work of these members is
   * done well within a lease. If the queue has more sorted sets than free places, one member is taken from each set. Default: 16.
   */
  readonly atOnce?: number;
  /** About the highest number of members that a process takes in one poll. Default: all due members. */
  readonly mostAPoll?: number;
  /** Whether an entry that is written before a change waits for the replicas (REDIS_WAIT_REPLICAS), as in `Queue`. */
  readonly isDurable?: boolean;
  readonly scripts: ScriptRunner;
  readonly log: Logger;
  readonly now: () => number;
}

/**
 * A queue of due work in Redis, shared by all processes. A process takes work under a lease; if the process dies, another process takes
 * over the work.
 */
export class DueQueue extends Queue {
  readonly #options: DueQueueOptions;
  readonly #timer: NodeJS.Timeout;
  #polling: Promise<void> | undefined;
  readonly #working = new Set<Promise<void>>();
  #closed = false;

  constructor(options: DueQueueOptions) {
    super(options.name, options.scripts, options.isDurable);
    this.#options = options;
    const poll = (): void => void (this.#polling ??= this.#poll().finally(() => (this.#polling = undefined)));
    this.#timer = setInterval(poll, options.pollIntervalMs ?? 500);
  }

  /** Stops taking work, and resolves when the work already taken is done. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    await this.#polling;
    await Promise.all(this.#working);
  }

  /** Takes members until none is due. A member whose work takes long does not hold up other due members. */
  async #poll(): Promise<void> {
    const { atOnce = 16, mostAPoll = Infinity } = this.#options;
    let keys = this.keys();
    for (let taken = 0; keys.length > 0 && taken < mostAPoll && !this.#closed;) {
      const free = Math.min(atOnce - this.#working.size, mostAPoll - taken);
      if (free <= 0) {
        await Promise.race(this.#working);
        continue;
      }
      const limit = Math.ceil(free / keys.length);
      // The calls start in one turn of the event loop, so that the calls for all sorted sets share commands.
      const found = await Promise.all(keys.map((key) => this.#taken(key, limit)));
      for (const [member, entries] of Map.groupBy(found.flat(), (of) => of.member)) {
        const working = this.#do(member, entries).finally(() => this.#working.delete(working));
        this.#working.add(working);
      }
      taken += found.flat().length;
      keys = keys.filter((_, index) => found[index]!.length >= limit);
    }
  }

  /**
   * Takes due members of one sorted set. Returns none if the sorted set's primary is down, because the sets on other primaries must still
   * be read.
   */
  async #taken(key: string, limit: number): Promise<Taken[]> {
    const { leaseMs, now, log } = this.#options;
    try {
      return await this.take(key, { now: now(), leaseMs, limit });
    } catch (error) {
      log.debug({ reason: (error as Error).message, queue: key }, 'could not poll for due work');
      return [];
    }
  }

  async #do(member: string, entries: readonly Taken[]): Promise<void> {
    try {
      const nextAt = await this.#options.work(member);
      await Promise.all(entries.map((taken) => this.settleTaken(taken, nextAt)));
    } catch (error) {
      this.#options.log.warn(
        { reason: (error as Error).message, queue: this.name },
        'could not do due work; it is due again after its lease',
      );
    }
  }
}
