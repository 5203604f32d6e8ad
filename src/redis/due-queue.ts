import type { Logger } from 'pino';
import { defineScript } from './script.ts';
import type { ScriptRunner } from './script-runner.ts';

const leaseDue = defineScript({
  file: new URL('lease-due.lua', import.meta.url),
  keys: ['due'],
  args: ['now', 'leaseMs', 'limit'],
  answers: ['taken'],
});

export interface DueQueueParts {
  /** A sorted set: members by the time at which they are due (milliseconds since 1970). */
  readonly key: string;
  /**
   * Does the work of one member. The script that does the work also removes the member from the set, or sets its next time.
   * May be called again for work that is done already, because the lease of a slow call runs out. If it throws, the member is
   * due again after the lease.
   */
  readonly work: (member: string) => Promise<void>;
  /** Milliseconds that the work of a member may take before another process may take it over. */
  readonly leaseMs: number;
  readonly scripts: ScriptRunner;
  readonly log: Logger;
  readonly now: () => number;
}

/** How often each process looks for due members. The first to look takes them. */
const LOOK_INTERVAL_MS = 500;
/** Members taken at a time: few enough that their work is done well within a lease. */
const AT_ONCE = 16;

/** A queue of due work in Redis, shared by all processes. A process takes work under a lease; if it dies, another takes over. */
export class DueQueue {
  readonly #parts: DueQueueParts;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | undefined;
  #closed = false;

  constructor(parts: DueQueueParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => (this.#looking ??= this.#look().finally(() => (this.#looking = undefined))), LOOK_INTERVAL_MS);
  }

  /** Stops taking work, and resolves when the work already taken is done. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { key, scripts, leaseMs, now, log } = this.#parts;
    try {
      for (;;) {
        if (this.#closed) return;
        const [, ...members] = await scripts.run(leaseDue, { due: key }, { now: now(), leaseMs, limit: AT_ONCE });
        await Promise.all(members.map((member) => this.#do(member)));
        if (members.length < AT_ONCE) return;
      }
    } catch (error) {
      log.debug({ reason: (error as Error).message, queue: key }, 'could not look for due work');
    }
  }

  async #do(member: string): Promise<void> {
    try {
      await this.#parts.work(member);
    } catch (error) {
      this.#parts.log.warn(
        { reason: (error as Error).message, queue: this.#parts.key },
        'could not do due work; it is due again after its lease',
      );
    }
  }
}
