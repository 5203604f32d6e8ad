/**
 * The most requests that one connection may send ahead in one turn of the event loop. uWS runs all requests that it has read from a
 * connection before anybody else has a turn: a client that sent thousands ahead held the others up for seconds.
 */
export const MOST_A_TURN = 64;

/** Counts the requests of the present turn of the event loop. */
export class Turn {
  #requests = 0;
  readonly #end = (): void => void (this.#requests = 0);

  /** Counts a request. @returns the number of requests in this turn, this one included */
  count(): number {
    // libuv runs immediates right after it has polled all sockets, so a turn costs no further poll.
    if (this.#requests === 0) setImmediate(this.#end);
    return ++this.#requests;
  }
}
