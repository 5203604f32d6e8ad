import { z } from 'zod';
import { AccountId, OptionalInstallId } from '../../accounts/ids.ts';
import { parseMovesRecord } from '../../accounts/moves-record.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { endpoint, type Services } from '../../declare.ts';
import { defineScript } from '../../redis/script.ts';
import { isSetsCursor } from '../../redis/set-pages.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { BalanceCoins, coinKeys } from '../coins/model.ts';
import { OwnScore, scoresPage } from '../highscores/model.ts';
import { Seat, seatsPage } from '../rooms/model.ts';
import { isoTime, RecordedPurchase } from '../subscription/model.ts';

const FIELDS = [
  'createdAt',
  'store',
  'installVerifiedAt',
  'firstRunAt',
  'trialStartedAt',
  'trialDevice',
  'reportedAt',
  'reportedSubscribed',
] as const;

export const factsScript = defineScript({
  file: new URL('facts.lua', import.meta.url),
  keys: ['account', 'ledger'],
  args: ['fields'],
  answers: ['facts'],
  prologue: checksCaller,
  readOnly: true,
});

/** Entries of the ledger on a page: some 60 KB, and 1 ms of Redis's time. */
const ENTRIES_A_PAGE = 500;

/** A page with so many scores, seats and purchases ends. */
const ENOUGH = 100;

/** Looks that one page takes: a board may have lost its scores, a room its player, and an account its purchases. */
const MOST_LOOKS = 5;

/** The place in the ledger. */
const LEDGER_CURSOR = /^(?:[1-9]\d{0,14}(?:\.[1-9]\d{0,14}){0,999}(?:~(?:\d{18})?~\d{1,3})?)?$/;

/** A letter for what comes next, and the place in it: scores on boards, seats in rooms, purchases, or entries of the ledger. */
function isCursor(text: string): boolean {
  const place = text.slice(1);
  switch (text[0]) {
    case 's':
      return isSetsCursor(`0.${place}`);
    case 'r':
    case 'p':
      return isSetsCursor(place);
    case 'e':
      return LEDGER_CURSOR.test(place);
    default:
      return false;
  }
}

const Time = z.iso.datetime();

const Entry = z
  .object({ id: z.string(), type: z.string(), coins: z.number().int(), balanceAfterCoins: BalanceCoins, key: z.string(), at: Time })
  .meta({
    id: 'ExportedEntry',
    description: 'As in `GET /v1/coins/history`.',
    example: { id: '17', type: 'debit', coins: -30, balanceAfterCoins: 110, key: 'hat', at: '2026-11-22T12:00:00.000Z' },
  });

const ExportPage = z.object({
  accountId: AccountId,
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
  trial: z
    .object({ startedAt: Time, device: z.string().meta({ description: 'A hash of the deviceId.' }) })
    .optional()
    .meta({ description: 'The trial linked to the account, if there is one.' }),
  subscriptionReport: z.object({ subscribed: z.boolean(), at: Time }).optional().meta({ description: 'What the app has reported.' }),
  balanceCoins: BalanceCoins.optional(),
  scores: z.array(OwnScore).optional().meta({ description: 'Entries on boards. One may come twice.' }),
  seats: z.array(Seat).optional().meta({ description: 'Seats in rooms. One may come twice.' }),
  purchases: z
    .array(RecordedPurchase)
    .optional()
    .meta({ description: 'One may come twice. Purchase tokens are not shown: they claim a purchase.' }),
  entries: z.array(Entry).optional().meta({ description: 'Entries of the ledger, newest first.' }),
  nextCursor: z.string().optional().meta({ description: 'For the next page. Left out on the last one.', example: 'e16' }),
});

type Page = z.input<typeof ExportPage>;

export const exportAccount = endpoint({
  method: 'GET',
  path: '/v1/account/export',
  operationId: 'exportAccount',
  caller: 'required',
  summary: 'All that is kept about the caller, in pages.',
  description:
    'The first page has the account, its trial link, subscription report and balance. The scores on boards follow, the seats in rooms that were ' +
    'taken in the last week at least, the purchases, then the ledger; those of guests that moved in are among them. A page has up to 500 entries ' +
    'of the ledger; most accounts have one page. Send `nextCursor` as `cursor` for the next one, ' +
    'until there is none. The pages are no snapshot: what happens meanwhile may be missing. Kept elsewhere and not listed: installIds and ' +
    'deviceIds, of which only hashes are kept; sessions, which are not kept at all; pairings and nonces, which are kept for some minutes; what ' +
    'operators note about their changes. Without a session, `?installId=` or the header `x-install-id` names the install. The header keeps the secret out of logs.',
  query: z.object({
    installId: OptionalInstallId,
    cursor: z.string().refine(isCursor, 'Must be the nextCursor of an earlier page').optional(),
  }),
  reply: ExportPage,
  example: `curl -s $base/v1/account/export -H 'x-install-id: install-0001'`,
  handle: ({ caller, query }, services) => exportPage(caller, query.cursor, services),
});

