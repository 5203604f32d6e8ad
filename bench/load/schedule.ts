import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../measure/clock.ts';

/**
 * Calls `act` `rate` times a second for `seconds`, on a schedule that waits for nobody: a call is late rather than left
 * out, and told when it was due, so that lateness counts.
 * @returns how often it called
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
      // Timers know whole milliseconds only; a core that spins would be missed by the server.
      Atomics.wait(nap, 0, 0, Math.min(waitMs, 0.2));
      await setImmediate();
    }
  }
  return count;
}

const nap = new Int32Array(new SharedArrayBuffer(4));
