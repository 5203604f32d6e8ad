import type { State } from './feed-types.ts';

/**
 * A state of a feed that is polled. Each process numbers the positions for itself, because the data in Redis has no number that always
 * rises.
 */
export class PolledState implements State {
  readonly position: number;
  readonly message: string;
  readonly stamp = '';
  readonly privateAt = 0;
  readonly isFinal = false;
  /** No timer is needed, because the polls see every change. */
  readonly changesAt = Infinity;

  /** @param known the state before the new one, if any */
  constructor(known: State | undefined, message: string) {
    this.position = (known?.position ?? 0) + 1;
    this.message = message;
  }

  encode(): string {
    return this.message;
  }
}
