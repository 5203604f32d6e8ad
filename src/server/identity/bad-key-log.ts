import type { Logger } from 'pino';
import type { BadKey, KeyProblem } from './key-ring.ts';

/**
 * Logs requests with bad server keys: the first request at once, then at most one line a minute, because a client can send thousands of
 * them a second.
 */
export class BadKeyLog {
  readonly #log: Logger;
  readonly #refused = new Map<KeyProblem | 'from_browser', number>();
  readonly #keys = new Set<string>();
  #address: string | undefined;
  /** The earliest time of the next line, in milliseconds on the clock of `performance.now()`. */
  #nextLineAt = 0;

  constructor(log: Logger) {
    this.#log = log;
  }

  /**
   * @param address the client's address. Logged only if a key with this id exists: the operator needs it to find the server that sent the
   * key.
   * @param now on the clock of `performance.now()`
   */
  refused({ problem, id }: BadKey, address: () => string, now: number): void {
    if (id !== undefined) this.#address = address();
    this.#count(problem, id, now);
  }

  /** Counts a valid key that came with an Origin header: a page or an app sent it, and anybody can read the key there. */
  cameFromBrowser(id: string, now: number): void {
    this.#count('from_browser', id, now);
  }

  /** Writes a line about the requests since the last line. Called every 100 ms. @param now on the clock of `performance.now()` */
  sweep(now: number): void {
    if (this.#refused.size > 0 && now >= this.#nextLineAt) this.#tell(now);
  }

  /** Writes a line about the requests since the last line, at the end of the process. */
  close(): void {
    if (this.#refused.size > 0) this.#tell(Infinity);
  }

  #count(problem: KeyProblem | 'from_browser', id: string | undefined, now: number): void {
    this.#refused.set(problem, (this.#refused.get(problem) ?? 0) + 1);
    // Only ids of existing keys get here, and there are few of them.
    if (id !== undefined) this.#keys.add(id);
    this.sweep(now);
  }

  #tell(now: number): void {
    const line = { refused: Object.fromEntries(this.#refused), keys: [...this.#keys], address: this.#address };
    const advice = this.#refused.has('from_browser') ? ': a key came from a browser, where anybody can read it, so revoke it' : '';
    this.#log.warn(line, `server keys refused${advice}`);
    this.#nextLineAt = now + BETWEEN_LINES_MS;
    this.#refused.clear();
    this.#keys.clear();
    this.#address = undefined;
  }
}

const BETWEEN_LINES_MS = 60_000;
