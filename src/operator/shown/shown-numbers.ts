import type { z } from 'zod';
import type { NumbersOfDay, ProductNumbers, TodoItem, TopAccount } from '../numbers-shapes.ts';
import { account, coins, link, state, type Cell, type Listing } from './cells.ts';

export type Day = z.output<typeof NumbersOfDay>;

export const sumOf = (byType: Day['coinsIn']): number => Object.values(byType).reduce<number>((sum, each = 0) => sum + (each as number), 0);

/** Moves of guests are not income: the same coins go out of one account and into another. */
export const withoutMoves = ({ merge: _, ...byType }: Day['coinsIn']): Day['coinsIn'] => byType;

const columns: Listing<Day>['columns'] = {
  Day: ({ day }) => day,
  In: ({ coinsIn }) => coins(sumOf(withoutMoves(coinsIn))),
  Out: ({ coinsOut }) => coins(sumOf(withoutMoves(coinsOut))),
  Bought: ({ coinsIn }) => coins(coinsIn['topup'] ?? 0),
  Refunded: ({ coinsOut }) => coins(coinsOut['refund'] ?? 0),
  New: ({ newAccounts }) => coins(newAccounts),
  Active: ({ activeAccounts }) => coins(activeAccounts),
  Rooms: ({ rooms }) => coins(rooms),
  Matches: ({ matches }) => coins(matches),
  Prizes: ({ prizes }) => coins(prizes),
};

export const numberOfDays: Listing<Day> = { title: 'Days', none: 'No days.', columns };

export const productNumbers: Listing<z.output<typeof ProductNumbers> & { readonly day: string }> = {
  title: 'Products',
  none: 'Nothing was bought or refunded.',
  columns: {
    Day: ({ day }) => day,
    Store: ({ store }) => store,
    Product: ({ productId }) => productId,
    Sold: ({ sold }) => coins(sold),
    'Bought coins': ({ boughtCoins }) => coins(boughtCoins),
    'Refunded coins': ({ refundedCoins }) => coins(refundedCoins),
  },
};

export const todoItems: Listing<z.output<typeof TodoItem>> = {
  title: 'Needs a person',
  none: 'Nothing needs a person.',
  columns: {
    What: ({ what, view }): Cell => link(what, view),
    Details: ({ details }) => details,
  },
};

export const topAccounts = (by: string): Listing<z.output<typeof TopAccount>> => ({
  title: by,
  none: 'No account has any.',
  columns: {
    Account: ({ accountId }) => account(accountId),
    Coins: ({ coins: sum }) => coins(sum),
    State: ({ atLeast }) => (atLeast === true ? state('at least', false) : undefined),
  },
});
