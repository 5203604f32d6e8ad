import type { EventRecord } from '../events/model.ts';
import type { EventSource, Position } from './model.ts';

/** Events per page. A larger page costs more if only one of its events is needed. */
const PAGE = 50;

/** Most pages kept in memory: some 2 MB. */
const MOST_PAGES = 64;

/** An event that was read longer ago is read again before it is sent, because its account may have been deleted. */
export const FRESH_MS = 5000;

interface Page {
  /** When it was asked for, on the clock of `performance.now()`. */
  readonly at: number;
  readonly found: Promise<Found>;
}

interface Found {
  readonly events: ReadonlyMap<Position, EventRecord>;
  /** Events from this position on may have come after the read. */
  readonly next: Position;
}

/** Reads waiting events from the log again. The accounts of a hook often begin to wait together, so their events are close together. */
export class WaitingEvents {
  readonly #log: Pick<EventSource, 'read'>;
  /** Pages by their first position, the last used page at the end. */
  readonly #pages = new Map<Position, Page>();

  constructor(log: Pick<EventSource, 'read'>) {
    this.#log = log;
  }

  /**
   * @returns undefined: the log has dropped the event
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
