/**
 * A kind of thing that clients can watch, such as rooms. The scripts that change a thing also number its states, so that all processes
 * agree on their order.
 */
export interface Feed {
  /**
   * Nothing is published: the things are read so often, in milliseconds, all of them together. Undefined: they have channels, and are read
   * every few seconds in case that a message was lost.
   */
  readonly polledEveryMs?: number;
  /** The Redis channel on which the scripts publish what happens to the thing with this id. A polled thing has a name of its own. */
  channel(id: string): string;
  /**
   * What a message on that channel brings.
   * @param known the latest state that the process has
   * @returns a number where the message changes a state that the process does not have: the position after the change. Undefined for one
   * that is older than the known state
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
  /** Tells states at one position apart: after a failover others may have taken the place of those that were lost. */
  readonly stamp: string;
  /** Whether no other state follows. */
  readonly isFinal: boolean;
  /** When the state changes without a message, in milliseconds since 1970. Infinity for never. */
  readonly changesAt: number;
  /** The message that watchers receive. Called at most once for each state in a process. */
  encode(): string;
  /** The message for watchers that take patches: what changed since the last push. Without it they get whole states too. */
  encodePatch?(): string;
  /** No more characters than `encode` gives, counted for less than it costs. */
  readonly leastLength?: number;
  /** Called when all watchers have this state. */
  pushed?(): void;
  /** Called for a state that was read, and not made by a change of the known one. */
  follow?(known: State): void;
  /** The position of the last change of what only named watchers see. 0 for none. */
  readonly privateAt: number;
  /** The names whose part this very change set. Undefined where that is not known: the state was read, and other changes may precede it. */
  readonly privateOf?: readonly string[] | undefined;
}

/** Something that is sent once and not kept. */
export interface Relay {
  /** Rises with every one. */
  readonly number: number;
  /** The names of the watchers that get it. Undefined: all. */
  readonly to: readonly string[] | undefined;
  readonly message: string;
  /** As in State. */
  readonly changesAt: number;
}