type Parts = Pick<Services, 'scripts' | 'now' | 'historyPage' | 'purchasesPage'>;

/** Where the next part begins when one has come to its end. */
const FOLLOWED_BY = { s: 'r0.0', r: 'p0.0', p: 'e' };

async function exportPage(caller: Caller, cursor: string | undefined, parts: Parts): Promise<Page> {
  const page: Page = cursor === undefined ? await firstPage(caller, parts) : { accountId: caller.accountId };
  let at = cursor ?? 's0';
  for (let looks = 0; !at.startsWith('e'); looks++) {
    const count = [page.scores, page.seats, page.purchases].reduce((sum, list) => sum + (list?.length ?? 0), 0);
    if (looks === MOST_LOOKS || count >= ENOUGH) return { ...page, nextCursor: at };
    const part = at[0] as keyof typeof FOLLOWED_BY;
    const next = await addPart(page, part, at.slice(1), caller, parts);
    at = next === undefined ? FOLLOWED_BY[part] : part + next;
  }
  const { entries, nextCursor } = await parts.historyPage(caller, { cursor: at.slice(1), limit: ENTRIES_A_PAGE });
  return { ...page, entries, ...(nextCursor === undefined ? {} : { nextCursor: `e${nextCursor}` }) };
}

/** @returns the next place in the part; undefined: it has come to its end */
async function addPart(
  page: Page,
  part: keyof typeof FOLLOWED_BY,
  place: string,
  caller: Caller,
  parts: Parts,
): Promise<string | undefined> {
  if (part === 's') {
    const { scores, cursor } = await scoresPage(caller, place, parts.scripts);
    page.scores = [...(page.scores ?? []), ...scores];
    return cursor === '0' ? undefined : cursor;
  }
  const owners: [string, ...string[]] = [caller.accountId, ...(page.account?.guests ?? (await guestsOf(caller, parts)))];
  if (part === 'r') {
    const { seats, cursor } = await seatsPage(owners, place, parts);
    page.seats = [...(page.seats ?? []), ...seats];
    return cursor;
  }
  const { purchases, cursor } = await parts.purchasesPage(owners, place);
  page.purchases = [...(page.purchases ?? []), ...purchases];
  return cursor;
}

/** The ids of the guests that moved in. Like every script for a caller, this checks the caller's session too. */
async function guestsOf(caller: Caller, { scripts }: Pick<Services, 'scripts'>): Promise<string[]> {
  const keys = { account: caller.accountKey, ledger: coinKeys.ledger(caller.accountId) };
  const [, movedIn = ''] = await scripts.runAs(caller, factsScript, keys, { fields: 'store' });
  return parseMovesRecord(movedIn).guests.map(({ id }) => id);
}

async function firstPage(caller: Caller, { scripts }: Pick<Services, 'scripts'>): Promise<Page> {
  const keys = { account: caller.accountKey, ledger: coinKeys.ledger(caller.accountId) };
  const [, movedIn = '', generation, coins, ...values] = await scripts.runAs(caller, factsScript, keys, { fields: FIELDS.join(' ') });
  const fact = (name: (typeof FIELDS)[number]): string => values[FIELDS.indexOf(name)]!;
  const time = (name: (typeof FIELDS)[number]): string | undefined => isoTime(fact(name));
  const [startedAt, reportedAt] = [time('trialStartedAt'), time('reportedAt')];
  return {
    accountId: caller.accountId,
    account: {
      kind: fact('store') === '' ? 'guest' : 'store',
      createdAt: time('createdAt'),
      installVerifiedAt: time('installVerifiedAt'),
      firstRunAt: time('firstRunAt'),
      guests: parseMovesRecord(movedIn).guests.map(({ id }) => id),
      signOutsEverywhere: Number(generation),
    },
    ...(startedAt === undefined ? {} : { trial: { startedAt, device: fact('trialDevice') } }),
    ...(reportedAt === undefined ? {} : { subscriptionReport: { subscribed: fact('reportedSubscribed') === '1', at: reportedAt } }),
    balanceCoins: Number(coins),
  };
}
