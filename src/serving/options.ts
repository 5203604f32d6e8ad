import type { Logger } from 'pino';
import type { Holding } from '../accounts/holdings.ts';
import type { SessionKey } from '../config.ts';
import type { AuditResult } from '../consistency/background.ts';
import type { RedisLocation } from '../redis/connect.ts';
import type { DataMemory } from '../redis/data/known-data.ts';
import type { RedisTrouble } from '../redis/trouble.ts';
import type { DiskRoom } from '../server/redis-metrics.ts';
import type { Reservations } from '../server/reservations.ts';
import type { AppStore, StoreOptions } from '../stores/store.ts';

/** The options of a serving process that are not settings. */
export interface ServiceOptions {
  redis: RedisLocation;
  sessionKeys: readonly SessionKey[];
  log: Logger;
  /** Whether other workers of this service listen on the same port. */
  shared?: boolean;
  /** Whether no other process uses this Redis. */
  isAlone?: boolean;
  /** Facts about the private Redis. Undefined if the service uses another Redis. */
  privateRedis?: PrivateRedisFigures;
  /** Remembers the id of the data beyond the end of the process. Default: only this process knows the id. */
  dataMemory?: DataMemory;
  /**
   * Counts, for the limits of a client address, what the clients do on all workers together: creations (logins, rooms, pairings …), wrong
   * guesses of codes and tokens, sockets and ledger entries. Default: this process counts only its own clients.
   */
  reservations?: Reservations;
  /** The time in milliseconds since 1970. Default: Redis's clock. Tests set their own clock. */
  now?: () => number;
  /** The clock of this machine, in milliseconds since 1970. Default: `now` if it is given, else the clock of `Date`. */
  wallClock?: () => number;
  /** A monotonic clock for intervals, in milliseconds. Tests set their own clock. */
  monotonic?: () => number;
  /** Every AUDIT_EVERY_HOURS, audits the Redis that these settings name (REDIS_URL or DATA_DIR). Default: no audit in the background. */
  audit?: (settings: Record<string, string>, signal: AbortSignal) => Promise<AuditResult>;
  /** Gives the metrics of all workers in the Prometheus text format. Default: the metrics of this process. */
  metricsText?: () => Promise<string>;
  /** For tests: makes the app store, in place of those that the setting STORE names. */
  store?: (options: StoreOptions) => AppStore;
  /** For tests: holdings in place of those in `src/holdings.ts`. */
  holdings?: readonly Holding[];
  /** For tests: whether a script that touches keys of two slots fails. */
  checksTags?: boolean;
  /**
   * For tests: the time that a request may take, in place of `REDIS_DEADLINE_MS`, in milliseconds, so that no test fails on a busy machine.
   */
  redisDeadlineMs?: number;
  /** For tests: milliseconds by which scripts see Redis's clock ahead of the real one. */
  redisAheadMs?: number;
}

/** Facts about the private Redis that a process can find without asking Redis. */
export interface PrivateRedisFigures {
  /** Why the private Redis has just ended. Undefined: it has not. */
  trouble(): RedisTrouble | undefined;
  /** The free room and the size of the disk with the data of Redis. Undefined: not known. */
  disk(): DiskRoom | undefined;
  /** The memory of this machine or container in bytes. Undefined: not known. */
  readonly memoryBytes: number | undefined;
}
