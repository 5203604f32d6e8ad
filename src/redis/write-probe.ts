import type { Redis } from 'ioredis';
import type { RedisHealth } from './connect.ts';
import { troubleOf } from './trouble.ts';

/** Errors of a Redis that answers but refuses writes: its disk or its memory is full, or too few replicas follow. */
export const REFUSES_WRITES = /^(?:MISCONF|OOM|NOREPLICAS)\b/;

/** A script that does nothing. It lacks the flag `no-writes`, so Redis refuses it exactly when Redis refuses scripts that write. */
const PROBE = '#!lua\nreturn 1';

/**
 * Do not use it on a replica, whose answer READONLY makes the connection search for the primary (`OPTIONS` of connect.ts).
 * @returns why Redis refuses writes; undefined if it accepts them.
 * @throws Error if Redis is unavailable
 */
export async function refusalOfWrites(redis: Redis): Promise<string | undefined> {
  try {
    await redis.eval(PROBE, 0);
    return undefined;
  } catch (error) {
    const { message } = error as Error;
    if (REFUSES_WRITES.test(message)) return explained(message);
    // Other errors from Redis do not concern writes, and `checkRedis` reports their causes.
    if (/^[A-Z]{3,} /.test(message)) return undefined;
    throw error;
  }
}

/**
 * Tests a write on a Redis that `checkRedis` found healthy, because a Redis that refuses writes is not healthy.
 * @param check the result of `checkRedis`
 */
export async function withWrites(check: Promise<RedisHealth>, redis: Redis): Promise<RedisHealth> {
  const health = await check;
  const refusal = health.ok ? await refusalOfWrites(redis) : undefined;
  return refusal === undefined ? health : { ok: false, problem: refusal };
}

/** The problem in words for operators: `redis refuses writes: OOM command not allowed … (Redis has reached its maxmemory: docs/…)`. */
function explained(message: string): string {
  const trouble = troubleOf([message]);
  const what = trouble === undefined ? '' : ` (${trouble.text.replace(/\.$/, '')}: ${trouble.mend})`;
  return `redis refuses writes: ${message.replace(/\.$/, '')}${what}`;
}
