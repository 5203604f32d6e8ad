import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { coinKeys, entryLetters, type LedgerEntry } from '../../src/features/coins/model.ts';
import { purchaseIdOf } from '../../src/features/purchases/core/purchase-ids.ts';
import { sandboxRedisKeys } from '../../src/apart/sandbox/model.ts';
import type { IssuedPurchase } from '../../src/apart/sandbox/purchase-record.ts';
import { SANDBOX_PACKAGE_NAME } from '../../src/apart/sandbox/settings.ts';
import { inParallel, sum, times } from './client.ts';
import { coinsOf, ledgerOf } from './credits.ts';
import { now, within } from './history.ts';
import { anyOf, type Place } from './place.ts';
import type { Stand } from './proof.ts';
import { AtPlace, type Load } from './scenario.ts';

/** The store's id of the product. */
export const SKU = 'coins_100';
/** The coins of one unit. */
export const UNIT_COINS = 100;

/** The catalogue of the scenarios. */
export const SHOP = { apps: [], products: [{ productId: 'coins-100', coins: UNIT_COINS, stores: { google: SKU } }] };

export interface PurchaseOptions {
  /** Number of purchases at full size. An account buys ten times. */
  readonly purchases: number;
  /** How long ledgers and books may differ after the last request. */
  readonly agreedWithinMs: number;
}

const PURCHASES_AN_ACCOUNT = 10;

/** The store is slow in one call of ten, and a purchase takes several calls. */
const CONNECTIONS = 128;
const MOST_UNITS = 5;

/** The courses of a purchase. `unseen`: the app crashes before it sends its purchase to the service. `declined`: nobody ever pays. */
const lives = [
  ...times(9, () => 'plain' as const),
  ...(['pending', 'declined', 'unseen', 'twice', 'stolen', 'refunded', 'refunded', 'reversed', 'canceled', 'refunded_early'] as const),
  ...(['spent', 'spent_and_refunded'] as const),
];

interface Bought {
  readonly token: string;
  readonly installId: string;
  readonly accountId: string;
  /** A reply has granted or recorded the purchase. */
  isShown: boolean;
  /** A request that has to succeed never succeeded. */
  isStuck: boolean;
}

/**
 * Purchases of many accounts at the sandbox with faults, and the people who refund them at the store. At the end the ledgers are compared
 * with the books of the store. The sandbox runs in the service, so its pending notifications are lost with it. Its books are in Redis. With
 * REDIS_WAIT_REPLICAS they are on a replica before the sandbox answers, because a real store does not lose its books either.
 */
export class Purchases extends AtPlace implements Load {
  /** The primary of the store's books is the one that is killed. */
  readonly keys = [sandboxRedisKeys.voided(SANDBOX_PACKAGE_NAME)];
  readonly #bought = new Map<string, Bought>();
  readonly #installs: readonly string[];
  /** An account that sends the purchases of others, and how many of them it was granted. */
  readonly #thief: string;
  #stolen = 0;
  readonly #count: number;
  readonly #options: PurchaseOptions;

  constructor(stand: Stand, place: Place, options: PurchaseOptions) {
    super(stand, place);
    this.#options = options;
    this.#count = Math.ceil(options.purchases * stand.size);
    const prefix = `prove-${randomBytes(4).toString('hex')}`;
    this.#installs = times(this.#count / PURCHASES_AN_ACCOUNT, (index) => `${prefix}-${index}`);
    this.#thief = `${prefix}-thief`;
  }

  get done(): number {
    return this.#bought.size;
  }

