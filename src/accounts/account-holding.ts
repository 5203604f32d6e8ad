import { z } from 'zod';
import { eventFields } from './account-events.ts';
import { heldFields, isoTime, kindOf } from './merge-rules.ts';
import type { ShownAccount, Holding } from './holdings.ts';
import { AccountId } from './ids.ts';
import { banAt } from './standing.ts';

const Time = z.iso.datetime();

/** What coinop keeps of the account itself: the fields in its hash, and the record of whether it is open, moved, banned or deleted. */
export const accountHolding = {
  name: 'account',
  fields: [heldFields('own', 'createdAt'), eventFields],
  keys: [
    { name: 'account', type: 'hash', life: 'lasts', counted: 'accounts', whenMoved: 'goes', whenDeleted: 'goes' },
    { name: /told:\S+/, type: 'string', life: 'ends', whenMoved: 'stays', whenDeleted: 'stays' },
    { name: 'moves', type: 'string', life: 'lasts', whenMoved: 'stays', whenDeleted: 'stays' },
  ],
  exported: {
    shape: {
      account: z
        .object({
          kind: z.enum(['guest', 'store']),
          createdAt: Time.optional().meta({ description: 'Left out for an install that was never seen.' }),
          installVerifiedAt: Time.optional(),
          firstRunAt: Time.optional(),
          guests: z.array(AccountId).meta({ description: 'The guests that moved in. Their entries are among `entries`.' }),
          signOutsEverywhere: z.number().int().min(0),
        })
        .optional()
        .meta({ description: 'On the first page, as are `trial`, `subscriptionReport` and `balanceCoins`.' }),
    },
    firstPage: ({ fields, owners: [, ...guests], generation }) => ({
      account: {
        kind: kindOf(fields),
        createdAt: isoTime(fields['createdAt']),
        installVerifiedAt: isoTime(fields['installVerifiedAt']),
        firstRunAt: isoTime(fields['firstRunAt']),
        guests,
        signOutsEverywhere: generation,
      },
    }),
  },
  shown: {
    shape: {
      state: z.enum(['open', 'moving', 'banned']).meta({ description: '`moving`: on its way into another account.' }),
      ban: z
        .object({ since: Time, until: Time.optional(), reason: z.string() })
        .optional()
        .meta({ description: 'Without `until` it has no end.' }),
      createdAt: Time.optional(),
      guests: z.array(z.object({ accountId: AccountId, entries: z.number().int() })).meta({ description: 'The accounts that moved in.' }),
    },
    show: ({ standing, fields }, { now }) => ({
      ...stateOf(standing, now()),
      createdAt: isoTime(fields['createdAt']),
      guests: standing.guests.map(({ id, lastSeq }) => ({ accountId: id, entries: lastSeq })),
    }),
  },
} satisfies Holding;

function stateOf(standing: ShownAccount['standing'], now: number) {
  if (standing.moving !== undefined) return { state: 'moving' };
  const ban = banAt(standing, now);
  if (ban === undefined) return { state: 'open' };
  const { since, until, reason } = ban;
  return { state: 'banned', ban: { since: isoTime(since), until: isoTime(until), reason } };
}
