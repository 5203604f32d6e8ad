import type { Logger } from 'pino';
import type { RedisClock } from './redis-clock.ts';
import type { ScriptRunner, ScriptShard } from './script-runner.ts';

/** Keeps what a process must remember across restarts: the files `data-id` and `data-heartbeats` in DATA_DIR. */
export interface DataMemory {
  read(): { readonly id: string | undefined; readonly newest: Newest };
  write(id: string): void;
  /** Stores the newest heartbeats, so that the process still knows them after a restart. Returns at once, and writes the file later. */
  remember(id: string, newest: Newest): void;
  /** Resolves once the heartbeats are stored. */
  written(): Promise<void>;
}

/** The newest heartbeats that a service has seen in the data. */
export interface Newest {
  /** The heartbeats, in milliseconds of serving, by the Redis keys of their data ids (`data-id.ts`). */
  readonly heartbeats: Readonly<Record<string, number>>;
  /** When each heartbeat was read, in milliseconds since 1970 by Redis's clock, by the Redis key of its data id. */
  readonly times: Readonly<Record<string, number>>;
}

/** The data as a process knows it: of one Redis, or of all primaries of a Cluster. */
export interface KnownData {
  /** The id of the data, as the process or `DATA_DIR/data-id` remembers it. */
  id: string | undefined;
  /**
   * By the key of its data id, the heartbeat that must not be lost: the last that Redis, and replicas if scripts wait for them,
   * acknowledged.
   */
  readonly heartbeats: Map<string, number>;
  /** By the key of its data id, when the heartbeat in `heartbeats` was read, in milliseconds since 1970 by Redis's clock. */
  readonly times: Map<string, number>;
  /** By the key of its data id, the heartbeat that the last check found. */
  readonly found: Map<string, number>;
  /** The setting ACCEPT_DATA: the id of data that the operator accepts. */
  readonly accepts: string | undefined;
  /**
   * Whether the data is complete, so that data without an id is not a first start. A single Redis gets all keys of a first start in one
   * script.
   */
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
  /** Runs scripts whose answers wait for replicas. Undefined: `KnownData` takes a heartbeat as soon as the primary has it. */
  readonly durable: Pick<ScriptRunner, 'run'> | undefined;
  /** Runs scripts in any slot, without a check of the data. */
  readonly marking: Pick<ScriptRunner, 'run'>;
  /** Whether Redis would survive a write. */
  readonly mayWrite: () => boolean;
  /** Learns Redis's clock from each check. */
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
  /** Whether a text has the format of a secret. A damaged secret has not, until an operator has repaired it. */
  readonly isSecret: (text: string) => boolean;
  readonly log: Logger;
  /** Called with the id that the data has from now on. */
  readonly adopted: (id: string) => void;
  readonly lost: () => void;
}

/** The options that differ between the primaries of a Cluster. */
export type OwnVerdictOptions = Pick<DataVerdictOptions, 'name' | 'keys' | 'otherIds' | 'idsOf'> & Pick<ScriptShard, 'scripts'>;
