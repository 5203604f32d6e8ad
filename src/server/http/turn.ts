import { addressText } from '../address.ts';
import type { HttpResponse } from '../uws.ts';

/**
 * The most requests that one connection may send ahead in one turn of the event loop. uWS runs all requests that it has read from a
 * connection before anybody else has a turn: a client that sent thousands ahead held the others up for seconds.
 */
export const MOST_A_TURN = 64;

/** Counts the requests of the present turn of the event loop. */
export class Turn {
  #requests = 0;
  #ended = 0;
  /** Once a connection has sent too much: how many requests each address has sent since then. */
  #sentSince: Map<string, number> | undefined;
  readonly #end = (): void => {
    this.#requests = this.#ended = 0;
    this.#sentSince = undefined;
  };

  /**
   * Counts a request. uWS does not tell the connection of a request, but with more than 64 requests per open connection, one of them has
   * sent more than 64: the present one, because uWS runs the requests of a connection one after the other. In the rest of the turn its
   * address may send no further request, and each other address 64.
   * @param connections that are open now
   * @param response of the request. Its address is read only in a turn in which a connection has sent too much, because that costs time
   * @returns whether the connection has sent more than it may
   */
  isTooMuch(connections: number, response: Pick<HttpResponse, 'getRemoteAddress'>): boolean {
    this.#begin();
    if (this.#sentSince !== undefined) {
      const sender = addressText(response.getRemoteAddress());
      const sent = (this.#sentSince.get(sender) ?? 0) + 1;
      this.#sentSince.set(sender, sent);
      return sent > MOST_A_TURN;
    }
    if (++this.#requests <= MOST_A_TURN * Math.max(1, connections + this.#ended)) return false;
    this.#sentSince = new Map([[addressText(response.getRemoteAddress()), MOST_A_TURN]]);
    return true;
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
