import type { Logger } from 'pino';
import type { ScriptRunner, ScriptShard } from './script-runner.ts';

/** What a process remembers of its data from one start to the next: `DATA_DIR/data-id`. */
export interface DataMemory {
  read(): { readonly id: string | undefined; readonly heartbeats: Readonly<Record<string, number>> };
  write(id: string): void;
  /** Data was rolled back behind these heartbeats. After a restart the process must still know that. */
  writeHeartbeats(id: string, heartbeats: Readonly<Record<string, number>>): void;
}

/** What a process knows of the data, over all primaries of a Cluster. */
export interface KnownData {
  /** The id of the data, from memory or from `DATA_DIR/data-id`. */
  id: string | undefined;
  /** The heartbeat that must not be lost, by its key: the last one that was acknowledged, by replicas too where durable scripts wait. */
  readonly heartbeats: Map<string, number>;
  /** The heartbeat that the last look found, by its key. */
  readonly found: Map<string, number>;
  /** ACCEPT_DATA. */
  readonly accepts: string | undefined;
  /** The data is complete: data without an id is no first start. One Redis writes all it needs in one script. */
  stands: boolean;
}

/** Why data is not served, and the id with which an operator accepts it. */
export interface DataProblem {
  readonly kind: 'empty' | 'other' | 'older' | 'secret' | 'slot';
  readonly text: string;
  readonly accept: string;
}

export interface PlaceParts {
  /** `host:port` of a primary. Undefined on one Redis. */
  readonly name: string | undefined;
  readonly scripts: Pick<ScriptRunner, 'run'>;
  /** Runs scripts whose answers wait for replicas. Undefined: a heartbeat counts as soon as the primary has it. */
  readonly durable: Pick<ScriptRunner, 'run'> | undefined;
  /** Whether Redis would survive a write. */
  readonly mayWrite: () => boolean;
  readonly known: KnownData;
  /** The keys of the id and of the secret. Undefined for a primary that serves no slots. */
  readonly keys: () => { readonly id: string; readonly secret: string } | undefined;
  /**
   * The values of the data id in slots of a Cluster. Undefined for a slot that is moving to another primary.
   * @throws Error if Redis does not answer
   */
  readonly idsOf?: (slots: readonly number[]) => Promise<readonly (string | null | undefined)[]>;
  /** Whether a text is a secret. An operator may be mending a damaged one. */
  readonly isSecret: (text: string) => boolean;
  readonly log: Logger;
  /** The data has this id from now on. */
  readonly adopted: (id: string) => void;
  readonly lost: () => void;
}

/** What each place has of its own. */
export type OwnParts = Pick<PlaceParts, 'name' | 'keys' | 'idsOf'> & Pick<ScriptShard, 'scripts'>;
