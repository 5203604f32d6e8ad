import { z } from 'zod';
import { keyOfAccount } from '../../accounts/account-keys.ts';
import { ENTRY_TYPES, SignedBalance } from '../coins/model.ts';

/**
 * The Redis keys of the log of events. The keys share a hash tag, so that one script can change all keys, and all events have one order.
 */
export const eventKeys = {
  /**
   * A hash. `next`: the position after the last event. `readable`: the position after the last event that as many replicas have as
   * REDIS_WAIT_REPLICAS says. Readers get only events before this position. `data`: the id of the data when the log was last written.
   * `onSince`: the time since which events have been relayed without a pause. `from:<tag>`: how the last element begins that the log has
   * from the outbox with this tag.
   */
  state: '{events}:state',
  /** A sorted set: the number of each chunk, which is also its score. */
  chunks: '{events}:chunks',
  /** A list for each chunk: CHUNK_LENGTH events, of which the first has the position `chunk * CHUNK_LENGTH`. */
  chunk: (chunk: number) => `{events}:chunk:${chunk}`,
  /**
   * A sorted set: deleted accounts whose events still have data in the log. The score of an account is the position of its deletion event.
   */
  forgotten: '{events}:forgotten',
};

/**
 * Prefix of Redis keys for events that result from a script in another slot than the account's. Such a key marks the event as emitted in
 * the account's slot. It expires after a day.
 */
export const forwardedKey = (accountId: string): string => keyOfAccount(accountId, 'told:');

/** The channel on which the relay announces the position after the last readable event. */
export const EVENTS_CHANNEL = 'events';

/** The number of positions in a chunk of the log: few enough that a script reads or rewrites a chunk in less than a millisecond. */
export const CHUNK_LENGTH = 1000;

/**
 * How many positions the log jumps ahead after a restore: more than the number of events since any backup. So if a cursor is further ahead
 * than this, it is not a cursor of this log. append-log.lua has the same figure.
 */
export const MOST_AHEAD = 1_000_000_000;

/** The letter of each type of event. In an outbox and in the log, an event begins with this letter. */
export const letters = {
  'coins.changed': 'c',
  'purchase.granted': 'g',
  'purchase.refunded': 'r',
  'subscription.changed': 's',
  'account.created': 'n',
  'account.moved': 'm',
  'account.merged': 'j',
  'account.sign_in_added': 'i',
  'account.sign_in_removed': 'o',
  'account.deleted': 'd',
  'account.banned': 'b',
  'pairing.claimed': 'p',
  'board.season_ended': 'e',
} as const;

export type EventType = keyof typeof letters;

export const EVENT_TYPES = Object.keys(letters) as EventType[];

export function lettersOf(types: readonly EventType[]): string {
  return types.map((type) => letters[type]).join('');
}

const ofCoins = '`coins.changed`: ';
const ofPurchases = 'Purchases: ';
const ofSeasons = '`board.season_ended`: ';

const Data = z
  .object({
    entryId: z
      .string()
      .optional()
      .meta({ description: `${ofCoins}the id of the ledger entry.`, example: '17' }),
    type: z
      .enum(ENTRY_TYPES)
      .optional()
      .meta({ description: `${ofCoins}the type of the ledger entry.` }),
    coins: z.number().int().optional().meta({
      description:
        'For a ledger entry: the coins that it adds, below 0 if it removes coins. For a purchase: the coins that it gave or took.',
    }),
    balanceAfterCoins: SignedBalance.optional(),
    purchaseId: z
      .string()
      .optional()
      .meta({ description: `${ofPurchases}the id.` }),
    store: z
      .string()
      .optional()
      .meta({ description: `${ofPurchases}the app store.`, example: 'google' }),
    productId: z.string().optional().meta({ description: 'The product of a purchase or a subscription.', example: 'premium' }),
    quantity: z
      .number()
      .int()
      .optional()
      .meta({ description: `${ofPurchases}units that were granted, or refunded in sum.` }),
    state: z.string().optional().meta({ description: '`subscription.changed`: the state from now on.', example: 'active' }),
    expiresAt: z.iso.datetime().optional().meta({ description: 'The end of the subscription, or of the ban.' }),
    from: z
      .string()
      .optional()
      .meta({ description: '`account.moved`: the guest that moved into the account. `account.merged`: the account that moved into it.' }),
    provider: z
      .string()
      .optional()
      .meta({ description: '`account.sign_in_added`, `account.sign_in_removed`: the provider of the sign-in.', example: 'apple' }),
    pairingId: z.string().optional().meta({ description: '`pairing.claimed`: the `pairingId` that `POST /v1/pair/new` answered.' }),
    game: z
      .string()
      .optional()
      .meta({ description: `${ofSeasons}the board.`, example: 'pebble-drop' }),
    season: z
      .string()
      .optional()
      .meta({ description: `${ofSeasons}the season.`, example: '2026-W48' }),
    entries: z
      .number()
      .int()
      .optional()
      .meta({ description: `${ofSeasons}players on the final board.` }),
    prizes: z
      .number()
      .int()
      .optional()
      .meta({ description: `${ofSeasons}prizes that are paid.` }),
  })
  .meta({ id: 'EventData', description: 'Empty once the account was deleted.' });

/** An event as the reply of `GET /v1/events` and the body of a webhook have it. */
export const Event = z
  .object({
    id: z.string().meta({ description: 'Unique. An event has the same id in this list and in a webhook.', example: 'hoiulqkme8-0-0' }),
    type: z.enum(EVENT_TYPES),
    at: z.iso.datetime(),
    accountId: z.string().optional().meta({ description: 'Left out if the event is not about one account.' }),
    number: z.number().int().optional().meta({ description: 'Rises by one with each event of the account.', example: 3 }),
    data: Data,
  })
  .meta({
    id: 'CoinopEvent',
    example: {
      id: 'hoiulqkme8-0-0',
      type: 'coins.changed',
      at: '2026-11-22T12:00:00.000Z',
      accountId: 'curm1Cv7xqcLNkr2BfHmj9',
      number: 3,
      data: { entryId: '2', type: 'debit', coins: -30, balanceAfterCoins: 110 },
    },
  });

export type EventRecord = z.output<typeof Event>;

/** The log has an event of a type that only a newer version of the service knows. */
export class UnknownEvent extends Error {}
