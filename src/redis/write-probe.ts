import type { Redis } from 'ioredis';
import type { RedisHealth } from './connect.ts';
import { troubleOf } from './trouble.ts';

/** Redis answers, and takes no write: its disk or its memory is full, or too few replicas follow. */
export const REFUSES_WRITES = /^(?:MISCONF|OOM|NOREPLICAS)\b/;

/** A script that does nothing. Redis refuses it exactly while it refuses scripts that write: the flag `no-writes` is missing. */
const PROBE = '#!lua\nreturn 1';

/** @returns why Redis takes no writes; undefined if it does. @throws Error if Redis is away */
export async function refusalOfWrites(redis: Redis): Promise<string | undefined> {
  try {
    await redis.eval(PROBE, 0);
    return undefined;
  } catch (error) {
    const { message } = error as Error;
    if (REFUSES_WRITES.test(message)) return explained(message);
    // Another refusal, such as that of a replica, is found by its own check.
    if (/^[A-Z]{3,} /.test(message)) return undefined;
    throw error;
  }
}

/** @param check what `checkRedis` found. A Redis that refuses writes is not healthy. */
export async function withWrites(check: Promise<RedisHealth>, redis: Redis): Promise<RedisHealth> {
  const [health, refusal] = await Promise.all([check, refusalOfWrites(redis)]);
  return health.ok && refusal !== undefined ? { ok: false, problem: refusal } : health;
}

/** `redis refuses writes: OOM command not allowed … (Redis has reached its maxmemory: docs/…)` */
function explained(message: string): string {
  const trouble = troubleOf([message]);
  const what = trouble === undefined ? '' : ` (${trouble.text.replace(/\.$/, '')}: ${trouble.mend})`;
  return `redis refuses writes: ${message.replace(/\.$/, '')}${what}`;
}
