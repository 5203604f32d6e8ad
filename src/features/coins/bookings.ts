import { accountEvents } from '../../accounts/account-events.ts';
import { accountKey, standingKey } from '../../accounts/account-keys.ts';
import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import { runWhereItIs } from '../../accounts/standing-reader.ts';
import { standingLibrary } from '../../accounts/standing.ts';
import type { Config } from '../../config.ts';
import { defineScript } from '../../redis/script.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { balanceScript } from './balance-script.ts';
import type { CoinTotals } from './coin-totals.ts';
import type { KeySecret } from './key-secret.ts';
import { coinKeys, DAY_MS, entryLetters, ledgerLibrary, MAX_BALANCE, MIN_BALANCE, type ServiceEntryType } from './model.ts';
import { serviceKey } from './service-key.ts';

const bookScript = defineScript({
  file: new URL('book.lua', import.meta.url),
  keys: ['ledger', 'account', 'standing'],
  args: ['letter', 'coins', 'key', 'keyHash', 'refusesBanned', 'least', 'event'],
  shared: ['kept', 'secret'],
  answers: ['done', 'replayed', 'balance_limit', 'banned', 'deleted', 'moving', 'moved', 'other_data'],
  library: [standingLibrary, accountEvents, ledgerLibrary],
  durable: true,
});

export interface Booking {
  readonly type: ServiceEntryType;
  /** Whole coins, at most 10^12. Negative for a `refund`, or positive to give back what one took. */
  readonly coins: number;
  /**
   * The key of the entry, without its type: `['pebble-drop', '2026-W48']`, or the name of a store and its id of a purchase. Printable
   * ASCII, 255 characters in sum. A key is used once for an account and all guests that move into it.
   */
  readonly key: readonly string[];
  /** Whether a banned account is refused. It gets no prize, but it does get the coins that it bought. */
  readonly refusesBanned: boolean;
  /** Data for the event of the purchase. Only for a `topup` and a `refund`. */
  readonly purchase?: BookedPurchase;
}

export interface BookedPurchase {
  readonly purchaseId: string;
  readonly store: string;
  readonly productId: string;
  /** Units that are granted, or refunded in sum. */
  readonly quantity: number;
}

/** `accountId` is the account whose ledger has the entry: for a guest that moved, its target. */
export type BookingOutcome =
  | {
      /** `replayed`: an earlier call booked the entry. */
      readonly word: 'done' | 'replayed';
      readonly accountId: string;
      /** The coins of the entry. With REFUNDS=floor a refund takes at most the balance, so it may be 0. */
      readonly coins: number;
      /** The balance right after the entry, below 0 for a debt. `shownBalance` of `model.ts` turns it into fields. */
      readonly balanceAfter: number;
      /** The balance now, in the same way. */
      readonly balance: number;
    }
  | {
      /** Nothing was booked. `balance_limit`: the balance would be above 10^12. A later call may book the entry. */
      readonly word: 'deleted' | 'banned' | 'balance_limit';
      readonly accountId: string;
    };

export interface BookingsOptions {
  readonly scripts: CallerScripts;
  readonly keySecret: KeySecret;
  readonly coinTotals: Pick<CoinTotals, 'applied'>;
  readonly config: Pick<Config, 'LEDGER_RETENTION_DAYS' | 'REFUNDS'>;
}

/**
 * Books entries of the service itself, for bought coins and for prizes.
 *
 * An entry is booked once per key, even by simultaneous calls, and even if the guest that has it moves into another account meanwhile. The
 * limits for callers do not apply: caps, install proofs, COIN_AUTHORITY, the daily budget of an address.
 *
 * A ledger knows a key as long as it keeps the entry. With LEDGER_RETENTION_DAYS it deletes both. So a caller that may repeat its work days
 * later has to keep a record, which decides whether the entry was booked.
 */
export class Bookings {
  readonly #options: BookingsOptions;

  constructor(options: BookingsOptions) {
    this.#options = options;
  }

  /** The caller's balance. */
  async balanceOf(caller: Caller): Promise<number> {
    const [, coins] = await this.#options.scripts.runAs(caller, balanceScript, { ledger: coinKeys.ledger(caller.accountId) }, {});
    return Number(coins);
  }

  /**
   * Books an entry in one round trip. For a guest that moved it books in the account into which the guest moved; an unfinished move is
   * finished first. It creates an account that does not exist, but not one that was deleted. With REFUNDS=debt a refund may take the
   * balance below 0. With REDIS_WAIT_REPLICAS the replicas have the entry.
   * @throws Refusal `store_unavailable` while ledgers may not be written, or if the account is moving for longer than a request waits.
   * Nothing was booked
   * @throws Error if Redis is unavailable, or the connection broke: the entry may be booked, and the same call may be repeated
   * @throws RangeError for coins or a key that an entry of this type cannot have
   */
  async book(accountId: string, { type, coins, key, refusesBanned, purchase }: Booking): Promise<BookingOutcome> {
    if (!mayBook(type, coins)) throw new RangeError(`${coins} are no coins of an entry of type ${type}`);
    const { scripts, keySecret, coinTotals, config } = this.#options;
    const text = serviceKey(type, key);
    const letter = entryLetters[type];
    const {
      accountId: owner,
      word,
      figures: [ofEntry, after, last],
    } = await runWhereItIs(accountId, scripts, (id) =>
      scripts.run(
        bookScript,
        { ledger: coinKeys.ledger(id), account: accountKey(id), standing: standingKey(id) },
        {
          letter,
          coins,
          key: text,
          keyHash: keySecret.hashOf(text),
          refusesBanned: refusesBanned ? '1' : '',
          event: eventOf(type, purchase),
          least: config.REFUNDS === 'debt' ? MIN_BALANCE : 0,
          kept: config.LEDGER_RETENTION_DAYS * DAY_MS,
          secret: keySecret.text,
        },
      ),
    );
    switch (word) {
      case 'other_data':
        throw keySecret.otherData();
      case 'done':
        if (last === '1') scripts.accountCreated();
        coinTotals.applied(`${letter}${ofEntry}`, Number(after));
        return { word, accountId: owner, coins: Number(ofEntry), balanceAfter: Number(after), balance: Number(after) };
      case 'replayed':
        return { word, accountId: owner, coins: Number(ofEntry), balanceAfter: Number(after), balance: Number(last) };
      default:
        return { word, accountId: owner };
    }
  }
}

function mayBook(type: ServiceEntryType, coins: number): boolean {
  if (!Number.isSafeInteger(coins) || Math.abs(coins) > MAX_BALANCE || coins === 0) return false;
  return type === 'refund' || coins > 0;
}

/** In the format of `book.lua`. `features/events/model.ts` reads the event. */
function eventOf(type: ServiceEntryType, purchase: BookedPurchase | undefined): string {
  if (purchase === undefined) return '';
  const { purchaseId, store, productId, quantity } = purchase;
  return `${type === 'refund' ? 'r' : 'g'} ${purchaseId} ${store} ${productId} ${quantity}`;
}
