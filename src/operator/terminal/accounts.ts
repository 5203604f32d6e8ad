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
import type { CommandGroup, Flag } from './command.ts';
import { commandOf } from './operate.ts';
import { entriesText, facts, minuteOfText, printable, secondOfText, table } from './table.ts';

const limit: Flag = { value: 'N', summary: 'entries, 1 to 100. Default: 50' };
const cursor: Flag = { value: 'CURSOR', summary: 'the nextCursor of a page: goes on after it' };

export const accounts: CommandGroup = {
  name: 'accounts',
  summary: 'accounts, their coins and their access',
  note:
    'ACCOUNT and WHO are an accountId, an installId or google:SUB. account: or install: in front says which, where a\n' +
    'text may be both. "-" reads it from standard input, so that no shell history has an installId. COINS may be negative.',
  commands: {
    find: commandOf(find, {
      words: ['WHO'],
      flags: { game: { value: 'GAME', summary: 'search a name on this board. Default: all boards of the catalogue' }, cursor },
      input: ({ words: [who], flags: { game, cursor: from } }) => ({ who, game, cursor: from }),
      text: textOfFound,
    }),
    list: commandOf(listAccounts, {
      flags: {
        kind: { value: 'KIND', summary: 'guest or store' },
        banned: { value: 'true|false', summary: 'accounts that are banned, or not' },
        debt: { value: 'true|false', summary: 'accounts that owe coins, or not' },
        'created-from': { value: 'DAY', summary: 'created on this day or later, such as 2026-11-22' },
        'created-to': { value: 'DAY', summary: 'created before this day' },
        'seen-from': { value: 'DAY', summary: 'last seen on this day or later' },
        'seen-to': { value: 'DAY', summary: 'last seen before this day' },
        limit: { value: 'N', summary: 'accounts after which a page ends, 1 to 100. Default: 50' },
        cursor,
      },
      input: ({ flags: { kind, banned, debt, limit: most, cursor: from, ...days } }) => ({
        ...{ kind, banned, debt, limit: most, cursor: from },
        createdFrom: days['created-from'],
        createdTo: days['created-to'],
        seenFrom: days['seen-from'],
        seenTo: days['seen-to'],
      }),
      text: ({ accounts: found, looked, nextCursor }) =>
        [
          ...(found.length === 0 ? [] : [tableOfListed(found)]),
          `${looked} accounts were looked at.${nextCursor === undefined ? '' : ` More: --cursor ${nextCursor}`}`,
        ].join('\n\n'),
    }),
    show: commandOf(show, {
      words: ['ACCOUNT'],
      flags: { at: { value: 'TIME', summary: 'also shows the balance at this time, such as 2026-11-22T12:00:00Z' } },
      input: ({ flags }) => ({ at: flags['at'] }),
      text: textOfAccount,
    }),
    history: commandOf(showHistory, {
      words: ['ACCOUNT'],
      flags: {
        type: { value: 'TYPE', summary: 'entries of this type, such as adjust' },
        key: { value: 'KEY', summary: 'entries with this key' },
        origin: { value: 'NAME', summary: 'entries by this operator or server key (key:ID); client: by neither' },
        from: { value: 'TIME', summary: 'not before it, such as 2026-11-22T12:00:00Z' },
        to: { value: 'TIME', summary: 'before it' },
        limit,
        cursor,
      },
      input: ({ flags: { type, key, origin, from, to, limit: count, cursor: at } }) => ({
        type,
        key,
        origin,
        from,
        to,
        limit: count,
        cursor: at,
      }),
      text: ({ accountId, movedFrom, entries, nextCursor }) =>
        `${headOf(accountId, movedFrom)}\n\n${tableOfEntries(entries)}${nextCursor === undefined ? '' : `\n\nMore: --cursor ${nextCursor}`}`,
    }),
    events: commandOf(showEvents, {
      words: ['ACCOUNT'],
      flags: { before: { value: 'TIME', summary: 'events before it, such as 2026-11-22T12:00:00Z. Default: the newest' }, limit, cursor },
      input: ({ flags: { before, limit: most, cursor: at } }) => ({ before, limit: most, cursor: at }),
      text: textOfEvents,
    }),
    explain: commandOf(explain, {
      words: ['ACCOUNT'],
      input: () => ({}),
      text: ({ accountId, movedFrom, because }) => `${headOf(accountId, movedFrom)}\n\n${because.map(printable).join('\n')}`,
    }),
    adjust: commandOf(adjust, {
      words: ['ACCOUNT', 'COINS'],
      flags: { key: { value: 'KEY', summary: 'such as the number of a ticket: the same key takes effect once. Needed' } },
      changes: true,
      input: ({ words: [, coins = ''], flags }) => ({
        coins: /^[-+]?\d{1,13}$/.test(coins) ? Number(coins) : Number.NaN,
        key: flags['key'],
      }),
      text: ({ accountId, balanceAfterCoins, replayed, balanceCoins = balanceAfterCoins, debtCoins }) =>
        replayed === true
          ? `The key was used before, so nothing was changed: the balance of ${accountId} was ${balanceAfterCoins} then, and is ${balanceText(balanceCoins, debtCoins)} now.`
          : `The balance of ${accountId} is ${balanceText(balanceCoins, debtCoins)} now.`,
    }),
    'sign-out': commandOf(signOut, {
      words: ['ACCOUNT'],
      changes: true,
      input: () => ({}),
      text: ({ accountId }) => `All sessions of ${accountId} have ended.`,
    }),
    'end-session': commandOf(endSession, {
      words: ['ACCOUNT', 'SESSION'],
      changes: true,
      input: ({ words: [, session] }) => ({ session }),
      text: ({ accountId }) => `This session of ${accountId} has ended.`,
    }),
    ban: commandOf(ban, {
      words: ['ACCOUNT'],
      flags: { until: { value: 'TIME', summary: 'when it ends, such as 2026-12-24T12:00:00Z. Default: never' } },
      changes: true,
      input: ({ flags }) => ({ until: flags['until'] }),
      text: ({ accountId, until }) => `${accountId} is banned${until === undefined ? '' : ` until ${minuteOfText(until)} UTC`}.`,
    }),
    unban: commandOf(unban, {
      words: ['ACCOUNT'],
      changes: true,
      input: () => ({}),
      text: ({ accountId, wasBanned }) => (wasBanned ? `The ban of ${accountId} has ended.` : `${accountId} was not banned.`),
    }),
    give: commandOf(give, {
      words: ['ACCOUNT'],
      flags: { until: { value: 'TIME', summary: 'when the access ends, such as 2026-12-24T12:00:00Z. Needed' } },
      changes: true,
      input: ({ flags }) => ({ until: flags['until'] }),
      text: ({ accountId, until }) => `${accountId} has access until ${minuteOfText(until)} UTC.`,
    }),
    'take-back': commandOf(takeBack, {
      words: ['ACCOUNT'],
      changes: true,
      input: () => ({}),
      text: ({ accountId, taken }) =>
        taken === undefined ? `${accountId} was given nothing.` : `${accountId} has no access by a gift any more.`,
    }),
    rename: commandOf(rename, {
      words: ['ACCOUNT', 'NAME'],
      changes: true,
      input: ({ words: [, name] }) => ({ name }),
      text: ({ accountId, boards, rooms }) =>
        `${accountId} has this name now: on ${entriesText(boards)} of boards, in ${rooms} rooms, and wherever it plays next.`,
    }),
    unname: commandOf(unname, {
      words: ['ACCOUNT'],
      changes: true,
      input: () => ({}),
      text: ({ accountId, hadName }) => (hadName ? `${accountId} chooses its own name again.` : `${accountId} was given no name.`),
    }),
    delete: commandOf(deleteAccount, {
      words: ['ACCOUNT'],
      changes: true,
      input: () => ({}),
      text: ({ accountId }) => `${accountId} is deleted.`,
    }),
  },
};

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
