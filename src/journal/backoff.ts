const FIRST_BACKOFF_MS = 60_000;

/** The longest backoff, in milliseconds. The backoff doubles with each failed check until it has this length. */
const LONGEST_BACKOFF_MS = 30 * 60_000;

/**
 * How long to wait after a number of failed checks in a row, in milliseconds. The time is partly random, to spread checks that failed at
 * the same time in an outage.
 * @param faults number of failed checks in a row, 1 or more
 */
export function backoffMs(faults: number): number {
  return Math.round(Math.min(FIRST_BACKOFF_MS * 2 ** (faults - 1), LONGEST_BACKOFF_MS) * (0.75 + Math.random() / 4));
}
