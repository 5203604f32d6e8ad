/**
 * The most bytes of a body that the service reads and drops before the answer is sent or during a lingering close. So a client that sends a
 * file to an endpoint for JSON still gets the answer that its body is too large.
 */
export const MOST_UNREAD_BYTES = 1024 * 1024;

/** The most pieces of a body that the service drops. Each piece costs a callback of 1 to 2 µs, and a chunk may have a single byte. */
const MOST_PIECES = 256;

/** The most milliseconds for which the service drops the body of a client that never stops sending. */
const MOST_MS = 5000;

/**
 * Counts the rest of a body that the service has decided not to read. The callback for the pieces has to check the bounds itself: uWS reads
 * a connection as long as bytes come, and no timer runs in that time.
 */
export class UnreadBody {
  readonly #endsAt = performance.now() + MOST_MS;
  #bytes = 0;
  #pieces = 0;

  /** Counts a piece. @returns whether the body has exceeded a bound, so that the connection has to be closed */
  isPast(bytes: number): boolean {
    this.#bytes += bytes;
    return ++this.#pieces > MOST_PIECES || this.#bytes > MOST_UNREAD_BYTES || performance.now() > this.#endsAt;
  }
}
