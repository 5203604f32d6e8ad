import type { EventRecord } from '../events/model.ts';
import type { EventSource, Position } from './model.ts';

/** The number of positions that one page covers. A larger page would take more time if only one of its events is needed. */
const PAGE = 50;

/** The most pages kept in memory: some 2 MB. */
const MOST_PAGES = 64;

/**
 * An event may be sent for this long after it was read, in milliseconds. After this time the event is read again, because its account may
 * have been deleted.
 */
export const FRESH_MS = 5000;

interface Page {
  /** The time at which the read of the page began, on the clock of `performance.now()`. */
  readonly at: number;
  readonly found: Promise<Found>;
}

interface Found {
  readonly events: ReadonlyMap<Position, EventRecord>;
  /** The position after the last event of the page. Events from this position on may have been added after the read. */
  readonly next: Position;
}

/**
 * Reads waiting events from the log again. Whole pages are read, because the accounts of a hook often begin to wait at the same time, so
 * their events are close together in the log.
 */
export class WaitingEvents {
  readonly #log: Pick<EventSource, 'read'>;
  /** Pages by their first position, in the order in which they were last read. */
  readonly #pages = new Map<Position, Page>();

  constructor(log: Pick<EventSource, 'read'>) {
    this.#log = log;
  }

  /**
   * Reads the event at a position. @returns undefined if the log has dropped the event
   * @throws Error if the log cannot be read
   */
  async at(position: Position): Promise<EventRecord | undefined> {
    const pageStart = position - (position % PAGE);
    const known = this.#pages.get(pageStart);
    const page = known !== undefined && performance.now() - known.at < FRESH_MS ? known : this.#readPage(pageStart);
    const { events, next } = await page.found;
    if (page !== known || position < next) return events.get(position);
    const newer = this.#pages.get(pageStart);
    return (await (newer === undefined || newer === known ? this.#readPage(pageStart) : newer).found).events.get(position);
  }

  #readPage(pageStart: Position): Page {
    const page = { at: performance.now(), found: this.#read(pageStart) };
    this.#pages.delete(pageStart);
    this.#pages.set(pageStart, page);
    if (this.#pages.size > MOST_PAGES) this.#pages.delete(this.#pages.keys().next().value!);
    page.found.catch(() => {
      if (this.#pages.get(pageStart) === page) this.#pages.delete(pageStart);
    });
    return page;
  }

  async #read(pageStart: Position): Promise<Found> {
    const { events, positions, next } = await this.#log.read(pageStart, PAGE);
    return { events: new Map(events.map((event, index) => [positions[index]!, event])), next };
  }
}
