import { z } from 'zod';
import { AccountId, OptionalInstallId } from '../../accounts/ids.ts';
import { parseMovesRecord } from '../../accounts/moves-record.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { endpoint, type Services } from '../../declare.ts';
import { defineScript } from '../../redis/script.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { BalanceCoins, coinKeys } from '../coins/model.ts';
import { OwnScore, scoresPage } from '../highscores/model.ts';
import { Seat, seatsPage } from '../rooms/model.ts';
import { purchasesOf, timeOf } from '../subscription/model.ts';

const FIELDS = [
  'createdAt',
  'store',
  'installVerifiedAt',
  'firstRunAt',
  'trialStartedAt',
  'trialDevice',
  'reportedAt',
  'reportedSubscribed',
  'purchases',
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

/** A page with so many scores and seats ends. */
const ENOUGH = 100;

/** Looks for scores and seats that one page takes: a board may have lost its scores, and a room its player. */
const MOST_LOOKS = 5;

/** `s` and the place among the scores, `r` and the place among the rooms, or `e` and the place in the ledger. */
const CURSOR = /^(?:s\d{1,20}|r\d{1,5}\.\d{1,20}|e(?:[1-9]\d{0,14}(?:\.[1-9]\d{0,14}){0,999}(?:~(?:\d{18})?~\d{1,3})?)?)$/;

const FOREIGN_CURSOR = 'Must be the nextCursor of an earlier page';

/** Redis refuses a cursor of SSCAN beyond 64 bits. */
const isInBounds = (cursor: string): boolean => cursor.startsWith('e') || BigInt(cursor.slice(1).split('.').at(-1)!) < 2n ** 64n;

const Time = z.iso.datetime();

const Purchase = z
  .object({
    productId: z.string(),
    state: z.string(),
    expiresAt: Time.optional(),
    willRenew: z.boolean().optional(),
    checkedAt: Time.meta({ description: 'When the app store was last asked.' }),
  })
  .meta({ id: 'ExportedPurchase', example: { productId: 'premium', state: 'active', checkedAt: '2026-11-22T12:00:00.000Z' } });

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
    .meta({ description: 'On the first page, as are `trial`, `subscription` and `balanceCoins`.' }),
  trial: z
    .object({ startedAt: Time, device: z.string().meta({ description: 'A hash of the deviceId.' }) })
    .optional()
    .meta({ description: 'The trial linked to the account, if there is one.' }),
  subscription: z
    .object({
      report: z.object({ subscribed: z.boolean(), at: Time }).optional(),
      purchases: z.array(Purchase).meta({ description: 'The last ten at most. Purchase tokens are not shown: they claim a purchase.' }),
    })
    .optional(),
  balanceCoins: BalanceCoins.optional(),
  scores: z.array(OwnScore).optional().meta({ description: 'Entries on boards. One may come twice.' }),
  seats: z.array(Seat).optional().meta({ description: 'Seats in rooms. One may come twice.' }),
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
    'The first page has the account, its trial link, subscription reports, purchases and balance. The scores on boards follow, the seats in rooms ' +
    'that were taken in the last week at least, then the ledger with the entries of guests that moved in. A page has up to 500 entries; most accounts have one page. Send `nextCursor` as `cursor` for the next one, ' +
    'until there is none. The pages are no snapshot: what happens meanwhile may be missing. Kept elsewhere and not listed: installIds and ' +
    'deviceIds, of which only hashes are kept; sessions, which are not kept at all; pairings and nonces, which are kept for some minutes; what ' +
    'operators note about their changes. Without a session, `?installId=` or the header `x-install-id` names the install. The header keeps the secret out of logs.',
  query: z.object({
    installId: OptionalInstallId,
    cursor: z.string().regex(CURSOR, { error: FOREIGN_CURSOR, abort: true }).refine(isInBounds, FOREIGN_CURSOR).optional(),
  }),
  reply: ExportPage,
  example: `curl -s $base/v1/account/export -H 'x-install-id: install-0001'`,
  handle: ({ caller, query }, services) => exportPage(caller, query.cursor, services),
});

/** A page of the export. @param cursor of the page before; undefined for the first page */
export async function exportPage(
  caller: Caller,
  cursor: string | undefined,
  services: Pick<Services, 'scripts' | 'now' | 'historyPage'>,
): Promise<Page> {
  const page: Page = cursor === undefined ? await firstPage(caller, services) : { accountId: caller.accountId };
  let at = cursor ?? 's0';
  for (let looks = 0; !at.startsWith('e'); looks++) {
    if (looks === MOST_LOOKS || (page.scores?.length ?? 0) + (page.seats?.length ?? 0) >= ENOUGH) return { ...page, nextCursor: at };
    if (at.startsWith('s')) {
      const found = await scoresPage(caller, at.slice(1), services.scripts);
      page.scores = [...(page.scores ?? []), ...found.scores];
      at = found.cursor === '0' ? 'r0.0' : `s${found.cursor}`;
    } else {
      const guests = page.account?.guests ?? (await guestsOf(caller, services));
      const found = await seatsPage([caller.accountId, ...guests], at.slice(1), services);
      page.seats = [...(page.seats ?? []), ...found.seats];
      at = found.cursor === undefined ? 'e' : `r${found.cursor}`;
    }
  }
  const { entries, nextCursor } = await services.historyPage(caller, { cursor: at.slice(1), limit: ENTRIES_A_PAGE });
  return { ...page, entries, ...(nextCursor === undefined ? {} : { nextCursor: `e${nextCursor}` }) };
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
  const time = (name: (typeof FIELDS)[number]): string | undefined => timeText(timeOf(fact(name)));
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
    subscription: {
      ...(reportedAt === undefined ? {} : { report: { subscribed: fact('reportedSubscribed') === '1', at: reportedAt } }),
      purchases: purchasesOf(fact('purchases')).map(({ productId, state, expiresAt, willRenew, checkedAt }) => ({
        productId,
        state,
        expiresAt: timeText(expiresAt),
        willRenew,
        checkedAt: new Date(checkedAt).toISOString(),
      })),
    },
    balanceCoins: Number(coins),
  };
}

function timeText(milliseconds: number | undefined): string | undefined {
  return milliseconds === undefined ? undefined : new Date(milliseconds).toISOString();
}
