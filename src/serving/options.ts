import type { Logger } from 'pino';
import type { Holding } from '../accounts/holdings.ts';
import type { SessionKey } from '../config.ts';
import type { AuditResult } from '../consistency/background.ts';
import type { RedisLocation } from '../redis/connect.ts';
import type { DataMemory } from '../redis/known-data.ts';
import type { RedisTrouble } from '../redis/trouble.ts';
import type { DiskRoom } from '../server/redis-metrics.ts';
import type { Reservations } from '../server/reservations.ts';
import type { AppStore, StoreOptions } from '../stores/store.ts';

/** The options of a serving process besides its settings. */
export interface ServiceOptions {
  redis: RedisLocation;
  sessionKeys: readonly SessionKey[];
  log: Logger;
  /** True: other workers of this service listen on the same port. */
  shared?: boolean;
  /** True: no other process uses this Redis. */
  isAlone?: boolean;
  /** Watches the private Redis. Undefined if the service uses another Redis. */
  privateRedis?: PrivateRedisFigures;
  /** Remembers the id of the data beyond the life of the process. Default: only this process knows it. */
  dataMemory?: DataMemory;
  /** Counts creations, misses, sockets and ledger entries for all workers together. Default: this process counts its own. */
  reservations?: Reservations;
  /** Milliseconds since 1970. Default: Redis's clock. Tests set their own clock. */
  now?: () => number;
  /** The clock of this machine, in milliseconds since 1970. Default: `now`, else that of `Date`. */
  wallClock?: () => number;
  /** A monotonic clock for intervals, in milliseconds. Tests move it. */
  monotonic?: () => number;
  /** Audits the Redis of these settings (REDIS_URL or DATA_DIR), for AUDIT_EVERY_HOURS. Default: no audit in the background. */
  audit?: (settings: Record<string, string>, signal: AbortSignal) => Promise<AuditResult>;
  /** Prometheus text of all workers. Default: the metrics of this process. */
  metricsText?: () => Promise<string>;
  /** For tests: an app store in place of the one that STORE names. */
  store?: (options: StoreOptions) => AppStore;
  /** For tests: holdings in place of those that `holdings.ts` lists. */
  holdings?: readonly Holding[];
  /** For tests: a script that touches keys of two slots fails. */
  checksTags?: boolean;
  /** For tests, so that none fails on a busy machine: the time of a request in place of `REDIS_DEADLINE_MS`. */
  redisDeadlineMs?: number;
  /** For tests: milliseconds by which Redis's clock is ahead, as scripts see it. */
  redisAheadMs?: number;
}

/** Facts about the private Redis that are known without asking it. */
export interface PrivateRedisFigures {
  /** The reason if it has just ended. */
  trouble(): RedisTrouble | undefined;
  /** Room on the disk of its data. */
  disk(): DiskRoom | undefined;
  /** The memory of this machine or container. */
  readonly memoryBytes: number | undefined;
}
