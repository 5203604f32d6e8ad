import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../measure/clock.ts';

/**
 * Calls `act` `rate` times a second for `seconds`, on a fixed schedule. A late call is made late and never skipped. It gets
 * its due time, so that latencies include the delay.
 * @returns the number of calls
 */
export async function onSchedule(
  { rate, seconds, signal }: { rate: number; seconds: number; signal: AbortSignal },
  act: (dueMs: number, number: number) => void,
): Promise<number> {
  const startedAt = monotonicMs();
  const count = Math.max(1, Math.round(rate * seconds));
  for (let number = 0; number < count;) {
    const dueMs = startedAt + (number * 1000) / rate;
    const waitMs = dueMs - monotonicMs();
    if (waitMs <= 0) act(dueMs, number++);
    else if (waitMs > 3) await delay(waitMs - 2, undefined, { signal });
    else {
      // Timers have a resolution of 1 ms, and a busy loop would take a core from the server.
      Atomics.wait(nap, 0, 0, Math.min(waitMs, 0.2));
      await setImmediate();
    }
  }
  return count;
}

const nap = new Int32Array(new SharedArrayBuffer(4));
