import type { Logger } from 'pino';
import type { RedisClock } from '../redis-clock.ts';
import type { ScriptRunner, ScriptShard } from '../script-runner.ts';

/** Keeps what a process must remember across restarts: the files `data-id` and `data-heartbeats` in DATA_DIR. */
export interface DataMemory {
  read(): { readonly id: string | undefined; readonly newest: Newest };
  write(id: string): void;
  /**
   * Stores for how long the data had been served (`Newest`), so that the process still knows it after a restart. Returns at once, and
   * writes the file later.
   */
  remember(id: string, newest: Newest): void;
  /** Resolves once the file has been written that `remember` writes. */
  written(): Promise<void>;
}

/**
 * For how long the data had been served when a service last saw it. A heartbeat is the data's own count of milliseconds of serving
 * (`data-id.ts`).
 */
export interface Newest {
  /** The heartbeats in milliseconds, by the Redis key in which each was found. A Cluster has a heartbeat for each primary. */
  readonly heartbeats: Readonly<Record<string, number>>;
  /** The time at which each heartbeat was read, in milliseconds since 1970 by Redis's clock, by the same keys. */
  readonly times: Readonly<Record<string, number>>;
}

/** The data of one Redis, or of all primaries of a Cluster, as far as a process knows it. */
export interface KnownData {
  /** The id of the data, as the process or `DATA_DIR/data-id` remembers it. */
  id: string | undefined;
  /**
   * By Redis key: the last heartbeat (the data's count of milliseconds of serving) that Redis has acknowledged. If scripts wait for
   * replicas, the replicas have it too. If the heartbeat in Redis is much lower, Redis has lost data.
   */
  readonly heartbeats: Map<string, number>;
  /** The time at which each heartbeat in `heartbeats` was read, in milliseconds since 1970 by Redis's clock, by its Redis key. */
  readonly times: Map<string, number>;
  /** The heartbeat that the last check found in Redis, by its Redis key. */
  readonly found: Map<string, number>;
  /** The setting ACCEPT_DATA: the id of data that the operator accepts. */
  readonly accepts: string | undefined;
  /**
   * Whether the first start has finished. From then on a missing id means lost data. Always true on a single Redis, where one script writes
   * all keys of a first start.
   */
  stands: boolean;
}

/** The reason why data is not served, and the id to set in ACCEPT_DATA to accept the data. */
export interface DataProblem {
  readonly kind: 'empty' | 'other' | 'older' | 'secret' | 'slot';
  readonly text: string;
  readonly accept: string;
}

export interface DataVerdictOptions {
  /** `host:port` of a primary. Undefined on one Redis. */
  readonly name: string | undefined;
  readonly scripts: Pick<ScriptRunner, 'run'>;
  /** Runs scripts whose answers wait for replicas. Undefined: no script waits for replicas. */
  readonly durable: Pick<ScriptRunner, 'run'> | undefined;
  /** Runs scripts in any slot, even if the data was not checked. */
  readonly unchecked: Pick<ScriptRunner, 'run'>;
  /** False while the private Redis would exit at its next write, because its disk refuses writes. */
  readonly mayWrite: () => boolean;
  /** Gets Redis's time from each check. */
  readonly clock: RedisClock | undefined;
  readonly known: KnownData;
  /** The keys of the data id and of the secret. Undefined for a primary that serves no slots. */
  readonly keys: () => { readonly id: string; readonly secret: string } | undefined;
  /** The keys of the data id in the other slots of a primary. Empty on one Redis. */
  readonly otherIds: () => readonly string[];
  /**
   * Reads the values of the data id in slots of a Cluster. A value is undefined if its slot is moving to another primary.
   * @throws Error if Redis does not answer
   */
  readonly idsOf?: (slots: readonly number[]) => Promise<readonly (string | null | undefined)[]>;
  /** Whether a text has the format of a secret. A damaged secret does not have it until an operator has repaired it. */
  readonly isSecret: (text: string) => boolean;
  readonly log: Logger;
  /** Called with the id that the data has from now on. */
  readonly adopted: (id: string) => void;
  readonly lost: () => void;
}

/** The options that differ between the primaries of a Cluster. */
export type OwnVerdictOptions = Pick<DataVerdictOptions, 'name' | 'keys' | 'otherIds' | 'idsOf'> & Pick<ScriptShard, 'scripts'>;
