import type { Logger } from 'pino';
import type { RedisClock } from './redis-clock.ts';
import type { ScriptRunner, ScriptShard } from './script-runner.ts';

/** The data that a process remembers across restarts: `data-id` and `data-heartbeats` in DATA_DIR. */
export interface DataMemory {
  read(): { readonly id: string | undefined; readonly newest: Newest };
  write(id: string): void;
  /** Stores the newest heartbeats, so that the process still knows them after a restart. Returns at once, and writes later. */
  remember(id: string, newest: Newest): void;
  /** Resolves once all is stored. */
  written(): Promise<void>;
}

/** How far data was known to have been served. */
export interface Newest {
  /** The heartbeats by their keys (`data-id.ts`), in milliseconds of serving. */
  readonly heartbeats: Readonly<Record<string, number>>;
  /** When each heartbeat was read, by its key, in milliseconds since 1970 by Redis's clock. */
  readonly times: Readonly<Record<string, number>>;
}

/** The data as a process knows it, over all primaries of a Cluster. */
export interface KnownData {
  /** The id of the data, from memory or from `DATA_DIR/data-id`. */
  id: string | undefined;
  /** The heartbeat that must not be lost, by its key: the last one that Redis, and replicas if scripts wait for them, acknowledged. */
  readonly heartbeats: Map<string, number>;
  /** When that heartbeat was read, by its key, in milliseconds since 1970 by Redis's clock. */
  readonly times: Map<string, number>;
  /** The heartbeat that the last check found, by its key. */
  readonly found: Map<string, number>;
  /** ACCEPT_DATA. */
  readonly accepts: string | undefined;
  /** The data is complete, so data without an id is not a first start. A single Redis gets all keys of a first start in one script. */
  stands: boolean;
}

/** Why data is not served, and the id with which an operator accepts it. */
export interface DataProblem {
  readonly kind: 'empty' | 'other' | 'older' | 'secret' | 'slot';
  readonly text: string;
  readonly accept: string;
}

export interface DataVerdictOptions {
  /** `host:port` of a primary. Undefined on one Redis. */
  readonly name: string | undefined;
  readonly scripts: Pick<ScriptRunner, 'run'>;
  /** Runs scripts whose answers wait for replicas. Undefined: a heartbeat counts as soon as the primary has it. */
  readonly durable: Pick<ScriptRunner, 'run'> | undefined;
  /** Runs scripts in any slot. */
  readonly marking: Pick<ScriptRunner, 'run'>;
  /** Whether Redis would survive a write. */
  readonly mayWrite: () => boolean;
  /** Learns Redis's clock from each check. */
  readonly clock: RedisClock | undefined;
  readonly known: KnownData;
  /** The keys of the id and of the secret. Undefined for a primary that serves no slots. */
  readonly keys: () => { readonly id: string; readonly secret: string } | undefined;
  /** The keys of the id in the other slots of a primary. None on one Redis. */
  readonly otherIds: () => readonly string[];
  /**
   * The values of the data id in slots of a Cluster. Undefined for a slot that is moving to another primary.
   * @throws Error if Redis does not answer
   */
  readonly idsOf?: (slots: readonly number[]) => Promise<readonly (string | null | undefined)[]>;
  /** Whether a text is a secret. It is not while an operator repairs a damaged secret. */
  readonly isSecret: (text: string) => boolean;
  readonly log: Logger;
  /** The data has this id from now on. */
  readonly adopted: (id: string) => void;
  readonly lost: () => void;
}

/** The options that differ between places. */
export type OwnVerdictOptions = Pick<DataVerdictOptions, 'name' | 'keys' | 'otherIds' | 'idsOf'> & Pick<ScriptShard, 'scripts'>;
