import type { EventRecord } from '../events/model.ts';
import type { EventSource, Position } from './model.ts';

/** Events of a page. A larger one costs more where only one of its events is wanted. */
const PAGE = 50;

/** Pages that are kept: some 2 MB. */
const MOST_PAGES = 64;

/** An event that was read longer ago is read again before it is sent: its account may have been deleted since. */
export const FRESH_MS = 5000;

interface Page {
  /** When it was asked for, on the clock of `performance.now()`. */
  readonly at: number;
  readonly events: Promise<ReadonlyMap<Position, EventRecord>>;
}

/** Reads events that wait once more. The accounts of a hook wait for its endpoint together, so their events lie next to each other. */
export class WaitingEvents {
  readonly #log: Pick<EventSource, 'read'>;
  /** By the first position, the page that was read last at the end. */
  readonly #pages = new Map<Position, Page>();

  constructor(log: Pick<EventSource, 'read'>) {
    this.#log = log;
  }

  /**
   * @returns undefined: the log has dropped the event
   * @throws Error if the log cannot be read
   */
  async at(position: Position): Promise<EventRecord | undefined> {
    const first = position - (position % PAGE);
    const known = this.#pages.get(first);
    const isFresh = known !== undefined && performance.now() - known.at < FRESH_MS;
    return (await (isFresh ? known : this.#readPage(first)).events).get(position);
  }

  #readPage(first: Position): Page {
    const page = { at: performance.now(), events: this.#read(first) };
    this.#pages.delete(first);
    this.#pages.set(first, page);
    if (this.#pages.size > MOST_PAGES) this.#pages.delete(this.#pages.keys().next().value!);
    page.events.catch(() => {
      if (this.#pages.get(first) === page) this.#pages.delete(first);
    });
    return page;
  }

  async #read(first: Position): Promise<Map<Position, EventRecord>> {
    const { events, positions } = await this.#log.read(first, PAGE);
    return new Map(events.map((event, index) => [positions[index]!, event]));
  }
}
