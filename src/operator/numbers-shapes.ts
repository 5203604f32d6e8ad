import { z } from 'zod';
import { AccountId } from '../accounts/ids.ts';
import { ENTRY_TYPES } from '../features/coins/model.ts';

/** The shapes of the numbers of days, of top lists, and of what needs a person. */

const count = (description: string) => z.int().meta({ description, example: 3 });

const CoinsByType = z
  .object(Object.fromEntries(ENTRY_TYPES.map((type) => [type, z.int().optional()])))
  .meta({ id: 'CoinsByType', description: 'Whole coins, by the type of the ledger entry.', example: { credit: 1200, topup: 500 } });

export const ProductNumbers = z
  .object({
    store: z.string(),
    productId: z.string(),
    sold: count('Purchases granted.'),
    boughtCoins: z.int(),
    refundedCoins: z.int().meta({ description: 'Below 0 if reversed refunds gave back more than refunds took.' }),
  })
  .meta({ id: 'ProductNumbers', example: { store: 'google', productId: 'coins-500', sold: 2, boughtCoins: 1000, refundedCoins: 0 } });

export const NumbersOfDay = z
  .object({
    day: z.iso.date().meta({ description: 'A UTC day.', example: '2026-11-22' }),
    coinsIn: CoinsByType,
    coinsOut: CoinsByType,
    newAccounts: count('Accounts created.'),
    activeAccounts: count('About how many accounts wrote something, within some 1 %.'),
    movedAccounts: count('Guests that moved into an account, and accounts that were merged.'),
    deletedAccounts: count('Accounts deleted, without the guests that had moved into them.'),
    rooms: count('Rooms opened.'),
    matches: count('Rooms whose game began.'),
    prizes: count('Prizes of seasons that were paid.'),
    products: z.array(ProductNumbers),
  })
  .meta({ id: 'NumbersOfDay' });

export const TopAccount = z
  .object({
    accountId: AccountId,
    coins: z.int().meta({ description: 'The balance, the debt, or the coins by which it grew or that it spent.', example: 1200 }),
    atLeast: z.literal(true).optional().meta({ description: 'It has so many entries that only the newest were added up.' }),
  })
  .meta({ id: 'TopAccount' });

const TODO_KINDS = [
  'purchase_stuck',
  'subscription_unowned',
  'webhook_failing',
  'audit_findings',
  'audit_old',
  'refusals_rising',
  'key_ending',
  'request_waiting',
] as const;

export const TodoItem = z
  .object({
    kind: z.enum(TODO_KINDS),
    what: z.string().meta({ description: 'What it is, in a few words.', example: '2 purchases are stuck' }),
    details: z.string().meta({ description: 'The facts that help to judge it.' }),
    view: z
      .array(z.string())
      .meta({ description: "The console's view that deals with it, as the words of its address.", example: ['purchases'] }),
  })
  .meta({ id: 'TodoItem' });
