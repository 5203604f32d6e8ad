const FIRST_BACKOFF_MS = 60_000;

/** The backoff doubles with each failed look, up to this. */
const LONGEST_BACKOFF_MS = 30 * 60_000;

/**
 * How long to wait after looks in a row that failed, in milliseconds. The jitter spreads looks that one outage made fail together.
 * @param faults 1 or more
 */
export function backoffMs(faults: number): number {
  return Math.round(Math.min(FIRST_BACKOFF_MS * 2 ** (faults - 1), LONGEST_BACKOFF_MS) * (0.75 + Math.random() / 4));
}
