import type { z } from 'zod';
import type { Event } from '../../features/events/model.ts';
import type { RowOf, ShownAccount } from '../account-reply.ts';
import type { AccountSummary } from '../account-summary.ts';
import type { FoundAccount } from '../named-accounts.ts';
import {
  account,
  by,
  code,
  coins,
  detailsOf,
  entriesText,
  given,
  joined,
  link,
  name,
  some,
  state,
  strong,
  table,
  time,
  yesNo,
  type Cell,
  type Facts,
  type Listing,
  type Part,
} from './cells.ts';

export function standing(shown: ShownAccount): Facts {
  const { ban, guests = [] } = shown;
  return [
    ['State', state(shown.state, shown.state === 'open')],
    [
      'Banned',
      given(ban, ({ since, until }) => ['since ', time(since), ...(until === undefined ? [', without an end'] : [' until ', time(until)])]),
    ],
    ['Why', ban?.reason],
    ['Kind', shown.kind],
    ['Last sign-in lost', time(shown.signInLostAt)],
    ['Made (UTC)', time(shown.createdAt)],
    ['Install proven', time(shown.installVerifiedAt)],
    ['First run', time(shown.firstRunAt)],
    ['Guests that moved in', joined(guests.map(({ accountId, entries }) => [account(accountId), ` (${entriesText(entries)})`]))],
  ];
}

export function balance({ balanceCoins, debtCoins, balanceAt, ledger: held }: ShownAccount): Facts {
  return [
    ['Balance', strong(balanceCoins)],
    ['Debt', given(debtCoins, (debt) => state(String(debt), false))],
    [
      'Balance then',
      given(balanceAt, (then) => [
        then.balanceCoins === undefined ? 'not known: the entries of that time were deleted' : coins(then.balanceCoins),
        ...(then.debtCoins === undefined ? [] : [', with a debt of ', coins(then.debtCoins)]),
        ' at ',
        time(then.at),
      ]),
    ],
    ['Entries', coins(held?.entries)],
    ['Oldest entry', time(held?.oldestAt)],
  ];
}

export function entitlement({ entitlement: held, gift, trial }: ShownAccount): Facts {
  return [
    ['State', given(held, (of) => [state(of.state, of.access ? true : undefined), of.source === 'gift' ? ' a gift' : ''])],
    ['Until', time(held?.expiresAt)],
    ['Given', given(gift, ({ until, by: who, reason }) => ['until ', time(until), ' by ', by(who), `: ${reason}`])],
    ['Trial', trial?.state],
    ['Trial began', time(trial?.startedAt)],
    ['Trial ends', time(trial?.expiresAt)],
    ['Device (hash)', code(trial?.device)],
  ];
}

export function givenName({ givenName: held }: ShownAccount): Facts {
  return [
    ['Name', name(held?.name)],
    ['At', time(held?.givenAt)],
    ['By', by(held?.by)],
    ['Why', held?.reason],
  ];
}

const SOURCE = { store: ', by a purchase', report: ', as the app reported', none: '' };

export function subscription({ subscription: held }: ShownAccount): Facts {
  return [
    ['State', given(held, (of) => `${of.state}${SOURCE[of.source]}`)],
    ['Product', held?.productId],
    ['Until', time(held?.expiresAt)],
    ['Reported by the app', time(held?.reportedAt)],
  ];
}

export const notes: Listing<RowOf<'notes'>> = {
  title: 'Notes',
  none: 'No operator has written a note.',
  columns: {
    'At (UTC)': ({ at }) => time(at),
    By: (note) => by(note.by),
    Ticket: ({ reason }) => reason,
    Note: ({ text }) => name(text),
    Id: ({ id }) => code(id),
  },
};

export const signIns: Listing<RowOf<'signIns'>> = {
  title: 'Sign-ins',
  none: 'Nobody signs in to it with a provider.',
  columns: {
    'Sign-in': ({ id }) => code(id),
    Provider: ({ provider }) => provider,
    'Since (UTC)': ({ at }) => time(at),
    'Used (UTC)': ({ lastUsedAt }) => time(lastUsedAt),
  },
};

