import type { EventRecord, EventType } from '../../../src/features/events/model.ts';
import type { EventPage, EventSource } from '../../../src/features/webhooks/model.ts';

/** A log of events in memory, with the interface of a service's log. */
export class FakeLog implements EventSource {
  readonly #events: (EventRecord | undefined)[] = [];
  #wake = Promise.withResolvers<void>();
  #oldest = 0;
  /** While this is set, reads fail as during an outage of Redis. */
  problem: Error | undefined;

  /** @returns the id of the event */
  add(accountId: string | undefined, type: EventType = 'coins.changed', at = Date.now()): string {
    const number = this.#events.filter((event) => event?.accountId === accountId).length + 1;
    const id = `e${this.#events.length}`;
    const of = accountId === undefined ? {} : { accountId, number };
    this.#events.push({ id, type, at: new Date(at).toISOString(), ...of, data: { coins: 1 } });
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
    return id;
  }

  /** Simulates the deletion of an account: its events lose their data. */
  blank(accountId: string): void {
    for (const [index, event] of this.#events.entries()) if (event?.accountId === accountId) this.#events[index] = { ...event, data: {} };
  }

  /** Simulates the retention. */
  drop(before: number): void {
    this.#events.fill(undefined, 0, before);
    this.#oldest = before;
  }

  async read(after: number, limit: number, types?: readonly EventType[]): Promise<EventPage> {
    await Promise.resolve();
    if (this.problem !== undefined) throw this.problem;
    const events: EventRecord[] = [];
    const positions: number[] = [];
    let next = Math.max(after, this.#oldest);
    for (; next < this.#events.length && events.length < limit; next++) {
      const event = this.#events[next]!;
      if (types !== undefined && !types.includes(event.type)) continue;
      events.push(event);
      positions.push(next);
    }
    return { events, positions, next, isEnd: next >= this.#events.length };
  }

  async oldest(): Promise<number> {
    return this.#oldest;
  }

  async end(): Promise<number> {
    return this.#events.length;
  }

  async positionAt(time: number): Promise<number> {
    const index = this.#events.findIndex((event) => event !== undefined && Date.parse(event.at) >= time);
    return index === -1 ? this.#events.length : index;
  }

  async news(after: number, waitMs: number, signal?: AbortSignal): Promise<void> {
    if (after < this.#events.length || signal?.aborted === true) return;
    const stopped = new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([this.#wake.promise, stopped, new Promise<void>((resolve) => (timer = setTimeout(resolve, waitMs)))]);
    clearTimeout(timer);
  }
}
