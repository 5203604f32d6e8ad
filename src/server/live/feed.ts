/**
 * A kind of thing that clients can watch, such as rooms. The scripts that change a thing also number its states, so that all processes
 * agree on their order.
 */
export interface Feed {
  /**
   * For things whose changes are not published: the interval, in milliseconds, at which all of them are read together. Undefined: changes
   * are published on Redis channels, and the things are read every few seconds in case a message was lost.
   */
  readonly polledEveryMs?: number;
  /** The Redis channel on which the scripts publish what happens to the thing with this id. For a polled thing only a unique name. */
  channel(id: string): string;
  /**
   * Decodes a message on that channel.
   * @param known the latest state that the process has
   * @returns a number, the position after the change, if the message changes a state that the process does not have. Undefined for a
   * message that is older than the known state
   */
  take(message: string, known: State | undefined): State | Relay | number | undefined;
  /**
   * Reads the current states from Redis, in one round trip. `same` stands for a thing that is still in the known state, undefined for one
   * that no longer exists.
   */
  fetch(known: readonly { id: string; state: State | undefined }[]): Promise<(Fetched | undefined)[]>;
}

export interface Fetched {
  readonly state: State | 'same';
  /** The number of the last relayed message. */
  readonly relayed: number;
}

export interface State {
  /** Rises with every change. */
  readonly position: number;
  /** Distinguishes states with the same position: after a failover, new states may have the positions of lost states. */
  readonly stamp: string;
  /** Whether no other state follows. */
  readonly isFinal: boolean;
  /** When the state changes without a message, in milliseconds since 1970. Infinity for never. */
  readonly changesAt: number;
  /** The message that watchers receive. Called at most once for each state in a process. */
  encode(): string;
  /** The message for watchers that take patches: what changed since the last push. Without it they get whole states too. */
  encodePatch?(): string;
  /** A lower bound on the length of `encode()`, which is cheaper than encoding. */
  readonly leastLength?: number;
  /** Called when all watchers have this state. */
  pushed?(): void;
  /** Called for a state that was read from Redis, not derived from the known one by a change. */
  follow?(known: State): void;
  /** The position of the last change of a private part. 0 for none. */
  readonly privateAt: number;
  /** The names whose private part this change set. Undefined if not known: a state that was read may include earlier changes too. */
  readonly privateOf?: readonly string[] | undefined;
}

/** Something that is sent once and not kept. */
export interface Relay {
  /** Rises with every relay. */
  readonly number: number;
  /** The names of the watchers that get it. Undefined: all. */
  readonly to: readonly string[] | undefined;
  readonly message: string;
  /** As in State. */
  readonly changesAt: number;
}