export const sessions: Listing<NonNullable<ShownAccount['sessions']>['listed'][number]> = {
  title: 'Sessions',
  none: 'No session of a pairing or a store is listed. Logins with an installId are never listed.',
  columns: {
    Session: ({ id }) => code(id),
    Kind: ({ kind }) => kind,
    'Since (UTC)': ({ createdAt }) => time(createdAt),
    'Seen (UTC)': ({ lastSeenAt }) => time(lastSeenAt),
    'Ends (UTC)': ({ expiresAt }) => time(expiresAt),
    Browser: ({ userAgent }) => userAgent,
  },
};

export const signedOut = (count: number): string =>
  `Signed out everywhere: ${count === 0 ? 'never' : count === 1 ? 'once' : `${count} times`}.`;

/** The type of a ledger entry. If a refund gives coins, the store has reversed an earlier refund. */
export const typeText = ({ type, coins: count }: { readonly type: string; readonly coins: number }): string =>
  type === 'refund' && count > 0 ? 'refund reversed' : type;

export const ledger: Listing<RowOf<'history'>> = {
  title: 'Ledger',
  none: 'No such entry.',
  columns: {
    'At (UTC)': ({ at }) => time(at),
    Type: typeText,
    Coins: (entry) => coins(entry.coins),
    Balance: ({ balanceAfterCoins }) => coins(balanceAfterCoins),
    Key: ({ key }) => key,
    By: (entry) => by(entry.by),
    Reason: ({ reason }) => reason,
  },
};

export const coinPurchases: Listing<RowOf<'coinPurchases'>> = {
  title: 'Purchases of coins',
  none: 'No coins bought.',
  columns: {
    'At (UTC)': ({ at }) => time(at),
    Product: ({ productId, purchaseId }) => link(productId, ['purchases', purchaseId]),
    // The terminal has no links: a purchase is named by its id there.
    Order: ({ orderId, purchaseId }) => orderId ?? `no number yet, purchase ${purchaseId}`,
    Units: ({ quantity }) => quantity,
    State: ({ state: of, refundedQuantity }) => (refundedQuantity === undefined ? of : `${of}, ${refundedQuantity} refunded`),
    Coins: (purchase) => coins(purchase.coins),
    'Taken back': ({ takenCoins }) => coins(takenCoins),
    'Booked (UTC)': ({ grantedAt }) => time(grantedAt),
    'Last refund (UTC)': ({ refundedAt }) => time(refundedAt),
    Stuck: ({ stuck }) => state(stuck, false),
  },
};

export const subscriptionPurchases: Listing<RowOf<'purchases'>> = {
  title: 'Purchases of subscriptions',
  none: 'No subscription bought.',
  columns: {
    Purchase: ({ purchase }) => purchase,
    Product: ({ productId }) => productId,
    State: ({ state: of }) => of,
    'Until (UTC)': ({ expiresAt }) => time(expiresAt),
    Renews: ({ willRenew }) => given(willRenew, yesNo),
    'Checked (UTC)': ({ checkedAt }) => time(checkedAt),
    'Checked next': ({ nextCheckAt }) => time(nextCheckAt),
    Failed: ({ failedChecks }) => failedChecks,
  },
};

export const seats: Listing<RowOf<'rooms'>> = {
  title: 'Rooms',
  none: 'No room in two weeks.',
  columns: {
    Room: (seat) => link(seat.code, ['rooms', seat.code]),
    Game: ({ game }) => game,
    Phase: ({ phase }) => phase,
    Seat: ({ playerId }) => playerId,
    Name: (seat) => name(seat.name),
    Joined: ({ joinedAt }) => time(joinedAt),
  },
};

export const saves: Listing<RowOf<'saves'>> = {
  title: 'Saves',
  none: 'No game keeps anything of the player.',
  columns: {
    Game: ({ game }) => game,
    Save: (save) => save.name,
    Version: ({ version }) => version,
    Bytes: ({ sizeBytes }) => coins(sizeBytes),
    'Saved (UTC)': ({ updatedAt }) => time(updatedAt),
    Device: ({ device }) => name(device),
    'Older (UTC)': ({ versions }) => joined(versions.map((older) => [`${older.version}: `, time(older.updatedAt)])),
  },
};

export const scores: Listing<NonNullable<ShownAccount['boards']>['scores'][number]> = {
  title: 'Best scores',
  none: 'No score.',
  columns: {
    Board: ({ game }) => link(game, ['boards', game]),
    Score: ({ score }) => score,
    Rank: ({ rank }) => rank ?? state('hidden', false),
    Name: (score) => name(score.name),
    'At (UTC)': ({ at }) => time(at),
  },
};

