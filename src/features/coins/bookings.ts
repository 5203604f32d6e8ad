import { accountCreation } from '../../accounts/account-creation.ts';
import { accountEvents } from '../../accounts/account-events.ts';
import { accountKey, standingKey } from '../../accounts/account-keys.ts';
import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import { runWhereItIs, settled } from '../../accounts/standing-reader.ts';
import { standingLibrary } from '../../accounts/standing.ts';
import type { Config } from '../../config.ts';
import { defineScript } from '../../redis/script.ts';
import type { Caller } from '../../server/identity/caller.ts';
import { balanceInScript, balanceScript } from './balance-script.ts';
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
  library: [standingLibrary, accountEvents, accountCreation, ledgerLibrary],
  durable: true,
});

export interface Booking {
  readonly type: ServiceEntryType;
  /**
   * Whole coins that the entry adds, from -10^12 to 10^12. The coins of a `refund` are negative, but positive if it gives back coins of an
   * earlier refund.
   */
  readonly coins: number;
  /**
   * The parts of the idempotency key after its type: `['pebble-drop', '2026-W48']`, or the name of an app store and the store's id of a
   * purchase. Printable ASCII; the whole key has at most 255 characters. An account and all guests that move into it use a key only once.
   */
  readonly key: readonly string[];
  /** Whether the booking is refused if the account is banned. A banned account gets no prize, but it does get the coins that it bought. */
  readonly refusesBanned: boolean;
  /** The purchase that is named in the event about this entry. Only for a `topup` and a `refund`. */
  readonly purchase?: BookedPurchase;
}

export interface BookedPurchase {
  readonly purchaseId: string;
  readonly store: string;
  readonly productId: string;
  /** Units of the product. For a `topup`: the units bought. For a `refund`: all units refunded so far. */
  readonly quantity: number;
}

/**
 * The outcome of a booking. `accountId` is the account whose ledger has the entry: for a guest that moved, the account into which it moved.
 */
export type BookingOutcome =
  | {
      /** `replayed`: an earlier call booked the entry. */
      readonly word: 'done' | 'replayed';
      readonly accountId: string;
      /** The coins that the entry adds. With REFUNDS=floor a refund takes at most the balance, so the entry may have 0 coins. */
      readonly coins: number;
      /** The balance right after the entry, below 0 for a debt. `shownBalance` of `model.ts` turns it into fields. */
      readonly balanceAfter: number;
      /** The account's balance at the time of the call, below 0 for a debt. */
      readonly balance: number;
    }
  | {
      /** Nothing was booked. `balance_limit`: the balance would be above 10^12; a later call may book the entry. */
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
 * Books ledger entries that the service itself makes, for bought coins and for prizes.
 *
 * An entry is booked once per idempotency key, even by simultaneous calls, and even if a guest moves into another account after the entry
 * was booked in the guest's ledger. The limits on callers do not apply to these entries: caps, install proofs, COIN_AUTHORITY, and the
 * daily budget of an address.
 *
 * A ledger knows an idempotency key as long as it keeps the entry. With LEDGER_RETENTION_DAYS it deletes old entries and their keys. So
 * code that may repeat a booking days later has to keep its own record of whether the entry was booked.
 */
export class Bookings {
  readonly #options: BookingsOptions;

  constructor(options: BookingsOptions) {
    this.#options = options;
  }

  /** The caller's balance in coins, below 0 for a debt. */
  async balanceOf(caller: Caller): Promise<number> {
    const [, coins] = await this.#options.scripts.runAs(caller, balanceScript, { ledger: coinKeys.ledger(caller.accountId) }, {});
    return Number(coins);
  }

  /** The balance in coins of an account, or of the account into which it moved, below 0 for a debt. */
  async balanceIn(accountId: string): Promise<number> {
    const { scripts } = this.#options;
    const { accountId: owner } = await settled(accountId, scripts);
    const [, coins] = await scripts.run(balanceInScript, { ledger: coinKeys.ledger(owner) }, {});
    return Number(coins);
  }

  /**
   * Books an entry in one round trip. For a guest that moved, the entry goes into the ledger of the account into which the guest moved; an
   * unfinished move is finished first. A missing account is created, but a deleted account is not. With REFUNDS=debt a refund may take the
   * balance below 0. With REDIS_WAIT_REPLICAS the promise resolves after that number of replicas has the entry.
   * @throws Refusal `store_unavailable` while ledgers may not be written, or if the account is moving for longer than a request waits:
   * nothing was booked
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

/** The argument `event` of `book.lua`: the purchase that the event about the entry names. `features/events/parse-event.ts` parses the event. */
function eventOf(type: ServiceEntryType, purchase: BookedPurchase | undefined): string {
  if (purchase === undefined) return '';
  const { purchaseId, store, productId, quantity } = purchase;
  return `${type === 'refund' ? 'r' : 'g'} ${purchaseId} ${store} ${productId} ${quantity}`;
}
