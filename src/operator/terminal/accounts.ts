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
import { endSession, signOut } from '../sign-out.ts';
import { commandOf, groupOf } from './operate.ts';
import { entriesText, facts, minuteOfText, printable, secondOfText, table } from './table.ts';

export const accounts = groupOf(
  {
    name: 'accounts',
    summary: 'accounts, their coins and their access',
    note:
      'ACCOUNT and WHO are an accountId, an installId or google:SUB. account: or install: in front says which, where a\n' +
      'text may be both. "-" reads it from standard input, so that no shell history has an installId. COINS may be negative.',
  },
  commandOf(find, textOfFound),
  commandOf(listAccounts, ({ accounts: found, looked, nextCursor }) =>
    [
      ...(found.length === 0 ? [] : [tableOfListed(found)]),
      `${looked} accounts were looked at.${nextCursor === undefined ? '' : ` More: --cursor ${nextCursor}`}`,
    ].join('\n\n'),
  ),
  commandOf(show, textOfAccount),
  commandOf(
    showHistory,
    ({ accountId, movedFrom, entries, nextCursor }) =>
      `${headOf(accountId, movedFrom)}\n\n${tableOfEntries(entries)}${nextCursor === undefined ? '' : `\n\nMore: --cursor ${nextCursor}`}`,
  ),
  commandOf(showEvents, textOfEvents),
  commandOf(explain, ({ accountId, movedFrom, because }) => `${headOf(accountId, movedFrom)}\n\n${because.map(printable).join('\n')}`),
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

function tableOfListed(found: z.output<typeof listAccounts.reply>['accounts']): string {
  return table(
    ['ACCOUNT', 'KIND', 'STATE', 'MADE (UTC)', 'LAST SEEN', 'BALANCE'],
    found.map(({ accountId, kind, state, bannedUntil, createdAt, lastSeenOn = '', balanceCoins, debtCoins }) => [
      accountId,
      kind,
      bannedUntil === undefined ? state : `${state} until ${minuteOfText(bannedUntil)}`,
      minuteOfText(createdAt),
      lastSeenOn,
      balanceText(balanceCoins, debtCoins),
    ]),
  );
}

function textOfFound({ accounts: found, purchases = [], rooms = [], keys = [], nextCursor }: z.output<typeof find.reply>): string {
  const of = table(
    ['ACCOUNT', 'FOUND BY', 'OF', 'KIND', 'MADE (UTC)', 'MOVED TO', 'DELETED (UTC)'],
    found.map(({ accountId, foundBy, via = {}, kind, createdAt, movedTo, deletedAt }) => [
      accountId,
      foundBy,
      [via.name, via.game, via.purchase, via.room].filter((word) => word !== undefined).join(', '),
      kind ?? '',
      minuteOfText(createdAt),
      movedTo ?? '',
      minuteOfText(deletedAt),
    ]),
  );
  return [
    ...(found.length === 0 ? [] : [of]),
    ...purchases.map(({ purchase, kind, accountId }) => `purchase (${kind}): ${purchase}${accountId === undefined ? ', of nobody' : ''}`),
    ...rooms.map(({ code }) => `room: ${code}`),
    ...keys.map(({ id, name, state }) => `server key: ${id} "${printable(name)}", ${state}`),
    ...(nextCursor === undefined ? [] : [`There may be more: --cursor ${nextCursor}`]),
  ].join('\n\n');
}

type Shown = z.output<typeof show.reply>;

function headOf(accountId: string, movedFrom: string | undefined): string {
  return movedFrom === undefined ? `Account ${accountId}` : `Account ${accountId}, into which ${movedFrom} moved`;
}

function balanceText(balanceCoins: number, debtCoins: number | undefined): string {
  return debtCoins === undefined ? balanceCoins.toFixed(0) : `0, with a debt of ${debtCoins}`;
}

function textOfAccount(account: Shown): string {
  const {
    accountId,
    movedFrom,
    kind,
    state,
    ban,
    balanceCoins,
    debtCoins,
    balanceAt,
    ledger,
    sessions,
    trial,
    subscription,
    entitlement,
    purchases,
  } = account;
  const until = (time: string | undefined): string => (time === undefined ? '' : ` until ${minuteOfText(time)}`);
  const lines: [string, string][] = [
    ['kind', `${kind === 'store' ? 'store account' : 'guest'}${state === 'moving' ? ', moving into another account now' : ''}`],
    ...(ban === undefined
      ? []
      : [
          [
            'banned',
            `since ${minuteOfText(ban.since)}${ban.until === undefined ? '' : ` until ${minuteOfText(ban.until)}`}: ${ban.reason}`,
          ] as [string, string],
        ]),
    ['made (UTC)', minuteOfText(account.createdAt)],
    ['balance', balanceText(balanceCoins, debtCoins)],
    ...(balanceAt === undefined
      ? []
      : [
          [
            `balance at ${minuteOfText(balanceAt.at)}`,
            balanceAt.balanceCoins === undefined
              ? 'not known: the entries of that time were deleted'
              : balanceText(balanceAt.balanceCoins, balanceAt.debtCoins),
          ] as [string, string],
        ]),
    ['ledger', `${entriesText(ledger.entries)}${ledger.oldestAt === undefined ? '' : `, the oldest of ${minuteOfText(ledger.oldestAt)}`}`],
    ['entitlement', `${entitlement.state}${until(entitlement.expiresAt)}`],
    ...(account.gift === undefined
      ? []
      : [['gift', `${until(account.gift.until).trim()}, by ${account.gift.by}: ${account.gift.reason}`] as [string, string]]),
    ...(account.givenName === undefined
      ? []
      : [['given name', `${account.givenName.name}, by ${account.givenName.by}: ${account.givenName.reason}`] as [string, string]]),
    ['subscription', `${subscription.state}${SOURCE[subscription.source]}${until(subscription.expiresAt)}`],
    ['trial', `${trial.state}${until(trial.expiresAt)}`],
    ['install proven', minuteOfText(account.installVerifiedAt)],
    ['first run', minuteOfText(account.firstRunAt)],
    ['sessions', `${sessions.listed.length} of pairings and stores; all ended together: ${timesOf(sessions.signOutsEverywhere)}`],
    ['boards', account.boards.games.join(', ') + (account.boards.count > account.boards.games.length ? ` of ${account.boards.count}` : '')],
    [
      'best scores',
      account.boards.scores.map(({ game, score, rank }) => `${game} ${score}${rank === undefined ? '' : ` (rank ${rank})`}`).join(', '),
    ],
    ['rooms', account.rooms.map(({ code, phase, playerId }) => `${code} (${phase}, ${playerId})`).join(', ')],
    ['guests moved in', account.guests.map(({ accountId: guest, entries }) => `${guest} (${entriesText(entries)})`).join(', ')],
  ];
  const bought = table(
    ['PURCHASE OF', 'STATE', 'PAID UNTIL (UTC)', 'RENEWS', 'LAST CHECK', 'NEXT CHECK', 'FAILED'],
    purchases.map(({ productId, state: of, expiresAt, willRenew, checkedAt, nextCheckAt, failedChecks }) => [
      productId,
      of,
      minuteOfText(expiresAt),
      willRenew === undefined ? '' : willRenew ? 'yes' : 'no',
      minuteOfText(checkedAt),
      minuteOfText(nextCheckAt),
      String(failedChecks),
    ]),
  );
  const coins = table(
    ['COINS BOUGHT', 'ORDER', 'UNITS', 'STATE', 'GRANTED', 'TAKEN BACK', 'BOOKED (UTC)', 'LAST REFUND (UTC)', 'STUCK'],
    account.coinPurchases.map((purchase) => [
      purchase.productId,
      purchase.orderId ?? purchase.purchaseId,
      String(purchase.quantity),
      purchase.refundedQuantity === undefined ? purchase.state : `${purchase.state}, ${purchase.refundedQuantity} refunded`,
      String(purchase.coins),
      String(purchase.takenCoins),
      minuteOfText(purchase.grantedAt),
      minuteOfText(purchase.refundedAt),
      purchase.stuck ?? '',
    ]),
  );
  const signedIn = table(
    ['SESSION', 'KIND', 'SINCE (UTC)', 'LAST SEEN', 'ENDS', 'BROWSER'],
    sessions.listed.map(({ id, kind: of, createdAt, lastSeenAt, expiresAt, userAgent = '' }) => [
      id,
      of,
      minuteOfText(createdAt),
      minuteOfText(lastSeenAt),
      minuteOfText(expiresAt),
      userAgent,
    ]),
  );
  return [
    headOf(accountId, movedFrom),
    facts(lines),
    ...(sessions.listed.length === 0 ? [] : [signedIn]),
    ...(purchases.length === 0 ? [] : [bought]),
    ...(account.coinPurchases.length === 0 ? [] : [coins]),
    account.history.length === 0 ? 'The ledger is empty.' : tableOfEntries(account.history),
  ].join('\n\n');
}

const SOURCE = { store: ', by a purchase', report: ', as the app reported', none: '' };

function timesOf(count: number): string {
  return count === 0 ? 'never' : count === 1 ? 'once' : `${count} times`;
}

function textOfEvents({ accountId, movedFrom, events, looked, since, nextCursor }: z.output<typeof showEvents.reply>): string {
  const rows = events.map(({ at, number, type, id, data }) => [
    secondOfText(at),
    number === undefined ? '' : String(number),
    type,
    Object.entries(data)
      .map(([name, value]) => `${name} ${value}`)
      .join(', '),
    id,
  ]);
  const reach =
    since === undefined
      ? 'The log of events has none there.'
      : `Looked at ${looked} events of all accounts, back to ${minuteOfText(since)} UTC.`;
  return [
    headOf(accountId, movedFrom),
    ...(rows.length === 0 ? [] : [table(['AT (UTC)', 'NUMBER', 'EVENT', 'DATA', 'ID'], rows)]),
    `${reach}${nextCursor === undefined ? '' : ` Older ones: --cursor ${nextCursor}`}`,
  ].join('\n\n');
}

function tableOfEntries(entries: Shown['history']): string {
  return table(
    ['AT (UTC)', 'TYPE', 'COINS', 'BALANCE', 'KEY', 'BY', 'REASON'],
    entries.map(({ at, type, coins, balanceAfterCoins, key, by = '', reason = '' }) => [
      secondOfText(at),
      type,
      coins.toFixed(0),
      balanceAfterCoins.toFixed(0),
      key,
      by,
      reason,
    ]),
  );
}
