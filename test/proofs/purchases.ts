import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { coinKeys, entryLetters, type LedgerEntry } from '../../src/features/coins/model.ts';
import { purchaseIdOf } from '../../src/features/purchases/core/purchase-ids.ts';
import { sandboxRedisKeys } from '../../src/apart/sandbox/model.ts';
import { SANDBOX_PACKAGE_NAME } from '../../src/apart/sandbox/settings.ts';
import type { StoreName } from '../../src/stores/stores.ts';
import { inParallel, sum, times } from './client.ts';
import { coinsOf, ledgerOf } from './credits.ts';
import { now, within } from './history.ts';
import { anyOf, type Place } from './place.ts';
import type { Stand } from './proof.ts';
import { AtPlace, type Load } from './scenario.ts';
import { shops, type Shop, type SoldProduct as Sold } from './shops.ts';

/** The store's id of the product. */
export const SKU = 'coins_100';
/** The coins of one unit. */
export const UNIT_COINS = 100;

/** The catalogue of the scenarios. */
export const SHOP = { apps: [], products: [{ productId: 'coins-100', coins: UNIT_COINS, stores: { google: SKU, apple: SKU } }] };

export interface PurchaseOptions {
  /** Number of purchases at full size. An account buys ten times. */
  readonly purchases: number;
  readonly stores: readonly StoreName[];
  /** How long ledgers and books may differ after the last request. */
  readonly agreedWithinMs: number;
}

const PURCHASES_AN_ACCOUNT = 10;

/** The store is slow in one call of ten, and a purchase takes several calls. */
const CONNECTIONS = 128;
const MOST_UNITS = 5;

/** The courses of a purchase. `unseen`: the app crashes before it sends its purchase to the service. `declined`: nobody ever pays. `guessed`:
 * another account sends the store's id first, which is no secret. */
const lives = [
  ...times(9, () => 'plain' as const),
  ...(['pending', 'declined', 'unseen', 'twice', 'stolen', 'refunded', 'refunded', 'reversed', 'canceled', 'refunded_early'] as const),
  ...(['spent', 'spent_and_refunded', 'guessed'] as const),
];

