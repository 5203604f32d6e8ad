import type { Logger } from 'pino';
import { defineScript } from './script.ts';
import type { Scripts } from './script-runner.ts';

const leaseDue = defineScript({
  file: new URL('lease-due.lua', import.meta.url),
  keys: ['due'],
  args: ['now', 'leaseMs', 'limit'],
  answers: ['taken'],
});

export interface DueQueueParts {
  /** A sorted set: what has to be looked at, by the time when (milliseconds since 1970). */
  readonly key: string;
  /**
   * Does the work of one member, and takes it out of the set or sets its next time, in the script that does the work. May
   * be called again for work that is done already: the lease of a slow one runs out. Where it throws, the member is due again after the lease.
   */
  readonly work: (member: string) => Promise<void>;
  /** How long one piece of work may take before another process may take it over. */
  readonly leaseMs: number;
  readonly scripts: Scripts;
  readonly log: Logger;
  readonly now: () => number;
}

/** How often each process looks; the first that does takes what is due. */
const LOOK_INTERVAL_MS = 500;
/** Taken at a time: few enough to be done well within a lease. */
const AT_ONCE = 16;

/** Work that Redis holds until it is due, shared by all processes: taken under a lease, so that a dead one's work is taken over. */
export class DueQueue {
  readonly #parts: DueQueueParts;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | undefined;
  #closed = false;

  constructor(parts: DueQueueParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => (this.#looking ??= this.#look().finally(() => (this.#looking = undefined))), LOOK_INTERVAL_MS);
  }

  /** Takes nothing more, and resolves once what was taken is through. */
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
      log.debug({ reason: (error as Error).message, queue: key }, 'due work could not be looked for');
    }
  }

  async #do(member: string): Promise<void> {
    try {
      await this.#parts.work(member);
    } catch (error) {
      this.#parts.log.warn({ reason: (error as Error).message, queue: this.#parts.key }, 'due work could not be done now');
    }
  }
}
