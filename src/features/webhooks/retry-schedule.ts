const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * The waits between the attempts to deliver an event, from the Standard Webhooks specification: ten attempts in a little more than three
 * days.
 */
const WAITS_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];

/** The times at which the repeated attempts are due, in milliseconds since the first failure. */
const DUE_MS = WAITS_MS.map((_, index) => WAITS_MS.slice(0, index + 1).reduce((sum, waitMs) => sum + waitMs));

/**
 * The bounds of a wait that an endpoint asks for with Retry-After, in milliseconds. Without them, the header could make the service flood
 * the endpoint, or stop deliveries.
 */
const RETRY_AFTER_MS = { least: SECOND_MS, most: 24 * HOUR_MS };

/**
 * The time at which a failed event is tried again, in milliseconds since 1970. The wait depends on the time since the first failure, so
 * that additional attempts, restarts and outages of the service do not change the schedule.
 * @param failedSince when the event failed for the first time
 * @returns undefined if the event is given up
 */
export function nextAttemptAt(failedSince: number, now: number, retryAfterMs: number | undefined): number | undefined {
  const dueMs = DUE_MS.find((age) => age > now - failedSince);
  if (dueMs === undefined) return undefined;
  if (retryAfterMs === undefined) return failedSince + dueMs;
  return now + Math.min(Math.max(retryAfterMs, RETRY_AFTER_MS.least), RETRY_AFTER_MS.most);
}
