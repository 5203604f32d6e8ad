import { z } from 'zod';
import { AccountId, OptionalInstallId } from '../../accounts/ids.ts';
import { parseMovesRecord } from '../../accounts/moves-record.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { listedSessions } from '../../accounts/session-list.ts';
import { endpoint, type Services } from '../../declare.ts';
import { rateLimited } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import { isSetCursor, isSetsCursor } from '../../redis/set-pages.ts';
import type { RequestMeta } from '../../server/http/endpoint.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { BalanceCoins, coinKeys } from '../coins/model.ts';
import { OwnScore, scoresPage } from '../highscores/model.ts';
import { Seat, seatsPage } from '../rooms/model.ts';
import { SignedInBrowser, signedInBrowser } from '../sessions/model.ts';
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

/**
 * Entries of the ledger on a page: some 60 KB, and 1 ms of Redis's time. For an account with many guests an entry costs more: it is
 * looked up in the ledger of a guest.
 */
const ENTRIES_A_PAGE = 500;
const ENTRIES_WITH_GUESTS = 100;
const MANY_GUESTS = 10;

/**
 * A page ends after so many looks: at a board, a room, a purchase, or whether a set has any. An account may have taken seats in thousands
 * of rooms. Each look is a call of a script, which costs some 20 µs of this process and 10 µs of Redis.
 */
const MOST_LOOKS = 50;

/** A page that has taken so long ends, in milliseconds: a request has 2 s, and the next page goes on. */
const MOST_MS = 1000;

/** The place in the ledger. */
const LEDGER_CURSOR = /^(?:[1-9]\d{0,14}(?:\.[1-9]\d{0,14}){0,999}(?:~(?:\d{18})?~\d{1,3})?)?$/;

/** A letter for what comes next, and the place in it: scores on boards, seats in rooms, purchases, or entries of the ledger. */
function isCursor(text: string): boolean {
  const place = text.slice(1);
  switch (text[0]) {
    case 's':
      return isSetCursor(place);
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
  sessions: z.array(SignedInBrowser).optional().meta({ description: 'On the first page, if any are listed: as in `GET /v1/sessions`.' }),
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
    'of the ledger; most accounts have one page, and any page may be short. Send `nextCursor` as `cursor` for the next one, ' +
    'until there is none. The pages are no snapshot: what happens meanwhile may be missing. A process makes one page of an account at a time: another request meanwhile is `rate_limited`. Kept elsewhere and not listed: installIds and ' +
    'deviceIds, of which only hashes are kept; sessions of `POST /v1/login`, which are not kept at all; pairings and nonces, which are kept for some minutes; what ' +
    'operators note about their changes. Without a session, `?installId=` or the header `x-install-id` names the install. The header keeps the secret out of logs.',
  query: z.object({
    installId: OptionalInstallId,
    cursor: z.string().refine(isCursor, 'Must be the nextCursor of an earlier page').optional(),
  }),
  reply: ExportPage,
  example: `curl -s $base/v1/account/export -H 'x-install-id: install-0001'`,
  handle: (call, services) => exportPage(call, services),
});

type Parts = Pick<Services, 'scripts' | 'now' | 'historyPage' | 'purchasesPage' | 'exports'>;

interface ExportCall {
  readonly caller: Caller;
  readonly query: { readonly cursor?: string | undefined };
  readonly meta: Pick<RequestMeta, 'isOver'>;
}

/** When to ask again for a page that another one of the account kept from beginning. Most take some milliseconds. */
const BUSY_MS = 1000;

/** Where the next part begins when one has come to its end. */
const FOLLOWED_BY = { s: 'r0.0', r: 'p0.0', p: 'e' };

/** One page for an account at a time. The account is known to be the caller's by then: who lost it must not keep its owner waiting. */
async function exportPage({ caller, query, meta }: ExportCall, parts: Parts): Promise<Page> {
  const facts = await factsOf(caller, parts);
  if (!parts.exports.begin(caller.accountId)) throw rateLimited(BUSY_MS, 'A page of this export is under way. Ask for one page at a time.');
  try {
    return await pageFrom(query.cursor, facts, caller, meta, parts);
  } finally {
    parts.exports.end(caller.accountId);
  }
}

