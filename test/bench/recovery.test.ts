import { expect, test } from 'vitest';
import type { Arrivals } from '../../bench/load/arrivals-order.ts';
import { recoverySeconds } from '../../bench/measure/recovery.ts';

const answers = {
  normal: { kind: 0, latency: 5 },
  '3 × p99': { kind: 0, latency: 30 },
  slow: { kind: 0, latency: 31 },
  refused: { kind: 1, latency: 5 },
};

/** Requests that are due every 10 ms from 5000 on, ten in each window of 100 ms. */
function arrivals(windows: readonly (keyof typeof answers)[]): Arrivals {
  const all = windows.flatMap((window) => Array.from({ length: 10 }, () => answers[window]));
  return {
    numbers: new Uint32Array(),
    kindOf: Uint32Array.from(all, ({ kind }) => kind),
    due: Float64Array.from(all, (_, index) => 5000 + 10 * index),
    latencies: Float64Array.from(all, ({ latency }) => latency),
    lags: new Float64Array(),
    kinds: ['served', 'overloaded'],
    next: all.length,
  };
}

test.each<[seconds: number, ...windows: (keyof typeof answers)[]]>([
  [0, 'normal', 'normal', 'normal', 'normal', 'normal', 'normal'],
  [0, '3 × p99', '3 × p99', 'normal', 'normal', 'normal', 'normal'],
  // Two windows in a row have to be normal.
  [0.2, 'refused', 'slow', 'normal', 'normal', 'slow', 'normal'],
  [0.3, 'refused', 'normal', 'refused', 'normal', 'normal', 'normal'],
  // The whole time, because the service does not recover.
  [0.6, 'slow', 'slow', 'slow', 'slow', 'slow', 'slow'],
])('a service recovers after %d s: %s, %s, %s, %s, %s, %s', (seconds, ...windows) => {
  expect(recoverySeconds(arrivals(windows), 5000, { normalP99: 10, afterSeconds: 0.6 })).toBe(seconds);
});
