import { z } from 'zod';
import { invalid, Refusal } from '../errors.ts';
import { coinsByType, dayText, productsOf, type Counters } from '../features/numbers/model.ts';
import { readActive, readNumbers } from '../features/numbers/read-numbers.ts';
import { dayNumber } from '../redis/counters.ts';
import { readHash } from '../redis/reads.ts';
import { Parts } from '../redis/unreadable.ts';
import { numbersCsv } from './numbers-csv.ts';
import { NumbersOfDay } from './numbers-shapes.ts';
import { operation, type OperatorServices } from './operation.ts';
import { table } from './shown/cells.ts';
import { numberOfDays, productNumbers } from './shown/shown-numbers.ts';

/** The days of a reply if no days are asked for. */
const DAYS = 90;

/** The most days of a reply: a year, with the same day of the year before. */
const MOST_DAYS = 366;

const Day = z.iso.date('Must be a day such as 2026-11-22');

const spanOfDays = {
  from: Day.optional().meta({ description: `The first day (UTC). Left out: ${DAYS} days up to \`to\`.` }),
  to: Day.optional().meta({ description: 'The last day (UTC). Left out: today, as far as it has gone.' }),
};

const ABOUT =
  'The coins are exact: a script counts them in the same step in which it writes the ledger entry, and the audit compares them with the ' +
  'ledgers. Coins of accounts that were deleted since, and of entries that LEDGER_RETENTION_DAYS deleted, stay counted. Days before `since` have no numbers, because no ' +
  'process counted then.';

export const listNumbers = operation({
  name: 'numbers list',
  method: 'GET',
  path: '/v1/admin/numbers',
  operationId: 'listNumbers',
  role: 'viewer',
  costly: true,
  summary: 'Coins, purchases, accounts, rooms and prizes of each day.',
  description: `${ABOUT} At most ${MOST_DAYS} days.`,
  input: z.object(spanOfDays),
  reply: z.object({
    since: z.iso.date().optional().meta({ description: 'The first day that was counted. Left out: nothing was counted yet.' }),
    days: z.array(NumbersOfDay).meta({ description: 'Every day, the oldest first.' }),
  }),
  errors: ['invalid_request'],
  example: `curl -s "$base/v1/admin/numbers?from=2026-11-01" -H "authorization: Bearer $COINOP_KEY"`,
  shown: ({ since, days }) => [
    sinceText(since),
    table(numberOfDays, days.toReversed()),
    table(
      productNumbers,
      days.toReversed().flatMap(({ day, products }) => products.map((product) => ({ day, ...product }))),
    ),
  ],
  async prepare(input, services) {
    const numbers = await numbersOf(input, services);
    return numbers instanceof Refusal ? numbers : { reply: numbers };
  },
});

export const exportNumbers = operation({
  name: 'numbers export',
  method: 'GET',
  path: '/v1/admin/numbers/export',
  operationId: 'exportNumbers',
  role: 'viewer',
  costly: true,
  summary: 'The numbers of each day as CSV, or those of each product.',
  input: z.object({
    ...spanOfDays,
    of: z.enum(['days', 'products']).optional().meta({ description: 'Left out: `days`.' }),
  }),
  reply: z.object({ csv: z.string() }),
  errors: ['invalid_request'],
  example: `curl -s "$base/v1/admin/numbers/export?of=products" -H "authorization: Bearer $COINOP_KEY"`,
  shown: ({ csv }) => [csv.trimEnd().replaceAll('\r', '')],
  async prepare({ of = 'days', ...span }, services) {
    const numbers = await numbersOf(span, services);
    return numbers instanceof Refusal ? numbers : { reply: { csv: numbersCsv(numbers.days, of), unreadable: numbers.unreadable } };
  },
});

const sinceText = (since: string | undefined): string =>
  since === undefined ? 'Nothing was counted yet.' : `Days are counted since ${since} (UTC).`;

async function numbersOf(
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  { scripts, now }: Pick<OperatorServices, 'scripts' | 'now'>,
): Promise<Refusal<'invalid_request'> | { since?: string; days: z.input<typeof NumbersOfDay>[]; unreadable: string[] }> {
  const parts = new Parts();
  const last = to === undefined ? dayNumber(now()) : dayNumber(Date.parse(to));
  const first = from === undefined ? last - DAYS + 1 : dayNumber(Date.parse(from));
  if (first > last) return invalid('from', 'Must not be after "to"');
  if (last - first >= MOST_DAYS) return invalid('from', `Must be at most ${MOST_DAYS} days before "to"`);
  const [{ firstAt, days }, active] = await Promise.all([
    readNumbers(scripts.isOnCluster, first, last, async (key) => (await parts.read(`key ${key}`, () => readHash(scripts, key))) ?? []),
    parts.read('active accounts', () => readActive(scripts)),
  ]);
  return {
    ...(firstAt === undefined ? {} : { since: dayText(dayNumber(firstAt)) }),
    days: Array.from({ length: last - first + 1 }, (_, index) => numbersOfDay(first + index, days.get(first + index), active)),
    unreadable: parts.unreadable,
  };
}

const NOTHING: Counters = new Map();
const NO_ACTIVE: ReadonlyMap<number, number> = new Map();

function numbersOfDay(day: number, counters = NOTHING, active: ReadonlyMap<number, number> = NO_ACTIVE): z.input<typeof NumbersOfDay> {
  const counted = (name: string): number => counters.get(name) ?? 0;
  return {
    day: dayText(day),
    coinsIn: coinsByType(counters, '+'),
    coinsOut: coinsByType(counters, '-'),
    newAccounts: counted('new'),
    activeAccounts: active.get(day) ?? 0,
    movedAccounts: counted('moved'),
    deletedAccounts: counted('deleted'),
    rooms: counted('rooms'),
    matches: counted('matches'),
    prizes: counted('prizes'),
    products: productsOf(counters),
  };
}