async function pageFrom(cursor: string | undefined, facts: Facts, caller: Caller, meta: ExportCall['meta'], parts: Parts): Promise<Page> {
  const startedAt = performance.now();
  let at = cursor ?? 's0';
  const guests = at.startsWith('e') ? [] : parseMovesRecord(facts.movedIn).guests.map(({ id }) => id);
  const page: Page = {
    accountId: caller.accountId,
    ...(cursor === undefined ? { ...shownFacts(facts, guests), ...(await sessionsOf(caller, parts)) } : {}),
  };
  for (let looks = 0; ;) {
    if (looks >= MOST_LOOKS || performance.now() - startedAt > MOST_MS || meta.isOver) return { ...page, nextCursor: at };
    if (at.startsWith('e')) break;
    const part = at[0] as keyof typeof FOLLOWED_BY;
    const next = await addPart(page, part, at.slice(1), caller, guests, parts);
    at = next.cursor === undefined ? FOLLOWED_BY[part] : part + next.cursor;
    looks += next.looks;
  }
  const limit = facts.movedIn.split('\n').length > MANY_GUESTS ? ENTRIES_WITH_GUESTS : ENTRIES_A_PAGE;
  const { entries, nextCursor } = await parts.historyPage(caller, { cursor: at.slice(1), limit });
  return { ...page, entries, ...(nextCursor === undefined ? {} : { nextCursor: `e${nextCursor}` }) };
}

/** @returns the next place in the part, undefined: it has come to its end; and what it cost */
async function addPart(
  page: Page,
  part: keyof typeof FOLLOWED_BY,
  place: string,
  caller: Caller,
  guests: readonly string[],
  parts: Parts,
): Promise<{ cursor: string | undefined; looks: number }> {
  if (part === 's') {
    const { scores, cursor, looks } = await scoresPage(caller, place, parts.scripts);
    page.scores = [...(page.scores ?? []), ...scores];
    return { cursor: cursor === '0' ? undefined : cursor, looks };
  }
  const owners: [string, ...string[]] = [caller.accountId, ...guests];
  if (part === 'r') {
    const { seats, cursor, looks } = await seatsPage(owners, place, parts);
    page.seats = [...(page.seats ?? []), ...seats];
    return { cursor, looks };
  }
  const { purchases, cursor, looks } = await parts.purchasesPage(owners, place);
  page.purchases = [...(page.purchases ?? []), ...purchases];
  return { cursor, looks };
}

interface Facts {
  /** As `prologue-check.lua` reads it: the guests that moved in. */
  readonly movedIn: string;
  readonly signOutsEverywhere: number;
  readonly balanceCoins: number;
  readonly fields: Record<(typeof FIELDS)[number], string>;
}

/** Like every script for a caller, this checks the caller's session too. */
async function factsOf(caller: Caller, { scripts }: Pick<Services, 'scripts'>): Promise<Facts> {
  const keys = { account: caller.accountKey, ledger: coinKeys.ledger(caller.accountId) };
  const [, movedIn = '', generation, coins, ...values] = await scripts.runAs(caller, factsScript, keys, { fields: FIELDS.join(' ') });
  return {
    movedIn,
    signOutsEverywhere: Number(generation),
    balanceCoins: Number(coins),
    fields: Object.fromEntries(FIELDS.map((name, index) => [name, values[index]!])) as Facts['fields'],
  };
}

async function sessionsOf(caller: Caller, parts: Parts): Promise<Pick<Page, 'sessions'>> {
  const sessions = await listedSessions(caller, parts);
  return sessions.length === 0 ? {} : { sessions: sessions.map((each) => signedInBrowser(each, each.id === caller.session?.id)) };
}

function shownFacts({ signOutsEverywhere, balanceCoins, fields }: Facts, guests: string[]): Omit<Page, 'accountId'> {
  const [startedAt, reportedAt] = [isoTime(fields.trialStartedAt), isoTime(fields.reportedAt)];
  return {
    account: {
      kind: fields.store === '' ? 'guest' : 'store',
      createdAt: isoTime(fields.createdAt),
      installVerifiedAt: isoTime(fields.installVerifiedAt),
      firstRunAt: isoTime(fields.firstRunAt),
      guests,
      signOutsEverywhere,
    },
    ...(startedAt === undefined ? {} : { trial: { startedAt, device: fields.trialDevice } }),
    ...(reportedAt === undefined ? {} : { subscriptionReport: { subscribed: fields.reportedSubscribed === '1', at: reportedAt } }),
    balanceCoins,
  };
}
