import type { Exchange } from './exchange.ts';

/**
 * The exchanges that still wait for an answer.
 *
 * It is a list in which each exchange knows its index. A Set whose members change with every request is rehashed all the time, and V8 links
 * each outgrown table to the next one. An outgrown table in the old space keeps the next table, with all its exchanges, alive until the
 * next full collection. With a Set, collections took twice as long.
 */
export class Unanswered {
  readonly #exchanges: Exchange[] = [];

  get size(): number {
    return this.#exchanges.length;
  }

  add(exchange: Exchange): void {
    exchange.takeUnansweredPlace(this.#exchanges.length);
    this.#exchanges.push(exchange);
  }

  /** Removes an exchange from the list, if it is in the list. */
  delete(exchange: Exchange): void {
    const place = exchange.unansweredPlace;
    if (place === undefined) return;
    exchange.takeUnansweredPlace(undefined);
    const last = this.#exchanges.pop()!;
    if (last === exchange) return;
    this.#exchanges[place] = last;
    last.takeUnansweredPlace(place);
  }

  /** The exchanges, the oldest first. The list may change while the caller goes through the result. */
  inOrder(): Exchange[] {
    return this.#exchanges.toSorted((one, other) => one.startedAt - other.startedAt);
  }
}
