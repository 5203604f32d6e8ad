/**
 * The most bytes of a body that the service drops while its answer is due or lingers. A client that sends a file to an endpoint that
 * takes JSON still learns that it is too large.
 */
export const MOST_UNREAD_BYTES = 1024 * 1024;

/** The most pieces of such a body. Each costs a callback, of 1 to 2 µs, and a chunk may hold a single byte. */
const MOST_PIECES = 256;

/** A client that never stops sending holds its connection for no longer than this. */
const MOST_MS = 5000;

/**
 * The part of a body that arrives after the service has decided not to read it. The callback that takes the pieces has to check
 * the bounds itself: uWS reads a connection as long as bytes come, and meanwhile no timer runs.
 */
export class UnreadBody {
  readonly #endsAt = performance.now() + MOST_MS;
  #bytes = 0;
  #pieces = 0;

  /** Counts a piece. @returns whether the connection has to be cut */
  isPast(bytes: number): boolean {
    this.#bytes += bytes;
    return ++this.#pieces > MOST_PIECES || this.#bytes > MOST_UNREAD_BYTES || performance.now() > this.#endsAt;
  }
}