  async run(isOver: () => boolean): Promise<void> {
    const live = async (number: number): Promise<unknown> => isOver() || this.#live(number);
    await inParallel(Array.from({ length: this.#count }).keys(), live, CONNECTIONS);
  }

  /** Has the store refund, pay or cancel a purchase, and notify the service. */
  async #change(bought: Pick<Bought, 'token' | 'isStuck'>, change: object): Promise<void> {
    const body = { kind: 'purchase', purchaseToken: bought.token, notify: true, ...change };
    if ((await this.place.client.until('/sandbox/issue', { body })) === undefined) bought.isStuck = true;
  }

  async #live(number: number): Promise<void> {
    const [life, installId] = [anyOf(lives)!, anyOf(this.#installs)!];
    const accountId = accountIdOf(installId);
    const quantity = 1 + Math.floor(Math.random() * MOST_UNITS);
    const part = 1 + Math.floor(Math.random() * quantity);
    const state = life === 'pending' || life === 'declined' ? 'pending' : 'purchased';
    // A purchase that only a notification reports has to name its buyer.
    const buyer = life === 'unseen' || Math.random() < 0.5 ? { obfuscatedAccountId: accountId } : {};
    const body = { kind: 'purchase', productId: SKU, quantity, notify: true, state, ...buyer };
    const sold = await this.place.client.until('/sandbox/issue', { body });
    // Without an answer the purchase may still be in the store's books.
    if (sold === undefined) return;
    const bought: Bought = { token: sold.body.purchaseToken, installId, accountId, isShown: false, isStuck: false };
    this.#bought.set(bought.token, bought);
    if (life === 'refunded_early') await this.#change(bought, { refundedQuantity: part });
    if (life !== 'unseen') await Promise.all(times(life === 'twice' ? 3 : 1, () => this.#show(bought)));
    if (life === 'stolen') await this.#steal(bought);
    if (life === 'pending') await this.#change(bought, { state: 'purchased' });
    if (life.startsWith('spent'))
      await this.#send('/v1/coins/debit', { installId, coins: UNIT_COINS * quantity, key: `spend-${number}` }, 'insufficient_coins');
    if (life === 'canceled' || life === 'declined') await this.#change(bought, { state: 'canceled' });
    if (['refunded', 'reversed', 'spent_and_refunded'].includes(life)) await this.#change(bought, { refundedQuantity: part });
    if (life === 'reversed') {
      await this.#change(bought, { refundedQuantity: 0 });
      // The notification may get lost, and no list of the store has reversed refunds. A user who misses the coins opens the app.
      await this.#show(bought);
    }
    this.stand.history.note({ life, bought });
  }

  /** @param accepted the error that ends the repetitions. @returns the last status */
  async #send(path: string, body: object, accepted: string): Promise<number | undefined> {
    return (await this.place.client.until(path, { body }, { accepts: (answer) => answer.body.error?.code === accepted }))?.status;
  }

  /** The client makes false claims. Only the token counts. */
  async #show(bought: Bought): Promise<void> {
    const lies = { state: 'purchased', productId: 'coins-100', quantity: 1000, refundedQuantity: 0, coins: 1_000_000 };
    const body = { installId: bought.installId, store: 'google', purchaseToken: bought.token, ...lies };
    if ((await this.place.client.until('/v1/purchases', { body })) === undefined) bought.isStuck = true;
    else bought.isShown = true;
  }

  async #steal({ token }: Bought): Promise<void> {
    const body = { installId: this.#thief, store: 'google', purchaseToken: token };
    if ((await this.#send('/v1/purchases', body, 'purchase_owned')) === 200) this.#stolen++;
  }

  async compare(): Promise<Record<string, number>> {
    const { figures } = this.stand;
    const books = await this.#restore();
    const startedAt = now();
    const { granted, refunded, found } = await this.#agreed(startedAt + this.#options.agreedWithinMs);
    const known = [...this.#bought.values()];
    figures.report('  refusals', this.place.client.refused);
    figures.report('coins granted; refunded', `${granted}; ${refunded}`);
    figures.report('all agrees after the last request, ms', Math.round(now() - startedAt));
    return {
      'purchases that the store has lost itself': known.filter(({ token }) => !books.has(token)).length,
      'requests that never succeeded': known.filter(({ isStuck }) => isStuck).length,
      'answers with 500': this.place.client.internalErrors,
      'purchases that another account got': this.#stolen,
      ...found,
    };
  }

  /** Sends purchases that were never sent, as an app does at its start: the store lists its user's unconsumed purchases. */
  async #restore(): Promise<ReadonlyMap<string, Sold>> {
    const books = await readBooks(this.place);
    const buyers = new Map(this.#installs.map((installId) => [accountIdOf(installId), installId]));
    for (const { token, issued } of books.values()) {
      const accountId = issued.obfuscatedAccountId ?? '';
      const installId = buyers.get(accountId);
      // Of a purchase whose answer was lost nobody may know the buyer.
      if (installId !== undefined && !this.#bought.has(token))
        this.#bought.set(token, { token, accountId, installId, isShown: false, isStuck: false });
    }
    const unseen = [...this.#bought.values()].filter(({ isShown }) => !isShown);
    await inParallel(unseen, (bought) => this.#show(bought), CONNECTIONS);
    this.stand.figures.report('purchases that the client shows at its next start', unseen.length);
    return books;
  }

  /** Compares until ledgers and books agree, or until the time is up. Meanwhile each call of the store may cause random refunds. */
  async #agreed(giveUpAt: number) {
    for (;;) {
      const known = [...this.#bought.values()];
      const owned = ownedOf(known, await readBooks(this.place)).set(accountIdOf(this.#thief), []);
      const differences = await comparePurchases(owned, this.place);
      if (differences.accounts.length === 0 || now() > giveUpAt) return differences;
      // Reading all books takes a minute, so the differing ones are read until they agree.
      const those = new Set(differences.accounts);
      const some = known.filter(({ accountId }) => those.has(accountId));
      const tokens = some.map(({ token }) => token);
      const agree = async (): Promise<boolean> => {
        await pause(1000);
        return (await comparePurchases(ownedOf(some, await readBooks(this.place, tokens)), this.place)).accounts.length === 0;
      };
      await within(giveUpAt - now(), agree);
    }
  }
}

/** The purchases of each account, as the books have them. */
function ownedOf(known: readonly Bought[], books: ReadonlyMap<string, Sold>): Map<string, Sold[]> {
  const accounts = Map.groupBy(known, ({ accountId }) => accountId);
  return new Map([...accounts].map(([accountId, all]) => [accountId, all.flatMap(({ token }) => books.get(token) ?? [])]));
}

/** A purchase in the books of the store. */
interface Sold {
  readonly token: string;
  readonly issued: IssuedPurchase;
  readonly isConsumed: boolean;
}

const AT_ONCE = 256;

/**
 * The books of the sandbox, in the service's Redis. In the service, only the sandbox reads and writes them.
 * @param tokens of the wanted purchases. Default: all purchases
 */
async function readBooks(place: Place, tokens?: Iterable<string>): Promise<Map<string, Sold>> {
  const books = new Map<string, Sold>();
  const pattern = sandboxRedisKeys.purchase('*');
  const tokenIn = (key: string): string => key.slice(pattern.indexOf('*'), key.length - (pattern.length - pattern.indexOf('*') - 1));
  const read = async (token: string): Promise<void> => {
    const words = (await place.command('HMGET', sandboxRedisKeys.purchase(token), 'issued', 'consumedAt')) as (string | null)[];
    const [json, consumedAt] = words;
    if (typeof json === 'string') books.set(token, { token, issued: JSON.parse(json) as IssuedPurchase, isConsumed: consumedAt !== null });
  };
  await inParallel(tokens ?? (await place.keys(pattern)).map(tokenIn), read, AT_ONCE);
  return books;
}

/** The coins that the buyer keeps. */
function keptCoins({ state, quantity, refundedQuantity }: IssuedPurchase): number {
  return state === 'purchased' ? UNIT_COINS * (quantity - refundedQuantity) : 0;
}

/** The purchase entries of an account, by `purchaseIdOf`. */
async function entriesOf(accountId: string, place: Place): Promise<Map<string, LedgerEntry[]>> {
  const entries = await ledgerOf(coinKeys.ledger(accountId), place);
  const ofPurchases = entries.filter(({ letter }) => letter === entryLetters.topup || letter === entryLetters.refund);
  return Map.groupBy(ofPurchases, ({ key }) => key.split('·')[2]!);
}

/** @param owned the purchases of each account. @returns the differences, the accounts that have one, and the coins in the ledgers */
async function comparePurchases(owned: ReadonlyMap<string, readonly Sold[]>, place: Place) {
  const found = {
    'purchases booked less than they came to': 0,
    'purchases booked more than they came to': 0,
    'purchases that were booked although nobody paid': 0,
    'entries of purchases of others': 0,
    'accounts with another sum than the store’s books': 0,
    'purchases left unconsumed': 0,
  };
  const differing: string[] = [];
  let [granted, refunded] = [0, 0];
  await inParallel(
    owned,
    async ([accountId, purchases]) => {
      const entries = await entriesOf(accountId, place);
      const all = [...entries.values()].flat();
      granted += coinsOf(all.filter(({ letter }) => letter === entryLetters.topup));
      refunded -= coinsOf(all.filter(({ letter }) => letter === entryLetters.refund));
      const before = sum(Object.values(found));
      for (const { token, issued, isConsumed } of purchases) {
        const own = entries.get(purchaseIdOf('google', token)) ?? [];
        entries.delete(purchaseIdOf('google', token));
        const [coins, due, isBooked] = [coinsOf(own), keptCoins(issued), own.length > 0];
        const isRepeated = new Set(own.map(({ key }) => key)).size < own.length;
        found['purchases booked less than they came to'] += Number(coins < due);
        found['purchases booked more than they came to'] += Number(coins > due || isRepeated);
        found['purchases that were booked although nobody paid'] += Number(isBooked && issued.completedAt === undefined);
        found['purchases left unconsumed'] += Number(isBooked && issued.state === 'purchased' && !isConsumed);
      }
      found['entries of purchases of others'] += [...entries.values()].flat().length;
      const kept = sum(purchases.map(({ issued }) => keptCoins(issued)));
      found['accounts with another sum than the store’s books'] += Number(coinsOf(all) !== kept);
      if (sum(Object.values(found)) > before) differing.push(accountId);
    },
    AT_ONCE,
  );
  return { found, accounts: differing, granted, refunded };
}
