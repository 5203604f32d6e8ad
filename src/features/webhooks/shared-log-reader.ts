import { UnknownEvent, type EventRecord, type EventType } from '../events/model.ts';
import { KeyedMutex } from '../../server/keyed-mutex.ts';
import type { EventPage, EventSource, Position } from './model.ts';

/** The number of events that one read of the log takes. */
const PAGE = 200;

/** The most events at the end of the log that are kept in memory: some 0.5 MB. */
export const MOST_KEPT = 1000;

interface Kept {
  readonly position: Position;
  readonly event: EventRecord;
  readonly readAt: number;
}

/** A page of events, and the time at which its oldest event was read, on the clock of `performance.now()`. */
export interface ReadPage extends EventPage {
  readonly readAt: number;
}

/**
 * Reads the log for all hooks of a process. Hooks that are near the end of the log share each read, because otherwise fifty hooks would
 * read and parse every event fifty times. A hook that is further behind reads on its own. Only one hook at a time reads on its own, so that
 * Redis can run other scripts in between.
 */
export class SharedLogReader {
  readonly #log: Pick<EventSource, 'read'>;
  readonly #alone = new KeyedMutex();
  /** All events of the log from the position `#from` to the position `#to`, in order. */
  #kept: Kept[] = [];
  #from: Position = 0;
  #to: Position = -Infinity;
  #isEnd = false;
  #reading: Promise<void> | undefined;

  constructor(log: Pick<EventSource, 'read'>) {
    this.#log = log;
  }

  /**
   * Reads events as `EventSource.read` does.
   * @throws Error if the log cannot be read
   */
  async read(after: Position, types: readonly EventType[] | undefined): Promise<ReadPage> {
    if (after >= this.#from) {
      try {
        await this.#readUpTo(after);
        if (after >= this.#from && after <= this.#to) return this.#page(after, types);
      } catch (error) {
        // The shared read failed at an event of a newer version, whose type this version does not know. A hook with `types` does not get
        // such an event, and can read on its own.
        if (!(error instanceof UnknownEvent)) throw error;
      }
    }
    return this.#readAlone(after, types);
  }

  /** Reads further events of the log, from `#to` on, until events after the position `after` are in memory or the log ends. */
  async #readUpTo(after: Position): Promise<void> {
    if (after > this.#to + MOST_KEPT) {
      this.#kept = [];
      this.#from = this.#to = after;
    }
    while (after >= this.#to) {
      const to = this.#to;
      await (this.#reading ??= this.#readOn().finally(() => (this.#reading = undefined)));
      if (this.#to === to) return;
    }
  }

  async #readOn(): Promise<void> {
    const to = this.#to;
    const readAt = performance.now();
    const { events, positions, next, isEnd } = await this.#log.read(to, PAGE);
    // If another call has set `#to` further ahead meanwhile, there would be a gap after these events.
    if (this.#to !== to) return;
    for (const [index, event] of events.entries()) this.#kept.push({ position: positions[index]!, event, readAt });
    if (this.#kept.length > MOST_KEPT) {
      this.#kept = this.#kept.slice(-MOST_KEPT);
      this.#from = this.#kept[0]!.position;
    }
    this.#to = next;
    this.#isEnd = isEnd;
  }

  #page(after: Position, types: readonly EventType[] | undefined): ReadPage {
    const events: EventRecord[] = [];
    const positions: Position[] = [];
    const firstIndex = this.#indexOf(after);
    let index = firstIndex;
    for (; index < this.#kept.length && events.length < PAGE; index++) {
      const { event, position } = this.#kept[index]!;
      if (types !== undefined && !types.includes(event.type)) continue;
      events.push(event);
      positions.push(position);
    }
    const isEnd = index === this.#kept.length;
    const readAt = this.#kept[firstIndex]?.readAt ?? performance.now();
    return { events, positions, next: isEnd ? this.#to : this.#kept[index]!.position, isEnd: isEnd && this.#isEnd, readAt };
  }

  /** The index in `#kept` of the first event at this position or after it. */
  #indexOf(position: Position): number {
    let [low, high] = [0, this.#kept.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#kept[middle]!.position < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #readAlone(after: Position, types: readonly EventType[] | undefined): Promise<ReadPage> {
    return this.#alone.take('', async () => {
      const readAt = performance.now();
      return { ...(await this.#log.read(after, PAGE, types)), readAt };
    });
  }
}
