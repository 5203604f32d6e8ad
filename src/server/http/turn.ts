/**
 * The most requests that one connection may send ahead in one turn of the event loop. uWS runs all requests that it has read from a
 * connection before anybody else has a turn: a client that sent thousands ahead held the others up for seconds.
 */
export const MOST_A_TURN = 64;

/** Counts the requests of the present turn of the event loop. */
export class Turn {
  #requests = 0;
  #ended = 0;
  readonly #end = (): void => void (this.#requests = this.#ended = 0);

  /**
   * Counts a request.
   * @param connections that are open now
   * @returns whether one connection has sent more than it may. uWS does not tell the connection of a request, but with more than 64
   * requests per open connection, one of them has sent more than 64
   */
  isTooMuch(connections: number): boolean {
    this.#begin();
    return ++this.#requests > MOST_A_TURN * Math.max(1, connections + this.#ended);
  }

  /** Counts a connection that has ended, or has become a WebSocket. Its requests of this turn are counted. */
  ended(): void {
    this.#begin();
    this.#ended++;
  }

  #begin(): void {
    // libuv runs immediates right after it has polled all sockets, so a turn costs no further poll.
    if (this.#requests + this.#ended === 0) setImmediate(this.#end);
  }
}
