import type { KeySecret } from '../features/coins/key-secret.ts';
import type { RedisHealth } from '../redis/connect.ts';
import type { RedisConnections } from '../redis/redis-connections.ts';
import type { DataGuard } from '../redis/data/data-guard.ts';
import { isOfDisk, type RedisTrouble } from '../redis/trouble.ts';
import { oneAtATime } from '../server/shared-call.ts';
import type { PrivateRedisFigures } from './options.ts';

export interface ReadinessOptions {
  readonly connections: RedisConnections;
  readonly data: DataGuard;
  readonly keySecret: KeySecret;
  readonly privateRedis: PrivateRedisFigures | undefined;
  readonly isDraining: () => boolean;
}

/** Makes the check behind `/ready`: whether a process should get traffic, and the reason if it should not. */
export function readinessOf({ connections, data, keySecret, privateRedis, isDraining }: ReadinessOptions): () => Promise<RedisHealth> {
  const redisHealth = oneAtATime(() =>
    connections.health().catch((error: Error): RedisHealth => {
      connections.met(error.message);
      return { ok: false, problem: error.message };
    }),
  );
  return async () => {
    if (isDraining()) return { ok: false, problem: 'draining' };
    const trouble = privateRedis?.trouble();
    const { problem } = connections;
    if (problem !== undefined) return { ok: false, problem: `${problem}${whyOf(trouble)}` };
    // A full disk ended the private Redis. It has been started again, but would end at its next write.
    if (isOfDisk(trouble)) return { ok: false, problem: `redis has ended, and would end at its next write${whyOf(trouble)}` };
    if (data.problem !== undefined) return { ok: false, problem: data.problem };
    const health = await redisHealth();
    if (!health.ok || keySecret.isKnown) return health;
    return { ok: false, problem: keySecret.problem?.replace(/\.$/, '') ?? 'the ledgers are not readable yet, or are being upgraded' };
  };
}

/** The trouble of Redis, in brackets and followed by a colon: `: the disk of Redis is full (docs/operations/runbook.md#a-full-disk)`. */
function whyOf(trouble: RedisTrouble | undefined): string {
  return trouble === undefined ? '' : `: ${trouble.text.replace(/\.$/, '')} (${trouble.mend})`;
}
