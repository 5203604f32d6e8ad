import type { State } from './feed.ts';

/**
 * The state of a feed that is polled. Each process numbers its own positions, because the data has no number that always rises.
 */
export class PolledState implements State {
  readonly position: number;
  readonly message: string;
  readonly stamp = '';
  readonly privateAt = 0;
  readonly isFinal = false;
  /** The polls see every change. */
  readonly changesAt = Infinity;

  /** @param known the state before, if any */
  constructor(known: State | undefined, message: string) {
    this.position = (known?.position ?? 0) + 1;
    this.message = message;
  }

  encode(): string {
    return this.message;
  }
}
