import { addressText } from '../address.ts';
import type { HttpResponse } from '../uws.ts';

/**
 * The most requests that one connection may send ahead in one turn of the event loop. uWS runs all requests that it has read from a
 * connection before it reads another connection: a client that sent thousands ahead held up all other clients for seconds.
 */
export const MOST_A_TURN = 64;

/** Counts the requests of the present turn of the event loop, to find a connection that has sent too many. */
export class RequestsPerTurn {
  #requests = 0;
  #ended = 0;
  /**
   * How many requests each address has sent in this turn since a connection was found that sent too many. Undefined: none was found in this
   * turn.
   */
  #sentSince: Map<string, number> | undefined;
  readonly #end = (): void => {
    this.#requests = this.#ended = 0;
    this.#sentSince = undefined;
  };

  /**
   * Counts a request. uWS does not tell which connection a request came on. But if more than 64 requests per open connection have come,
   * some connection has sent more than 64. This is the connection of the present request, because uWS runs the requests of one connection
   * after those of another. In the rest of the turn the address of that connection may send no further request, and each other address may
   * send 64.
   * @param connections the number of connections that are open now
   * @param response the response of the request. Its address is read only in a turn in which a connection has sent too much, because
   * reading it costs time
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

  /** Counts a connection that has ended or become a WebSocket during this turn, because the requests that it sent were counted. */
  ended(): void {
    this.#begin();
    this.#ended++;
  }

  #begin(): void {
    // libuv runs immediates right after it has polled all sockets, so the first immediate marks the end of the turn.
    if (this.#requests + this.#ended === 0) setImmediate(this.#end);
  }
}
