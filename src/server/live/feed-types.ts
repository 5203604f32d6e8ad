/**
 * A kind of thing that clients can watch, such as rooms. The scripts that change such a thing also number its states, so that all processes
 * agree on the order of the states.
 */
export interface Feed {
  /**
   * Only for things whose changes are not published: the interval, in milliseconds, at which all watched things of this kind are read
   * together. Undefined: changes are published on Redis channels, and the things are read every few seconds in case a message was lost.
   */
  readonly polledEveryMs?: number;
  /**
   * Whether `fetch` reads by scripts declared `tracked`: Redis then tells which keys have changed, and nothing is published. The name of
   * the channel is the hash tag of these keys.
   */
  readonly isTracked?: boolean;
  /** The shortest time between two pushes of a thing, in milliseconds. Default: `PUSH_INTERVAL_MS` of `pushes.ts`. */
  readonly pushIntervalMs?: number;
  /**
   * The Redis channel on which the scripts publish the changes of the thing with this id. For things that are polled it is only a unique
   * name.
   */
  channel(id: string): string;
  /**
   * Decodes a message on that channel.
   * @param known the latest state that the process has
   * @returns the new state, or the message to relay. A number if the change does not follow the known state: the position after the change.
   * Undefined if the message is older than the known state
   */
  take(message: string, known: State | undefined): State | Relay | number | undefined;
  /**
   * Reads the current states from Redis, in one round trip. `same` stands for a thing that is still in the known state, undefined for a
   * thing that no longer exists.
   */
  fetch(known: readonly { id: string; state: State | undefined }[]): Promise<(Fetched | undefined)[]>;
}

export interface Fetched {
  readonly state: State | 'same';
  /** The number of the last message that was relayed to the thing's watchers. */
  readonly relayed: number;
}

export interface State {
  /** The number of the state. It rises with every change. */
  readonly position: number;
  /** Distinguishes states with the same position: after a failover, new states may have the positions of lost states. */
  readonly stamp: string;
  /** Whether this state is the last one: nothing can change any more. */
  readonly isFinal: boolean;
  /** The time, in milliseconds since 1970, at which the state changes without a message, as by an expiry. Infinity: never. */
  readonly changesAt: number;
  /** The text of the message that gives watchers the whole state. Called at most once for each state in a process. */
  encode(): string;
  /**
   * The text of the message for watchers that take patches: the changes since the last push. Without this method they get whole states too.
   */
  encodePatch?(): string;
  /** A lower bound on the length of `encode()`. It is cheaper to compute than the encoding. */
  readonly leastLength?: number;
  /**
   * Whether this state looks the same to watchers as the known state. With this method the feed need not compare the states that it reads
   * with the known state.
   */
  equals?(known: State): boolean;
  /** Called when this state was pushed to all watchers. */
  pushed?(): void;
  /** Called with the known state if this state was read from Redis instead of being derived from the known state. */
  follow?(known: State): void;
  /** The position of the last change of any private part. 0: there was none. */
  readonly privateAt: number;
  /**
   * The names whose private parts this change set. Undefined if that is not known: a state that was read from Redis may include several
   * changes.
   */
  readonly privateOf?: readonly string[] | undefined;
}

/** A message that is sent once to the watchers and not kept. */
export interface Relay {
  /** The number of the message. It rises with every message of the thing. */
  readonly number: number;
  /** The names of the watchers that get the message. Undefined: all watchers get it. */
  readonly to: readonly string[] | undefined;
  readonly message: string;
  /** The time at which the state changes without a message, as in State. */
  readonly changesAt: number;
}
