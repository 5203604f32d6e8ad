import type { Logger } from 'pino';
import { readCluster, readRedis, type AuditConnection } from '../consistency/audit-connection.ts';
import type { Config } from '../config.ts';
import { openRedis } from '../process/opened-redis.ts';

/** The Redis or the Cluster that an audit reads. */
export interface AuditedRedis {
  /** Opens the connections on which the audit reads. @param share as of `readRedis` */
  connect(share: number): AuditConnection;
  /** Whether the audit started this Redis itself, so that no service uses it. */
  readonly isOwn: boolean;
  close(): Promise<void>;
}

/** Opens the Redis of the settings, like `openRedis`. */
export async function openAuditedRedis(config: Config, log: Logger): Promise<AuditedRedis> {
  // If the audit starts a Redis, this Redis must not rewrite its append-only file, because the audit writes nothing.
  const { source, isOwn, close } = await openRedis(config, log, { settings: ['--auto-aof-rewrite-percentage', '0'] });
  return {
    connect: (share) => ('redis' in source ? readRedis(source.redis, share) : readCluster(source.cluster, source.options, share)),
    isOwn,
    close,
  };
}
