/**
 * A kind of thing that can be watched, such as rooms: where its states come from, and how one follows another.
 * Its states are made and numbered by the scripts that change it, so that two processes never disagree on their order.
 */
export interface Feed {
  /** The Redis channel on which the scripts publish the states of the thing with this id. */
  channel(id: string): string;
  /** The state in a message on that channel. */
  parse(message: string): State;
  /** The states as they stand in Redis, in one round trip; undefined for what is gone. Those not newer than known may say `same`. */
  fetch(known: readonly { id: string; position: number }[]): Promise<(State | 'same' | undefined)[]>;
}

export interface State {
  /** Rises with every change. */
  readonly position: number;
  /** What its watchers are sent. Called once at the most for each state, process and push. */
  encode(): { message: string; isFinal: boolean; /** Milliseconds since 1970 when it changes by itself. */ changesAt?: number };
}

/** Close codes: 4000–4499 say "connect again", 4500–4999 "do not". */
export const closeCodes = {
  /** The server stops or restarts: connect again, elsewhere or a little later (RFC 6455). */
  goingAway: 1001,
  messageTooBig: 1009,
  /** What was sent was not understood, three times. */
  badMessages: 4400,
  /** Did not read for 30 s. */
  tooSlow: 4008,
  /** The store lost changes that were sent already: connect again for what stands. */
  wentBack: 4009,
  tooManyMessages: 4429,
  /** What was watched is gone. */
  gone: 4500,
  /** It reached its final state, which was sent before. */
  finished: 4501,
} as const;
