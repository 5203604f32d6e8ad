import { setTimeout as pause } from 'node:timers/promises';

/** Resolves when `work` does, or after `milliseconds`. The wait alone keeps no process alive. */
export async function within(milliseconds: number, work: Promise<unknown>): Promise<void> {
  const limit = new AbortController();
  await Promise.race([work, pause(milliseconds, undefined, { signal: limit.signal, ref: false }).catch(() => {})]);
  limit.abort();
}
