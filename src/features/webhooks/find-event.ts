import type { EventSource, Position } from './model.ts';
import type { EventRecord } from '../events/model.ts';

/** The format of the ids of events. An id begins with the microseconds since 1970, in base 36. */
const EVENT_ID = /^([0-9a-z]{9,12})\b[\w:.-]{0,80}$/;

/** The most pages that a search reads. In the busiest log they have the events of some seconds. */
const MOST_PAGES = 50;

/** The number of events of a page. */
const PAGE = 1000;

/** Finds an event of the log by its id. The id begins with a time, which gives the position at which the search begins. */
export async function findEvent(
  id: string,
  events: Pick<EventSource, 'read' | 'positionAt'>,
): Promise<{ readonly event: EventRecord; readonly position: Position } | undefined> {
  const [, micros] = EVENT_ID.exec(id) ?? [];
  if (micros === undefined) return undefined;
  let after = await events.positionAt(parseInt(micros, 36) / 1000);
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const page = await events.read(after, PAGE);
    const index = page.events.findIndex((event) => event.id === id);
    if (index !== -1) return { event: page.events[index]!, position: page.positions[index]! };
    if (page.isEnd) return undefined;
    after = page.next;
  }
  return undefined;
}
