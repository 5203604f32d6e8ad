import type { Logger } from 'pino';
import { DELETIONS_DUE } from '../../accounts/tombstones.ts';
import { Queue } from '../../redis/queue.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';

/** Less than the time between two scrapes, and few enough looks: on a Cluster each is 65 commands. */
const LOOK_INTERVAL_MS = 10_000;

/** Counts the accounts that wait to be erased, for the metrics. A scrape itself asks Redis nothing. */
export class WaitingDeletions {
  /** Undefined until the first look. While Redis is away it is the last count. */
  count: number | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor({ scripts, log }: { readonly scripts: ScriptRunner; readonly log: Logger }) {
    const queue = new Queue(DELETIONS_DUE, scripts);
    const look = async (): Promise<void> => {
      try {
        this.count = await queue.size();
      } catch (error) {
        log.debug({ reason: (error as Error).message }, 'could not count the deletions that wait');
      }
    };
    this.#timer = setInterval(() => void look(), LOOK_INTERVAL_MS);
    void look();
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
