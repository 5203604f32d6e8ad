import { accountEvents } from '../../accounts/account-events.ts';
import { accountKey, standingKey } from '../../accounts/account-keys.ts';
import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import { runWhereItIs } from '../../accounts/standing-look.ts';
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
   * What the entry is for, behind the type: `['pebble-drop', '2026-W48']`, or the name of a store and its id of a purchase. Printable ASCII,
   * 255 characters in sum. It is used once for an account and all guests that move into it.
   */
  readonly key: readonly string[];
  /** Whether a ban keeps the entry from being booked. A banned account gets no prize, and keeps what it bought. */
  readonly refusesBanned: boolean;
  /** What the event of the purchase tells. Only of a `topup` and of a `refund`. */
  readonly purchase?: BookedPurchase;
}

export interface BookedPurchase {
  readonly purchaseId: string;
  readonly store: string;
  readonly productId: string;
  /** Units that are granted, or refunded in sum. */
  readonly quantity: number;
}

/** `accountId` is the account whose ledger has the entry: for a guest that moved, the one that it moved into. */
export type BookingOutcome =
  | {
      /** `replayed`: an earlier call booked the entry. */
      readonly word: 'done' | 'replayed';
      readonly accountId: string;
      /** The coins of the entry. With REFUNDS=floor a refund takes no more than there is: it may be 0. */
      readonly coins: number;
      /** The balance right after the entry, below 0 for a debt. `shownBalance` of `model.ts` makes fields of it. */
      readonly balanceAfter: number;
      /** The balance now, in the same way. */
      readonly balance: number;
    }
  | {
      /** Nothing was booked. `balance_limit`: the balance would be above 10^12. A later call may book the entry. */
      readonly word: 'deleted' | 'banned' | 'balance_limit';
      readonly accountId: string;
    };

export interface BookingParts {
  readonly scripts: CallerScripts;
  readonly keySecret: KeySecret;
  readonly coinTotals: Pick<CoinTotals, 'applied'>;
  readonly config: Pick<Config, 'LEDGER_RETENTION_DAYS' | 'REFUNDS'>;
}

/**
 * Books the entries that the service itself makes, for coins that were bought and for prizes.
 *
 * An entry is booked once per key, also by calls at the same time, and where the guest that has it moves into another account meanwhile.
 * The bounds for callers do not hold: caps, install proofs, COIN_AUTHORITY, the daily budget of an address.
 *
 * A key is known for as long as its entry is kept. With LEDGER_RETENTION_DAYS the ledger forgets both, so a caller whose work may be
 * repeated after days has a record of its own, which decides whether the entry was booked.
 */
export class Bookings {
  readonly #parts: BookingParts;

  constructor(parts: BookingParts) {
    this.#parts = parts;
  }

  /** The caller's balance. */
  async balanceOf(caller: Caller): Promise<number> {
    const [, coins] = await this.#parts.scripts.runAs(caller, balanceScript, { ledger: coinKeys.ledger(caller.accountId) }, {});
    return Number(coins);
  }

  /**
   * Books an entry in one round trip. The account of a guest that moved is followed, and a move under way is finished first. An account that
   * never was comes into being; one that was deleted does not. With REFUNDS=debt a refund may take the balance below 0. With
   * REDIS_WAIT_REPLICAS the replicas have the entry.
   * @throws Refusal `store_unavailable` while the ledgers may not be written, or the account is moving for longer than a request waits: nothing
   * was booked
   * @throws Error if Redis is away, or the connection broke: the entry may be booked, and the same call may be repeated
   * @throws RangeError for coins or a key that no entry of the type has
   */
  async book(accountId: string, { type, coins, key, refusesBanned, purchase }: Booking): Promise<BookingOutcome> {
    if (!mayBook(type, coins)) throw new RangeError(`${coins} are no coins of an entry of type ${type}`);
    const { scripts, keySecret, coinTotals, config } = this.#parts;
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
