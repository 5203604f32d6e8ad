import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { invalid } from '../errors.ts';
import { coinKeys, DAY_MS, ledgerEntry } from '../features/coins/model.ts';
import { defineScript } from '../redis/script.ts';
import { Parts } from '../redis/unreadable.ts';
import { limitParameter } from '../server/http/endpoint.ts';
import { operation } from './operation.ts';
import { TopAccount } from './numbers-shapes.ts';
import { AFTER_A_PAGE } from './page-limit.ts';
import { accountsPart, SCAN_CURSOR, type AccountsPart } from './scan-accounts.ts';
import { more, table } from './shown/cells.ts';
import { looked } from './shown/shown-account.ts';
import { topAccounts } from './shown/shown-numbers.ts';

const topAccount = defineScript({
  file: new URL('top-account.lua', import.meta.url),
  keys: ['ledger'],
  args: ['by', 'since'],
  answers: ['none', 'figure'],
  formats: [ledgerEntry],
  readOnly: true,
});

const LISTS = ['balance', 'debt', 'growth', 'spent'] as const;

/** The days of `growth` and `spent` if none are given. */
const DAYS = 7;

const MOST_DAYS = 90;

/** How long a page searches, in milliseconds. A hundred thousand accounts take some seconds. */
const SEARCH_MS = 5000;

/** Pause between the parts, so that other requests are served in between. */
const REST_MS = 1;

type Top = z.input<typeof TopAccount>;

export const topList = operation({
  name: 'numbers top',
  method: 'GET',
  path: '/v1/admin/numbers/top',
  words: ['by'],
  operationId: 'listTopAccounts',
  role: 'viewer',
  costly: true,
  summary: 'The accounts with the highest balances or debts, or that grew or spent most in the last days.',
  description:
    'All accounts are read, because an index would make each coin operation slower. A page searches for some seconds, and then has a ' +
    '`nextCursor`: the list of all accounts is the best of all pages. `growth` is the balance now, less the balance before the first of the ' +
    'days; coins of guests that moved in count. `spent` are the coins of debits.',
  input: z.object({
    by: z.enum(LISTS).meta({ description: 'The order of the list.', example: 'balance' }),
    days: limitParameter(MOST_DAYS, `Days of \`growth\` and \`spent\`, 1 to ${MOST_DAYS}. The default is ${DAYS}.`),
    limit: limitParameter(100, 'Accounts, 1 to 100. The default is 20.'),
    cursor: z.string().regex(SCAN_CURSOR, 'Must be the nextCursor of an earlier page').optional().meta(AFTER_A_PAGE),
  }),
  reply: z.object({
    accounts: z.array(TopAccount),
    looked: z.int().meta({ description: 'Number of accounts that were read for this page.' }),
    nextCursor: z.string().optional(),
  }),
  errors: ['invalid_request'],
  example: `curl -s "$base/v1/admin/numbers/top?by=balance" -H "authorization: Bearer $COINOP_KEY"`,
  shown: ({ accounts, looked: count, nextCursor }) => [table(topAccounts('Accounts'), accounts), looked(count), ...more(nextCursor)],
  async prepare({ by, days, limit: most, cursor = '0.0' }, { scripts, now, ...services }, { isGone }) {
    const limit = Number(most ?? 20);
    const since = now() - Number(days ?? DAYS) * DAY_MS;
    const endsAt = performance.now() + SEARCH_MS;
    const top = new BestAccounts(limit);
    const parts = new Parts();
    let looked = 0;
    let at: string | undefined = cursor;
    while (at !== undefined && performance.now() < endsAt && isGone?.() !== true) {
      if (looked > 0) await pause(REST_MS);
      const part: AccountsPart | undefined = await accountsPart(at, { scripts, now, ...services });
      if (part === undefined) return invalid('cursor', 'Must be the nextCursor of an earlier page');
      looked += part.ids.length;
      const args = { by: by === 'debt' ? 'balance' : by, since };
      await Promise.all(
        part.ids.map(async (accountId) => {
          const answer = await parts.read(`account ${accountId}`, () =>
            scripts.run(topAccount, { ledger: coinKeys.ledger(accountId) }, args),
          );
          const [word, coins, isPart] = answer ?? ['none'];
          if (word === 'figure') top.add(accountId, by === 'debt' ? -Number(coins) : Number(coins), isPart === '1');
        }),
      );
      at = part.next;
    }
    return { reply: { accounts: top.accounts, looked, unreadable: parts.unreadable, ...(at === undefined ? {} : { nextCursor: at }) } };
  },
});

/** The accounts with the most coins so far. */
class BestAccounts {
  readonly #limit: number;
  #best = new Map<string, Top>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get accounts(): Top[] {
    return this.#sorted().slice(0, this.#limit);
  }

  /** The search may find an account twice. */
  add(accountId: string, coins: number, isPart: boolean): void {
    if (coins <= 0) return;
    this.#best.set(accountId, { accountId, coins, ...(isPart ? { atLeast: true } : {}) });
    if (this.#best.size < 20 * this.#limit) return;
    this.#best = new Map(this.accounts.map((each) => [each.accountId, each]));
  }

  #sorted(): Top[] {
    return [...this.#best.values()].toSorted((one, other) => other.coins - one.coins || (one.accountId < other.accountId ? -1 : 1));
  }
}
