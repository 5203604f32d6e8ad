import { SERVED, type Arrivals } from '../load/arrivals-order.ts';
import { percentile } from './statistics.ts';

/** Long enough for a 99th percentile at some thousand requests a second. */
const WINDOW_MS = 100;

/** A window is normal when its p99 is at most this many times the usual one: between windows it varies by as much. */
const NORMAL_FACTOR = 3;

/** A latency below this is always normal, because a garbage collection or a turn of the scheduler can take this long. */
const ALWAYS_NORMAL_MS = 20;

/**
 * Time from the end of an overload until answers are normal again: two windows in a row in which every request is served and
 * the 99th percentile of the latencies is near the usual one.
 * @param endedAt when the load fell, on the clock of `monotonicMs`
 * @param afterSeconds how long the lower load lasted; also the result when answers did not become normal
 */
export function recoverySeconds(
  { due, latencies, kindOf, kinds }: Arrivals,
  endedAt: number,
  { normalP99, afterSeconds }: { normalP99: number; afterSeconds: number },
): number {
  const served = kinds.indexOf(SERVED);
  const count = Math.floor((afterSeconds * 1000) / WINDOW_MS);
  const windows = Array.from({ length: count }, () => ({ latencies: [] as number[], hasFailures: false }));
  for (const [index, dueMs] of due.entries()) {
    const window = windows[Math.floor((dueMs - endedAt) / WINDOW_MS)];
    if (window === undefined) continue;
    if (kindOf[index] === served) window.latencies.push(latencies[index]!);
    else window.hasFailures = true;
  }
  const most = Math.max(ALWAYS_NORMAL_MS, NORMAL_FACTOR * normalP99);
  const isNormal = windows.map(
    (window) =>
      !window.hasFailures &&
      window.latencies.length > 0 &&
      percentile(
        window.latencies.toSorted((one, other) => one - other),
        0.99,
      ) <= most,
  );
  const first = isNormal.findIndex((normal, index) => normal && (isNormal[index + 1] ?? normal));
  return first < 0 ? afterSeconds : (first * WINDOW_MS) / 1000;
}
