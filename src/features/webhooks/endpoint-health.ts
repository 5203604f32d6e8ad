/**
 * An endpoint is down after so many failures in a row, of so many accounts. Of an endpoint that fails half of the time, 64 in a row are one
 * in 10^19. At a low rate it is down after some time.
 */
const DOWN = { failures: 64, accounts: 5, forMs: 10_000 };

/**
 * A probe of an endpoint that is down comes after one second, then after twice as long each time, up to this. Each wait is up to half
 * shorter, at random: an endpoint that fails every ten seconds for five could otherwise meet each probe with a failure.
 */
const LONGEST_PROBE_WAIT_MS = 5000;

/**
 * Whether an endpoint takes events at all. While it is down, one attempt at a time probes it with growing waits, and events stay in the log:
 * neither the endpoint is flooded, nor do its accounts fill Redis one by one.
 */
export class EndpointHealth {
  #failures = 0;
  /** Those that failed since the last success, as many as count. */
  readonly #accounts = new Set<string>();
  #failingSince = 0;
  #probes = 0;
  #isDown = false;
  #probeAt = 0;

  get isDown(): boolean {
    return this.#isDown;
  }

  /** When the next probe may begin, in milliseconds since 1970. */
  get probeAt(): number {
    return this.#probeAt;
  }

  /** @returns whether it was down until now */
  succeeded(): boolean {
    const wasDown = this.#isDown;
    this.#failures = 0;
    this.#accounts.clear();
    this.#probes = 0;
    this.#isDown = false;
    return wasDown;
  }

  /**
   * @param begunAt when the attempt began
   * @returns whether it is down from now on
   */
  failed(account: string, begunAt: number, now: number): boolean {
    const { failures, accounts, forMs } = DOWN;
    if (this.#failures++ === 0) this.#failingSince = now;
    if (this.#accounts.size < accounts) this.#accounts.add(account);
    const wasDown = this.#isDown;
    this.#isDown ||= this.#accounts.size >= accounts && (this.#failures >= failures || now - this.#failingSince >= forMs);
    // Attempts that were under way when it went down are no probes: thirty of them would put the first probe off to the longest wait.
    if (this.#isDown && (!wasDown || begunAt >= this.#probeAt)) {
      const waitMs = Math.min(1000 * 2 ** Math.min(this.#probes++, 10), LONGEST_PROBE_WAIT_MS);
      this.#probeAt = now + waitMs * (0.5 + Math.random() / 2);
    }
    return this.#isDown && !wasDown;
  }
}
