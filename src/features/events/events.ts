import { z } from 'zod';
import { endpoint, type Services } from '../../declare.ts';
import { invalid, refuse } from '../../errors.ts';
import { limitParameter, WaitSeconds } from '../../server/http/endpoint.ts';
import { AheadOfLog, type EventPage, type EventReader, type Position } from './event-log.ts';
import { Event, EVENT_TYPES, type EventType } from './model.ts';

/**
 * The most scripts that a request without `wait` runs for one page. If events of the wanted `types` are rare, these scripts read 10,000
 * events.
 */
const MOST_READS = 5;

const TYPES_RULE = `Must be types of events, separated by commas: ${EVENT_TYPES.join(', ')}`;

export const events = endpoint({
  method: 'GET',
  path: '/v1/events',
  operationId: 'listEvents',
  caller: 'none',
  keyScope: 'events',
  keyNeedsAccount: false,
  costly: true,
  summary: 'Events of all accounts, in one order, for servers.',
  description:
    'Needs a server key with the scope `events`; without a key it is 401 `bad_key`. Without `after` it begins with the oldest event that ' +
    'is kept (EVENTS_DAYS). For the next page, set `after` to the `cursor` of the last answer, even if that answer had no events: with ' +
    '`types` the cursor moves past events of other types. Nothing is missed and nothing repeated. With `wait` it is a long-poll: it ' +
    'answers at the first event, else after `wait` seconds. `number` rises by one with each event of an account. Events hold ids and ' +
    'numbers only; the events of a deleted account lose their `data`. With EVENTS=off it is 404 `not_found`.',
  query: z.object({
    after: z
      .string()
      .regex(/^[0-9a-z]{1,11}$/, 'Must be the cursor of an earlier answer')
      .optional()
      .meta({ description: 'The `cursor` of an earlier answer.' }),
    types: z
      .string()
      .max(500, TYPES_RULE)
      .refine((text) => text.split(',').every((type) => (EVENT_TYPES as readonly string[]).includes(type)), TYPES_RULE)
      .optional()
      .meta({ description: 'Only events of these types, separated by commas.', example: 'coins.changed,account.deleted' }),
    limit: limitParameter(1000, 'Events per answer, 1 to 1,000. The default is 100.'),
    wait: WaitSeconds,
  }),
  waitSeconds: ({ wait }: { wait?: string }) => Number(wait ?? 0),
  reply: z.object({
    events: z.array(Event),
    cursor: z.string().meta({ description: 'Value of `after` for the next page.', example: '1k' }),
  }),
  errors: ['not_found', 'bad_key', 'forbidden', 'invalid_request'],
  example: `curl -s "$base/v1/events?limit=10" -H "authorization: Bearer $COINOP_KEY"`,
  async handle({ query, key, meta }, { events: log, monotonic }: Pick<Services, 'events' | 'monotonic'>) {
    if (log === undefined) return refuse('not_found', { message: 'There are no events: EVENTS is off.' });
    if (key === undefined) return refuse('bad_key', { message: 'This needs a server key with the scope events.' });
    const after = query.after === undefined ? 0 : Number.parseInt(query.after, 36);
    const wanted = { limit: Number(query.limit ?? 100), types: (query.types?.split(',') ?? []) as EventType[] };
    const until = monotonic() + Number(query.wait ?? 0) * 1000;
    const gone = new AbortController();
    meta.onGone(() => gone.abort());
    try {
      let page = await readOn(log, after, wanted);
      while (page.events.length === 0 && page.isEnd && monotonic() < until && !gone.signal.aborted) {
        const after = page.next;
        await meta.rest(() => log.news(after, until - monotonic(), gone.signal));
        page = await readOn(log, page.next, wanted);
      }
      return { events: page.events, cursor: page.next.toString(36) };
    } catch (error) {
      if (!(error instanceof AheadOfLog)) throw error;
      return invalid('after', 'Must be the cursor of an earlier answer');
    }
  },
});

interface Wanted {
  readonly limit: number;
  readonly types: readonly EventType[];
}

/** Reads pages until one has events, the log ends, or MOST_READS scripts have run. */
async function readOn(log: EventReader, after: Position, { limit, types }: Wanted): Promise<EventPage> {
  let page = await log.read(after, limit, types);
  for (let reads = 1; page.events.length === 0 && !page.isEnd && reads < MOST_READS; reads++)
    page = await log.read(page.next, limit, types);
  return page;
}
