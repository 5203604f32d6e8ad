/**
 * An endpoint counts as down if, since its last success, attempts for `accounts` accounts have failed, and in addition `failures` attempts
 * have failed or attempts have failed for `forMs` milliseconds. If an endpoint fails half of the time, the chance of 64 failures in a row
 * is 1 in 10^19.
 */
const DOWN = { failures: 64, accounts: 5, forMs: 10_000 };

/**
 * The longest wait between two probes of an endpoint that is down, in milliseconds. The first wait is one second, and each further wait is
 * twice as long. Each wait is shortened at random by up to half, because an endpoint that fails for five of every ten seconds could
 * otherwise fail at each probe.
 */
const LONGEST_PROBE_WAIT_MS = 5000;

/**
 * Whether an endpoint accepts events at all. While the endpoint is down, only single attempts are made to probe it, and all other events
 * stay in the log. So the endpoint is not flooded, and Redis does not fill with accounts that wait.
 */
export class EndpointHealth {
  #failures = 0;
  /** Accounts for which attempts have failed since the last success, at most `DOWN.accounts`. */
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

  /** To be called after a successful attempt. @returns whether the endpoint was down until now */
  succeeded(): boolean {
    const wasDown = this.#isDown;
    this.#failures = 0;
    this.#accounts.clear();
    this.#probes = 0;
    this.#isDown = false;
    return wasDown;
  }

  /**
   * To be called after a failed attempt. Times are milliseconds since 1970.
   * @param begunAt when the attempt began
   * @returns whether the endpoint is down from now on
   */
  failed(account: string, begunAt: number, now: number): boolean {
    const { failures, accounts, forMs } = DOWN;
    if (this.#failures++ === 0) this.#failingSince = now;
    if (this.#accounts.size < accounts) this.#accounts.add(account);
    const wasDown = this.#isDown;
    this.#isDown ||= this.#accounts.size >= accounts && (this.#failures >= failures || now - this.#failingSince >= forMs);
    // Attempts that began before the endpoint went down do not count as probes, because thirty such failures would raise the wait to its
    // maximum.
    if (this.#isDown && (!wasDown || begunAt >= this.#probeAt)) {
      const waitMs = Math.min(1000 * 2 ** Math.min(this.#probes++, 10), LONGEST_PROBE_WAIT_MS);
      this.#probeAt = now + waitMs * (0.5 + Math.random() / 2);
    }
    return this.#isDown && !wasDown;
  }
}
