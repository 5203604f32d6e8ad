import { standingLibrary } from '../../accounts/standing.ts';
import { z } from 'zod';
import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { defineScript } from '../../redis/script.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { endpoint, type Services } from '../../declare.ts';
import { limitParameter } from '../../server/http/endpoint.ts';
import { parseOrigin, type EntryOrigin } from './entry-origin.ts';
import { coinKeys, ENTRY_TYPES, entryLetters, type EntryType, LedgerCursor, ledgerEntry, ledgerLibrary, SignedBalance } from './model.ts';

export const historyScript = defineScript({
  file: new URL('history.lua', import.meta.url),
  keys: ['ledger'],
  args: ['cursor', 'limit'],
  answers: ['page'],
  prologue: checksCaller,
  library: [standingLibrary, ledgerLibrary],
  readOnly: true,
});

const Entry = z
  .object({
    id: z.string(),
    type: z.enum(ENTRY_TYPES),
    coins: z.number().int().meta({ description: 'Coins that the entry adds to the balance. Negative if it removes coins.' }),
    balanceAfterCoins: SignedBalance,
    key: z.string(),
    at: z.iso.datetime(),
  })
  .meta({
    id: 'LedgerEntry',
    example: { id: '17', type: 'debit', coins: -30, balanceAfterCoins: 110, key: 'hat', at: '2026-11-22T12:00:00.000Z' },
  });

export const history = endpoint({
  method: 'GET',
  path: '/v1/coins/history',
  operationId: 'getCoinHistory',
  caller: 'session',
  keyScope: 'accounts:read',
  reach: 'accounts',
  summary: "The caller's ledger, newest entry first.",
  description:
    'Entries never change, and the sum of all `coins` is the balance, below 0 for a debt. `nextCursor` is present while older entries ' +
    'follow. The entries of a guest that moved into a store account stay readable here, with their original balances. The two `merge` ' +
    'entries of the move cancel out. A `grant` came from a server with a key, and with an `adjust` an operator corrected the balance. The ' +
    'service itself makes a `topup` for coins that were bought, a `refund` for those of a refunded purchase, and a `prize`; their keys hold a ' +
    'middle dot, which no key of a caller has.',
  query: z.object({
    limit: limitParameter(100, 'Entries per page, 1 to 100. The default is 50.'),
    cursor: LedgerCursor.optional(),
  }),
  reply: z.object({ entries: z.array(Entry), nextCursor: z.string().optional().meta({ example: '16' }) }),
  example: `curl -s $base/v1/login -o /dev/null -c cookies.txt -H 'content-type: application/json' -d '{"installId":"install-0001"}'; curl -s "$base/v1/coins/history?limit=2" -b cookies.txt`,
  async handle({ caller, query }, { scripts }: Pick<Services, 'scripts'>) {
    return historyPage(caller, { cursor: query.cursor ?? '', limit: Number(query.limit ?? 50) }, scripts);
  },
});

/** A page of the caller's history, newest entry first. @param cursor '' for the first page. @returns no `nextCursor` with the last page */
export async function historyPage(
  caller: Caller,
  { cursor, limit }: { readonly cursor: string; readonly limit: number },
  scripts: CallerScripts,
): Promise<{ entries: z.output<typeof Entry>[]; nextCursor?: string }> {
  const keys = { ledger: coinKeys.ledger(caller.accountId) };
  const [, nextCursor, ...lines] = await scripts.runAs(caller, historyScript, keys, { cursor, limit });
  const entries = lines.map(parseEntry);
  return nextCursor === '' ? { entries } : { entries, nextCursor: nextCursor! };
}

const typeOfLetter = Object.fromEntries(Object.entries(entryLetters).map(([type, letter]) => [letter, type])) as Record<string, EntryType>;

/** A line of the reply of `history.lua`: an entry, after the guest's number if it is a guest's entry. */
const LINE = /^(\d+\.)?(.*)$/s;

/**
 * Parses a line of the reply for the account's owner, who does not see the origin. The id of a guest's entry begins with the guest's
 * number: `2.17`.
 */
export function parseEntry(line: string): z.output<typeof Entry> {
  const [, guest = '', text = ''] = LINE.exec(line)!;
  const { seq, balance, letter, coins, at, key } = ledgerEntry.parse(text)!;
  return { id: `${guest}${seq}`, type: typeOfLetter[letter]!, coins, balanceAfterCoins: balance, key, at: new Date(at).toISOString() };
}

/** Parses a line of the reply for operators, who also see the server key or the operator that made the entry, and the operator's reason. */
export function parseEntryForOperators(line: string): z.output<typeof Entry> & Partial<EntryOrigin> {
  const { origin } = ledgerEntry.parse(LINE.exec(line)![2]!)!;
  return { ...parseEntry(line), ...(origin === undefined ? {} : parseOrigin(origin)) };
}
