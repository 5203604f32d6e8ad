import type { Logger } from 'pino';
import { Queue } from './queue.ts';
import type { ScriptRunner } from './script-runner.ts';

/**
 * Milliseconds between two counts. They are shorter than the time between two scrapes of the metrics, but long enough for a count to be
 * cheap: on a Cluster it takes 65 commands.
 */
const POLL_INTERVAL_MS = 10_000;

/** Counts the entries of a queue from time to time, so that a scrape of the metrics need not wait for Redis. */
export class QueueCount {
  /** The number of entries. Undefined until the first count. While Redis is unreachable, this is the last count. */
  count: number | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor(name: string, { scripts, log }: { readonly scripts: ScriptRunner; readonly log: Logger }) {
    const queue = new Queue(name, scripts);
    const poll = async (): Promise<void> => {
      try {
        this.count = await queue.size();
      } catch (error) {
        log.debug({ reason: (error as Error).message, queue: name }, 'could not count the entries of a queue');
      }
    };
    this.#timer = setInterval(() => void poll(), POLL_INTERVAL_MS);
    void poll();
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
