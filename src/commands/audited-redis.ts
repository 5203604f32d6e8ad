import type { Logger } from 'pino';
import { readCluster, readRedis, type AuditConnection } from '../consistency/audit-connection.ts';
import type { Config } from '../config.ts';
import { openRedis } from '../process/opened-redis.ts';

/** The Redis or the Cluster that an audit reads. */
export interface AuditedRedis {
  /** Opens the connections for the reads. @param share as of `readRedis` */
  connect(share: number): AuditConnection;
  /** The audit started this Redis itself: no service uses it. */
  readonly isOwn: boolean;
  close(): Promise<void>;
}

/** As `openRedis`. */
export async function openAuditedRedis(config: Config, log: Logger): Promise<AuditedRedis> {
  // The audit writes nothing, so the append-only file must not be rewritten.
  const { source, isOwn, close } = await openRedis(config, log, { settings: ['--auto-aof-rewrite-percentage', '0'] });
  return {
    connect: (share) => ('redis' in source ? readRedis(source.redis, share) : readCluster(source.cluster, source.options, share)),
    isOwn,
    close,
  };
}
