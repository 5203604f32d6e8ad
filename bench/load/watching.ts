/** Somebody who watches a room, however it is spoken to. */
export interface Watching {
  /** Resolves once it watches. */
  readonly opened: Promise<void>;
  readonly messages: number;
  readonly seq: number;
  /** When the latest state came, on the clock of `monotonicMs`. */
  readonly at: number;
  /** When the latest state changed, as it says itself. */
  readonly stampMs: number;
  /** States whose `seq` did not rise. */
  faults: number;
  readonly isClosed: boolean;
  /** The whole room as the watcher has it, as JSON, where it keeps the room. */
  state?(): string;
  close(): void;
}

/** Told of every state that arrives. */
export interface Tally {
  arrived(watcher: Watching, atMs: number): void;
}
