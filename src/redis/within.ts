import { setTimeout as pause } from 'node:timers/promises';

/** Settles as `work` does, or after `milliseconds` as `late` does. The wait alone keeps no process alive. */
export async function within<Result, Late>(milliseconds: number, work: Promise<Result>, late: () => Late): Promise<Result | Late> {
  const limit = new AbortController();
  try {
    return await Promise.race([work, pause(milliseconds, undefined, { signal: limit.signal, ref: false }).then(late)]);
  } finally {
    limit.abort();
  }
}
