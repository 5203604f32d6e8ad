/**
 * A kind of thing that clients can watch, such as rooms. The scripts that change a thing also make and number its states, so
 * that all processes agree on their order.
 */
export interface Feed {
  /** The Redis channel on which the scripts publish the states of the thing with this id. */
  channel(id: string): string;
  /** The state in a message on that channel. */
  parse(message: string): State;
  /**
   * Reads the current states from Redis, in one round trip. `same` stands for a state at the known position, undefined for a
   * thing that no longer exists.
   */
  fetch(known: readonly { id: string; position: number }[]): Promise<(State | 'same' | undefined)[]>;
}

export interface State {
  /** Rises with every change. */
  readonly position: number;
  /** The message that watchers receive. Called at most once for each state in a process. */
  encode(): {
    message: string;
    isFinal: boolean;
    /** When the state changes without a message, in milliseconds since 1970. */
    changesAt?: number;
  };
}
