import type { z } from 'zod';
import { showEvents } from '../account-events.ts';
import { adjust } from '../adjust.ts';
import { ban, unban } from '../ban.ts';
import { deleteAccount } from '../delete.ts';
import { give, takeBack } from '../gift.ts';
import { rename, unname } from '../rename.ts';
import { find } from '../search.ts';
import { listAccounts } from '../list-accounts.ts';
import { explain, show, showHistory } from '../show.ts';
import { entriesText } from '../shown/cells.ts';
import * as shown from '../shown/shown-account.ts';
import { endSession, signOut } from '../sign-out.ts';
import { commandOf, groupOf } from './operate.ts';
import { facts, listed, minuteOfText, moreText, paragraphs, printable, textOf, titled } from './table.ts';

export const accounts = groupOf(
  {
    name: 'accounts',
    summary: 'accounts, their coins and their access',
    note:
      'ACCOUNT and WHO are an accountId, an installId or google:SUB. account: or install: in front says which, where a\n' +
      'text may be both. "-" reads it from standard input, so that no shell history has an installId. COINS may be negative.',
  },
  commandOf(find, textOfFound),
  commandOf(listAccounts, ({ accounts: all, looked, nextCursor }) =>
    paragraphs(titled(shown.listed, all), shown.looked(looked), moreText(nextCursor)),
  ),
  commandOf(show, textOfAccount),
  commandOf(showHistory, ({ accountId, movedFrom, entries, nextCursor }) =>
    paragraphs(headOf(accountId, movedFrom), listed(shown.ledger, entries), moreText(nextCursor)),
  ),
  commandOf(showEvents, (told) =>
    paragraphs(
      headOf(told.accountId, told.movedFrom),
      titled(shown.events, told.events),
      textOf(shown.reach(told)),
      moreText(told.nextCursor),
    ),
  ),
  commandOf(explain, ({ accountId, movedFrom, because }) => paragraphs(headOf(accountId, movedFrom), because.map(printable).join('\n'))),
  commandOf(adjust, ({ accountId, balanceAfterCoins, replayed, balanceCoins = balanceAfterCoins, debtCoins }) =>
    replayed === true
      ? `The key was used before, so nothing was changed: the balance of ${accountId} was ${balanceAfterCoins} then, and is ${balanceText(balanceCoins, debtCoins)} now.`
      : `The balance of ${accountId} is ${balanceText(balanceCoins, debtCoins)} now.`,
  ),
  commandOf(signOut, ({ accountId }) => `All sessions of ${accountId} have ended.`),
  commandOf(endSession, ({ accountId }) => `This session of ${accountId} has ended.`),
  commandOf(ban, ({ accountId, until }) => `${accountId} is banned${until === undefined ? '' : ` until ${minuteOfText(until)} UTC`}.`),
  commandOf(unban, ({ accountId, wasBanned }) => (wasBanned ? `The ban of ${accountId} has ended.` : `${accountId} was not banned.`)),
  commandOf(give, ({ accountId, until }) => `${accountId} has access until ${minuteOfText(until)} UTC.`),
  commandOf(takeBack, ({ accountId, taken }) =>
    taken === undefined ? `${accountId} was given nothing.` : `${accountId} has no access by a gift any more.`,
  ),
  commandOf(
    rename,
    ({ accountId, boards, rooms }) =>
      `${accountId} has this name now: on ${entriesText(boards)} of boards, in ${rooms} rooms, and wherever it plays next.`,
  ),
  commandOf(unname, ({ accountId, hadName }) => (hadName ? `${accountId} chooses its own name again.` : `${accountId} was given no name.`)),
  commandOf(deleteAccount, ({ accountId }) => `${accountId} is deleted.`),
);

function textOfFound({ accounts: all, purchases = [], rooms = [], keys = [], nextCursor }: z.output<typeof find.reply>): string {
  return paragraphs(
    titled(shown.found, all),
    ...purchases.map(({ purchase, kind, accountId }) => `purchase (${kind}): ${purchase}${accountId === undefined ? ', of nobody' : ''}`),
    ...rooms.map(({ code }) => `room: ${code}`),
    ...keys.map(({ id, name, state }) => `server key: ${id} "${printable(name)}", ${state}`),
    moreText(nextCursor),
  );
}

function headOf(accountId: string, movedFrom: string | undefined): string {
  return movedFrom === undefined ? `Account ${accountId}` : `Account ${accountId}, into which ${movedFrom} moved`;
}

function balanceText(balanceCoins: number, debtCoins: number | undefined): string {
  return debtCoins === undefined ? balanceCoins.toFixed(0) : `0, with a debt of ${debtCoins}`;
}

function textOfAccount(account: shown.Account): string {
  const { games, more } = shown.otherBoards(account);
  return paragraphs(
    headOf(account.accountId, account.movedFrom),
    facts(shown.standing(account), 'Standing'),
    facts(shown.balance(account), 'Balance'),
    facts(shown.entitlement(account), 'Entitlement'),
    facts(shown.givenName(account), 'Given name'),
    facts(shown.subscription(account), 'Subscription'),
    titled(shown.subscriptionPurchases, account.purchases),
    titled(shown.coinPurchases, account.coinPurchases),
    titled(shown.sessions, account.sessions.listed),
    shown.signedOut(account.sessions.signOutsEverywhere),
    titled(shown.scores, account.boards.scores),
    games.length === 0 ? '' : `Other boards: ${games.join(', ')}${more === 0 ? '' : ` and ${more} more`}`,
    titled(shown.seats, account.rooms),
    account.history.length === 0 ? 'The ledger is empty.' : titled(shown.ledger, account.history),
  );
}
