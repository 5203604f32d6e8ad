import type { Redis } from 'ioredis';
import type { RedisHealth } from './connect.ts';
import { troubleOf } from './trouble.ts';

/** Redis answers, but refuses writes: its disk or its memory is full, or too few replicas follow. */
export const REFUSES_WRITES = /^(?:MISCONF|OOM|NOREPLICAS)\b/;

/** A script that does nothing. Redis refuses it exactly while it refuses scripts that write: the flag `no-writes` is missing. */
const PROBE = '#!lua\nreturn 1';

/**
 * Not for a replica: its answer READONLY makes the connection search for the primary (`OPTIONS` of connect.ts).
 * @returns why Redis refuses writes; undefined if it accepts them. @throws Error if Redis is unavailable
 */
export async function refusalOfWrites(redis: Redis): Promise<string | undefined> {
  try {
    await redis.eval(PROBE, 0);
    return undefined;
  } catch (error) {
    const { message } = error as Error;
    if (REFUSES_WRITES.test(message)) return explained(message);
    // Other refusals are checked elsewhere.
    if (/^[A-Z]{3,} /.test(message)) return undefined;
    throw error;
  }
}

/** @param check the result of `checkRedis`. A Redis that refuses writes is not healthy. */
export async function withWrites(check: Promise<RedisHealth>, redis: Redis): Promise<RedisHealth> {
  const health = await check;
  const refusal = health.ok ? await refusalOfWrites(redis) : undefined;
  return refusal === undefined ? health : { ok: false, problem: refusal };
}

/** `redis refuses writes: OOM command not allowed … (Redis has reached its maxmemory: docs/…)` */
function explained(message: string): string {
  const trouble = troubleOf([message]);
  const what = trouble === undefined ? '' : ` (${trouble.text.replace(/\.$/, '')}: ${trouble.mend})`;
  return `redis refuses writes: ${message.replace(/\.$/, '')}${what}`;
}
