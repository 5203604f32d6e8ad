import { z } from 'zod';
import { refuse, Refusal } from '../errors.ts';
import { Event } from '../features/events/model.ts';
import { followed } from './account-facts.ts';
import { Answering } from './account-reply.ts';
import { Account } from './named-accounts.ts';
import { Time } from './log-filter.ts';
import { Parts } from '../redis/unreadable.ts';
import { operation } from './operation.ts';
import { Limit, limitOf } from './page-limit.ts';
import { more, some } from './shown/cells.ts';
import { events as shownEvents, headOf, reach } from './shown/shown-account.ts';

export const showEvents = operation({
  name: 'accounts events',
  method: 'GET',
  path: '/v1/admin/accounts/{accountId}/events',
  operationId: 'showAccountEvents',
  role: 'viewer',
  costly: true,
  summary: "An account's events, newest first, with those of guests that moved into it.",
  description:
    'The log of events has no index by account, because an index would make each credit slower. A page searches 20,000 events of all ' +
    'accounts, so it may be short, or empty, and still have a `nextCursor`; `looked` and `since` say how far it searched. With `before` the ' +
    'search begins at that time, however long ago it is.',
  input: z.object({
    accountId: Account,
    before: Time.optional().meta({ description: 'Events before this time. Left out: the newest events.' }),
    limit: Limit,
    cursor: z
      .string()
      .regex(/^[0-9a-z]{1,11}$/, 'Must be the nextCursor of an earlier page')
      .optional()
      .meta({ description: 'Goes on after an earlier page; `before` is ignored then.' }),
  }),
  reply: z.object({
    ...Answering,
    events: z.array(Event),
    looked: z.number().int().meta({ description: 'The number of events, of all accounts, that were searched.', example: 20_000 }),
    since: z.iso.datetime().optional().meta({ description: 'The time of the oldest event that was searched. Left out if there was none.' }),
    nextCursor: z.string().optional().meta({ description: 'Left out: the log keeps no older event of this account.' }),
  }),
  errors: ['account_not_found', 'account_deleted', 'event_not_found'],
  example: `curl -s $base/v1/admin/accounts/BQ5v1mHk2nYtZ8cXw0aLpR/events -H "authorization: Bearer $COINOP_KEY"`,
  shown: (told) => [
    headOf(told.accountId, told.movedFrom),
    ...some(shownEvents, told.events),
    { title: '', facts: [['Searched', reach(told)]] },
    ...more(told.nextCursor),
  ],
  async prepare({ accountId: asked, before, limit, cursor }, services) {
    const { events: log } = services;
    if (log === undefined) return refuse('event_not_found', { message: 'There is no log of events: EVENTS is off.' });
    const parts = new Parts();
    const account = await followed(asked, services, parts);
    if (account instanceof Refusal) return account;
    const { accountId, movedFrom, standing } = account;
    const owners = [accountId, ...standing.guests.map(({ id }) => id)];
    const from = cursor === undefined ? before && (await log.positionAfter(Date.parse(before))) : Number.parseInt(cursor, 36);
    const page = await parts.read('events', () => log.readBack(owners, limitOf(limit), from || undefined));
    const { events, looked, since, next } = page ?? { events: [], looked: 0, since: undefined, next: 0 };
    const time = cursor === undefined && before !== undefined ? Date.parse(before) : Infinity;
    // The account's first event has the number 1, so no older event exists.
    const isWhole = next === 0 || (owners.length === 1 && events.at(-1)?.number === 1);
    return {
      reply: {
        accountId,
        movedFrom,
        events: events.filter(({ at }) => Date.parse(at) < time),
        looked,
        since,
        nextCursor: isWhole ? undefined : next.toString(36),
        unreadable: parts.unreadable,
      },
    };
  },
});
