/** A watcher of a room, over any protocol. */
export interface Watching {
  /** Resolves once the watcher receives states. */
  readonly opened: Promise<void>;
  readonly messages: number;
  readonly seq: number;
  /** When the latest state arrived, on the clock of `monotonicMs`. */
  readonly at: number;
  /** The stamp in the latest state: when it changed, on the same clock. */
  readonly stampMs: number;
  /** Number of states whose `seq` did not rise. */
  faults: number;
  readonly isClosed: boolean;
  /** The watcher's own port. Only for a watcher over a plain socket. */
  readonly localPort?: number | undefined;
  /** The watcher's copy of the room, as JSON. Only for a watcher that keeps one; undefined where another one of its path does. */
  state?(): string | undefined;
  close(): void;
}

/** Called for every state that arrives. */
export interface Tally {
  arrived(watcher: Watching, atMs: number): void;
}