interface Bought {
  readonly shop: Shop;
  /** The store's own id. */
  readonly id: string;
  /** What the app has got from the store. */
  proof: object;
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
  async #change(bought: Bought, change: object): Promise<void> {
    const { shop, id } = bought;
    const body = { kind: 'purchase', store: shop.store, ...shop.sold('purchase', id), notify: true, ...change };
    const changed = await this.place.client.until('/sandbox/issue', { body });
    if (changed === undefined) bought.isStuck = true;
    else bought.proof = shop.proofIn(changed.body);
  }

  async #live(number: number): Promise<void> {
    const [life, installId, shop] = [anyOf(lives)!, anyOf(this.#installs)!, shops[anyOf(this.#options.stores)!]];
    const accountId = accountIdOf(installId);
    const quantity = 1 + Math.floor(Math.random() * MOST_UNITS);
    const part = 1 + Math.floor(Math.random() * quantity);
    // Apple tells of a purchase once it is paid for.
    const isPending = (life === 'pending' || life === 'declined') && shop.store === 'google';
    // A purchase that only a notification reports has to name its buyer. By a guessed id nobody may get one that names none.
    const isBound = life === 'unseen' || (life !== 'guessed' && Math.random() < 0.5);
    if (isBound && (await this.place.client.until('/v1/account/store-ids', { method: 'GET', installId })) === undefined) return;
    const order = {
      kind: 'purchase',
      store: shop.store,
      productId: SKU,
      quantity,
      notify: true,
      state: isPending ? 'pending' : 'purchased',
    };
    const sold = await this.place.client.until('/sandbox/issue', { body: { ...order, ...(isBound ? shop.buyer(accountId) : {}) } });
    // Without an answer the purchase may still be in the store's books.
    if (sold === undefined) return;
    const id = shop.idIn('purchase', sold.body);
    const bought: Bought = { shop, id, proof: shop.proofIn(sold.body), installId, accountId, isShown: false, isStuck: false };
    this.#bought.set(id, bought);
    if (life === 'guessed' && shop.store === 'apple') await this.#guess(bought);
    if (life === 'refunded_early') await this.#change(bought, { refundedQuantity: part });
    if (life !== 'unseen') await Promise.all(times(life === 'twice' ? 3 : 1, () => this.#show(bought)));
    if (life === 'stolen') await this.#steal(bought);
    if (isPending && life === 'pending') await this.#change(bought, { state: 'purchased' });
    if (life.startsWith('spent'))
      await this.#send('/v1/coins/debit', { installId, coins: UNIT_COINS * quantity, key: `spend-${number}` }, 'insufficient_coins');
    if (life === 'canceled' || (isPending && life === 'declined'))
      await this.#change(bought, isPending ? { state: 'canceled' } : shop.takenBack(quantity));
    if (['refunded', 'reversed', 'spent_and_refunded'].includes(life)) await this.#change(bought, { refundedQuantity: part });
    if (life === 'reversed') {
      await this.#change(bought, { refundedQuantity: 0 });
      // The notification may get lost, and no list of the store has reversed refunds. A user who misses the coins opens the app.
      await this.#show(bought);
    }
    this.stand.history.note({ life, bought: { ...bought, shop: shop.store } });
  }

  /** @param accepted the errors that end the repetitions. @returns the last status */
  async #send(path: string, body: object, ...accepted: string[]): Promise<number | undefined> {
    return (await this.place.client.until(path, { body }, { accepts: (answer) => accepted.includes(answer.body.error?.code) }))?.status;
  }

  /** The client makes false claims. Only the proof counts. */
  async #show(bought: Bought): Promise<void> {
    const lies = { state: 'purchased', productId: 'coins-100', quantity: 1000, refundedQuantity: 0, coins: 1_000_000 };
    const body = { installId: bought.installId, ...bought.proof, ...lies };
    // Only a mistake gives a purchase to another account.
    if ((await this.#send('/v1/purchases', body, 'purchase_owned')) === 200) bought.isShown = true;
    else bought.isStuck = true;
  }

  async #steal({ proof }: Bought): Promise<void> {
    if ((await this.#send('/v1/purchases', { installId: this.#thief, ...proof }, 'purchase_owned')) === 200) this.#stolen++;
  }

  /** Another account sends the id of a purchase that names no buyer, before and after the service knows it. */
  async #guess({ id }: Bought): Promise<void> {
    const body = { installId: this.#thief, store: 'apple', transactionId: id };
    const accepted = ['bad_token', 'purchase_owned', 'store_unconfigured'];
    for (const waitMs of [0, 200]) {
      await pause(waitMs);
      if ((await this.#send('/v1/purchases', body, ...accepted)) === 200) this.#stolen++;
    }
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
      'purchases that the store has lost itself': known.filter(({ id }) => !books.has(id)).length,
      'requests that never succeeded': known.filter(({ isStuck }) => isStuck).length,
      'answers with 500': this.place.client.internalErrors,
      'purchases that another account got': this.#stolen,
      ...found,
    };
  }

  /**
   * Sends purchases that were never sent, as an app does at its start: the store lists its user's unconsumed purchases. Of Apple's an app
   * sends all: Apple lists those that were refunded too.
   */
  async #restore(): Promise<ReadonlyMap<string, Sold>> {
    const books = await readBooks(this.place);
    const names = this.#installs.flatMap((each) => Object.values(shops).map((shop) => [shop.nameOf(accountIdOf(each)), each] as const));
    const buyers = new Map(names);
    for (const [id, { store, buyer = '' }] of books) {
      const shop = shops[store];
      const installId = buyers.get(buyer);
      // Of a purchase whose answer was lost nobody may know the buyer.
      if (installId === undefined || this.#bought.has(id)) continue;
      const accountId = accountIdOf(installId);
      this.#bought.set(id, { shop, id, proof: shop.sold('purchase', id), installId, accountId, isShown: false, isStuck: false });
    }
    const unseen = [...this.#bought.values()].filter(({ isShown, shop }) => !isShown || shop.store === 'apple');
    await inParallel(unseen, (bought) => this.#showAgain(bought), CONNECTIONS);
    this.stand.figures.report('purchases that the client shows at its next start', unseen.length);
    return books;
  }

  async #showAgain(bought: Bought): Promise<void> {
    const { shop, id } = bought;
    // Apple signs a purchase anew for each device and start.
    const body = { kind: 'purchase', store: shop.store, ...shop.sold('purchase', id) };
    const again = shop.store === 'apple' ? await this.place.client.until('/sandbox/issue', { body }) : undefined;
    bought.proof = shop.proofIn(again?.body ?? { purchaseToken: id });
    await this.#show(bought);
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
      const ids = some.map(({ id }) => id);
      const agree = async (): Promise<boolean> => {
        await pause(1000);
        return (await comparePurchases(ownedOf(some, await readBooks(this.place, ids)), this.place)).accounts.length === 0;
      };
      await within(giveUpAt - now(), agree);
    }
  }
}

/** The purchases of each account, as the books have them. */
function ownedOf(known: readonly Bought[], books: ReadonlyMap<string, Sold>): Map<string, Sold[]> {
  const accounts = Map.groupBy(known, ({ accountId }) => accountId);
  return new Map([...accounts].map(([accountId, all]) => [accountId, all.flatMap(({ id }) => books.get(id) ?? [])]));
}

const AT_ONCE = 256;

/**
 * The books of the sandbox, in the service's Redis. In the service, only the sandbox reads and writes them.
 * @param ids of the wanted purchases, the store's own. Default: all purchases
 */
async function readBooks(place: Place, ids?: Iterable<string>): Promise<Map<string, Sold>> {
  const books = new Map<string, Sold>();
  const pattern = sandboxRedisKeys.purchase('*');
  const idIn = (key: string): string => key.slice(pattern.indexOf('*'), key.length - (pattern.length - pattern.indexOf('*') - 1));
  const read = async (id: string): Promise<void> => {
    const words = (await place.command('HMGET', sandboxRedisKeys.purchase(id), 'issued', 'consumedAt')) as (string | null)[];
    const [json, consumedAt = null] = words;
    if (typeof json !== 'string') return;
    const issued = JSON.parse(json) as object;
    const sold = Object.values(shops).flatMap((shop) => shop.productIn(id, issued, consumedAt) ?? []);
    if (sold[0] !== undefined) books.set(id, sold[0]);
  };
  await inParallel(ids ?? (await place.keys(pattern)).map(idIn), read, AT_ONCE);
  return books;
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
      for (const { store, id, units, isPaid, isFinished } of purchases) {
        const own = entries.get(purchaseIdOf(store, id)) ?? [];
        entries.delete(purchaseIdOf(store, id));
        const [coins, due, isBooked] = [coinsOf(own), UNIT_COINS * units, own.length > 0];
        const isRepeated = new Set(own.map(({ key }) => key)).size < own.length;
        found['purchases booked less than they came to'] += Number(coins < due);
        found['purchases booked more than they came to'] += Number(coins > due || isRepeated);
        found['purchases that were booked although nobody paid'] += Number(isBooked && !isPaid);
        found['purchases left unconsumed'] += Number(isBooked && !isFinished);
      }
      found['entries of purchases of others'] += [...entries.values()].flat().length;
      const kept = UNIT_COINS * sum(purchases.map(({ units }) => units));
      found['accounts with another sum than the store’s books'] += Number(coinsOf(all) !== kept);
      if (sum(Object.values(found)) > before) differing.push(accountId);
    },
    AT_ONCE,
  );
  return { found, accounts: differing, granted, refunded };
}