/** The boards without a best score in `scores`. */
export function otherBoards({ boards }: ShownAccount): {
  readonly games: string[];
  readonly more: number;
} {
  const { count, games, scores: shown } = boards ?? { count: 0, games: [], scores: [] };
  return { games: games.filter((game) => !shown.some((score) => score.game === game)), more: count - games.length };
}

export const events: Listing<z.output<typeof Event>> = {
  title: 'Events',
  none: 'No event of this account in this part of the log.',
  columns: {
    'At (UTC)': ({ at }) => time(at),
    Number: ({ number }) => number,
    Event: ({ type }) => type,
    Data: ({ data }) => detailsOf(data),
    Id: ({ id }) => code(id),
  },
};

/** How far the log was searched. */
export function reach({ looked, since }: { readonly looked: number; readonly since?: string | undefined }): Cell {
  return since === undefined
    ? 'The log of events has none there.'
    : ['Of ', coins(looked), ' events of all accounts, back to ', time(since), '.'];
}

export const listed: Listing<z.output<typeof AccountSummary>> = {
  title: 'Accounts',
  none: 'No such account on this page.',
  columns: {
    Account: ({ accountId }) => account(accountId),
    Kind: ({ kind }) => kind,
    State: ({ state: of, bannedUntil, problem }) => [
      state(of, of === 'open'),
      ...(bannedUntil === undefined ? [] : [' until ', time(bannedUntil)]),
      ...(problem === undefined ? [] : [` ${problem}`]),
    ],
    'Made (UTC)': ({ createdAt }) => time(createdAt),
    'Last seen': ({ lastSeenOn }) => lastSeenOn,
    Balance: ({ balanceCoins }) => coins(balanceCoins),
    Debt: ({ debtCoins }) => coins(debtCoins),
  },
};

export const looked = (count: number): string => (count === 1 ? '1 account was looked at.' : `${count} accounts were looked at.`);

export const found: Listing<z.output<typeof FoundAccount>> = {
  title: 'Accounts',
  none: 'Nobody was found so far.',
  columns: {
    Account: ({ accountId }) => account(accountId),
    'Found by': ({ foundBy }) => foundBy,
    Of: ({ via = {} }) => joined([name(via.name), via.game, via.purchase, via.room]),
    Kind: ({ kind }) => kind,
    'Made (UTC)': ({ createdAt }) => time(createdAt),
    State: ({ movedTo, deletedAt, problem }) =>
      problem ??
      (deletedAt === undefined ? given(movedTo, (to) => ['moved to ', account(to)]) : [state('deleted', false), ' ', time(deletedAt)]),
  },
};

export function headOf(accountId: string, movedFrom: string | undefined): string {
  return movedFrom === undefined ? `Account ${accountId}` : `Account ${accountId}, into which ${movedFrom} moved`;
}

/** All data of an account, without the fields that it does not have. */
export function accountParts(shown: ShownAccount): Part[] {
  const { games, more } = otherBoards(shown);
  return [
    headOf(shown.accountId, shown.movedFrom),
    { title: 'Standing', facts: standing(shown) },
    { title: 'Balance', facts: balance(shown) },
    { title: 'Entitlement', facts: entitlement(shown) },
    { title: 'Given name', facts: givenName(shown) },
    ...some(notes, shown.notes ?? []),
    { title: 'Subscription', facts: subscription(shown) },
    ...some(subscriptionPurchases, shown.purchases ?? []),
    ...some(coinPurchases, shown.coinPurchases ?? []),
    ...some(signIns, shown.signIns ?? []),
    ...some(sessions, shown.sessions?.listed ?? []),
    ...(shown.sessions === undefined ? [] : [signedOut(shown.sessions.signOutsEverywhere)]),
    ...some(saves, shown.saves ?? []),
    ...some(scores, shown.boards?.scores ?? []),
    ...(games.length === 0 ? [] : [`Other boards: ${games.join(', ')}${more === 0 ? '' : ` and ${more} more`}`]),
    ...some(seats, shown.rooms ?? []),
    { ...table(ledger, shown.history ?? []), none: 'The ledger is empty.' },
  ];
}
