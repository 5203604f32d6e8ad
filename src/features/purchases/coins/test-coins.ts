import { standingKey } from '../../../accounts/account-keys.ts';
import type { CallerScripts } from '../../../accounts/caller-scripts.ts';
import { parseStanding } from '../../../accounts/standing.ts';
import type { Config } from '../../../config.ts';
import { read } from '../../../redis/reads.ts';
import { defineScript } from '../../../redis/script.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import type { Metrics } from '../../../server/metrics.ts';
import { DAY_MS, dayOf } from '../../coins/model.ts';
import { accountOf } from '../core/owner.ts';
import { purchaseKeys } from './model.ts';

const reserveScript = defineScript({
  file: new URL('reserve-test-coins.lua', import.meta.url),
  keys: ['day'],
  args: ['purchase', 'owner', 'guests', 'coins', 'most', 'mostInAll', 'keptMs'],
  answers: ['reserved', 'account_full', 'all_full'],
  durable: true,
});

/** All accounts together get at most this many times the test coins that one account may get in a day. */
const ACCOUNTS_IN_ALL = 10;

/** The reservations of a day are kept this long after the day, in milliseconds, because clocks differ. */
const KEPT_MS = 3_600_000;

export interface TestCoinsOptions {
  readonly scripts: CallerScripts;
  readonly config: Pick<Config, 'TEST_PURCHASES' | 'TEST_COINS_PER_DAY'>;
  readonly metrics: Metrics;
  /** The time now, in milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Decides which test purchases of coins, which nobody paid for, are granted (TEST_PURCHASES). If the setting is `capped`, the coins of a
 * purchase are reserved before the purchase is recorded. In a UTC day, at most TEST_COINS_PER_DAY coins are reserved for an account and the
 * guests that moved into it, and ten times as many for all accounts. A reservation belongs to an account and a purchase, and ends with its
 * day. A refund does not end it.
 */
export class TestCoins {
  readonly #options: TestCoinsOptions;
  readonly #counts = { granted: 0, refused: 0, over_cap: 0 };

  constructor(options: TestCoinsOptions) {
    this.#options = options;
    options.metrics.countBy({
      name: 'coinop_test_purchases_total',
      help: 'Test purchases of coins: granted, refused because the service takes none, or over the cap of TEST_COINS_PER_DAY.',
      label: 'outcome',
      counts: () => Object.entries(this.#counts),
    });
  }

  /**
   * Decides whether a test purchase that gave no coins yet may be recorded.
   * @param owner the account that the purchase belongs to; a guest that moved stands for the account into which it moved
   * @param coins that the purchase gives at most. 0: it gives none as it is now, so nothing is reserved
   * @returns a sentence that says why not. Undefined: it may
   */
  async refusalOf(purchaseId: string, owner: string, coins: number): Promise<string | undefined> {
    const { config, scripts, now } = this.#options;
    const { TEST_PURCHASES: mode, TEST_COINS_PER_DAY: most } = config;
    if (mode === 'off') {
      this.#counts.refused++;
      return 'This is a test purchase: nobody paid for it.';
    }
    if (mode === 'on' || coins === 0) return undefined;
    const accountId = (await accountOf(owner, scripts)) ?? owner;
    const mostInAll = ACCOUNTS_IN_ALL * most;
    const [word, figure] = await scripts.run(
      reserveScript,
      { day: purchaseKeys.testCoins(dayOf(now())) },
      {
        purchase: purchaseId,
        owner: accountId,
        guests: (await guestsOf(accountId, scripts)).join(' '),
        ...{ coins, most, mostInAll, keptMs: Math.ceil(this.nextDayAt() - now() + KEPT_MS) },
      },
    );
    if (word === 'reserved') {
      this.#counts.granted += Number(figure === '0');
      return undefined;
    }
    this.#counts.over_cap++;
    if (coins > most) return `A test purchase gives at most ${most} coins, but this one would give ${coins}.`;
    const [bound, whose] = word === 'account_full' ? [most, 'an account'] : [mostInAll, 'all accounts'];
    return `Test purchases give ${whose} at most ${bound} coins a day, and have given ${figure} today. Send this purchase of ${coins} coins again after 00:00 UTC.`;
  }

  /**
   * The time at which a test purchase that is over the cap may be granted, in milliseconds since 1970. It is the beginning of the next UTC
   * day.
   */
  nextDayAt(): number {
    return (Math.floor(this.#options.now() / DAY_MS) + 1) * DAY_MS;
  }
}

/** The coins that an account and the guests that moved into it got from test purchases on the UTC day of `at`. */
export async function testCoinsOf(owners: readonly string[], at: number, scripts: ScriptRunner): Promise<number> {
  const used = await read(scripts, 'HMGET', purchaseKeys.testCoins(dayOf(at)), ...owners);
  return used.reduce((sum, coins) => sum + Number(coins), 0);
}

async function guestsOf(accountId: string, scripts: ScriptRunner): Promise<string[]> {
  const [record = ''] = await read(scripts, 'GET', standingKey(accountId));
  return parseStanding(record === '' ? null : record).guests.map(({ id }) => id);
}
