import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { entryLetters } from '../../src/features/coins/model.ts';
import { purchaseIdOf } from '../../src/features/purchases/model.ts';
import { sandboxRedisKeys } from '../../src/stores/sandbox/model.ts';
import { SANDBOX_PACKAGE_NAME } from '../../src/stores/sandbox/settings.ts';
import { Client, inParallel, type Answer } from './client.ts';
import { POLL_MS } from './copies.ts';
import { now } from './history.ts';
import type { Place } from './place.ts';
import type { Stand } from './proof.ts';
import {
  coinsOf,
  comparePurchases,
  entriesOf,
  keptCoins,
  readBooks,
  UNIT_COINS,
  type PurchaseDifferences,
  type Sold,
} from './purchase-book.ts';
import type { Load } from './scenario.ts';

const SKU = 'coins_100';

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

const NOTICED_WITHIN_MS = 5000;
/** Purchases that are refunded after the kills. */
const MOST_TIMED = 200;
const TIMED_AT_ONCE = 4;

/** The courses of a purchase. `unseen`: the app crashes before it sends its purchase to the service. `declined`: nobody ever pays. */
const lives = [
  ...Array.from({ length: 9 }, () => 'plain' as const),
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
  /** The time of the first refund with a notification. */
  refundedAt?: number;
}

/**
 * Purchases of many accounts at the sandbox with faults, and the people who refund them at the store. At the end the ledgers are compared
 * with the books of the store. The sandbox runs in the service, so its pending notifications are lost with it. Its books are in Redis. With
 * REDIS_WAIT_REPLICAS they are on a replica before the sandbox answers, because a real store does not lose its books either.
 */
export class Purchases implements Load {
  /** The primary of the store's books is the one that is killed. */
  readonly keys = [sandboxRedisKeys.voided(SANDBOX_PACKAGE_NAME)];
  readonly #bought: Bought[] = [];
  readonly #known = new Map<string, Bought>();
  readonly #installs: readonly string[];
  /** Purchases that were granted to another account than the buyer's. */
  #stolen = 0;
  #owned = new Map<string, Sold[]>();
  readonly #count: number;
  readonly #client: Client;
  readonly #stand: Stand;
  readonly #place: Place;
  readonly #options: PurchaseOptions;

  constructor(stand: Stand, place: Place, options: PurchaseOptions) {
    [this.#stand, this.#place, this.#options, this.#client] = [stand, place, options, new Client(() => place.url())];
    this.#count = Math.ceil(options.purchases * stand.size);
    const prefix = `prove-${randomBytes(4).toString('hex')}`;
    this.#installs = Array.from({ length: Math.ceil(this.#count / PURCHASES_AN_ACCOUNT) }, (_, index) => `${prefix}-${index}`);
    stand.closing.push(() => this.#client.close());
  }

  get done(): number {
    return this.#bought.length;
  }

  /** The install of an account that sends the purchases of others. */
  get #thief(): string {
    return `${this.#installs[0]}-thief`;
  }

  async run(isOver: () => boolean): Promise<void> {
    const live = async (number: number): Promise<unknown> => isOver() || this.#live(number);
    await inParallel(Array.from({ length: this.#count }).keys(), live, CONNECTIONS);
  }

  /** Has the store refund, pay or cancel a purchase, and notify the service. */
  async #change(bought: Pick<Bought, 'token' | 'isStuck'>, change: object): Promise<void> {
    const body = { kind: 'purchase', purchaseToken: bought.token, notify: true, ...change };
    if ((await this.#client.until('/sandbox/issue', { body })) === undefined) bought.isStuck = true;
  }

  async #live(number: number): Promise<void> {
    const life = lives[Math.floor(Math.random() * lives.length)]!;
    const installId = this.#installs[Math.floor(Math.random() * this.#installs.length)]!;
    const accountId = accountIdOf(installId);
    const quantity = 1 + Math.floor(Math.random() * MOST_UNITS);
    const part = 1 + Math.floor(Math.random() * quantity);
    const state = life === 'pending' || life === 'declined' ? 'pending' : 'purchased';
    // A purchase that only a notification reports has to name its buyer.
    const buyer = life === 'unseen' || Math.random() < 0.5 ? { obfuscatedAccountId: accountId } : {};
    const body = { kind: 'purchase', productId: SKU, quantity, notify: true, state, ...buyer };
    const sold = await this.#client.until('/sandbox/issue', { body });
    // Without an answer the purchase may still be in the store's books.
    if (sold === undefined) return;
    const bought: Bought = { token: sold.body.purchaseToken, installId, accountId, isShown: false, isStuck: false };
    this.#bought.push(bought);
    if (life === 'refunded_early') await this.#change(bought, { refundedQuantity: part });
    if (life !== 'unseen') await Promise.all(Array.from({ length: life === 'twice' ? 3 : 1 }, () => this.#show(bought)));
    if (life === 'stolen') await this.#steal(bought);
    if (life === 'pending') await this.#change(bought, { state: 'purchased' });
    if (life.startsWith('spent')) await this.#spend(installId, UNIT_COINS * quantity, number);
    if (life === 'canceled' || life === 'declined') await this.#change(bought, { state: 'canceled' });
    if (['refunded', 'reversed', 'spent_and_refunded'].includes(life)) {
      bought.refundedAt = now();
      await this.#change(bought, { refundedQuantity: part });
    }
    if (life === 'reversed') {
      await this.#change(bought, { refundedQuantity: 0 });
      // The notification may get lost, and no list of the store has reversed refunds. A user who misses the coins opens the app.
      await this.#show(bought);
    }
    this.#stand.history.note({ life, bought });
  }

  /** The client makes false claims. Only the token counts. */
  async #show(bought: Bought): Promise<void> {
    const lies = { state: 'purchased', productId: 'coins-100', quantity: 1000, refundedQuantity: 0, coins: 1_000_000 };
    const body = { installId: bought.installId, store: 'google', purchaseToken: bought.token, ...lies };
    if ((await this.#client.until('/v1/purchases', { body })) === undefined) bought.isStuck = true;
    else bought.isShown = true;
  }

  async #steal({ token }: Bought): Promise<void> {
    const body = { installId: this.#thief, store: 'google', purchaseToken: token };
    const accepts = (answer: Answer): boolean => answer.body.error?.code === 'purchase_owned';
    if ((await this.#client.until('/v1/purchases', { body }, { accepts }))?.status === 200) this.#stolen++;
  }

  async #spend(installId: string, coins: number, number: number): Promise<void> {
    const accepts = (answer: Answer): boolean => answer.body.error?.code === 'insufficient_coins';
    await this.#client.until('/v1/coins/debit', { body: { installId, coins, key: `spend-${number}` } }, { accepts });
  }

  async compare(): Promise<Record<string, number>> {
    const { figures } = this.#stand;
    const { books, nobodys, unseen } = await this.#restore();
    const startedAt = now();
    const differences = await this.#agreed(startedAt + this.#options.agreedWithinMs);
    const agreedMs = now() - startedAt;
    const known = [...this.#known.values()];
    figures.report('purchases, and accounts', `${this.#bought.length}; ${this.#installs.length}`);
    figures.report('purchases that the client shows at its next start', unseen);
    figures.report('purchases whose buyer nobody knows: the answer was lost', nobodys);
    figures.report('  refusals', this.#client.refused);
    figures.report('coins granted; refunded', `${differences.granted}; ${differences.refunded}`);
    figures.report('all agrees after the last request, ms', Math.round(agreedMs));
    return {
      'purchases that the store has lost itself': known.filter(({ token }) => !books.has(token)).length,
      'requests that never succeeded': known.filter(({ isStuck }) => isStuck).length,
      'answers with 500': this.#client.internalErrors,
      'purchases that another account got': this.#stolen,
      ...differences.found,
    };
  }

  /** Sends purchases that were never sent, as an app does at its start: the store lists its user's unconsumed purchases. */
  async #restore(): Promise<{ books: ReadonlyMap<string, Sold>; nobodys: number; unseen: number }> {
    const books = await readBooks(this.#place);
    for (const bought of this.#bought) this.#known.set(bought.token, bought);
    const buyers = new Map(this.#bought.map(({ accountId, installId }) => [accountId, installId]));
    let nobodys = 0;
    for (const { token, issued } of books.values()) {
      const accountId = issued.obfuscatedAccountId ?? '';
      const installId = buyers.get(accountId);
      if (this.#known.has(token)) continue;
      if (installId === undefined) nobodys++;
      else this.#known.set(token, { token, accountId, installId, isShown: false, isStuck: false });
    }
    const unseen = [...this.#known.values()].filter(({ isShown }) => !isShown);
    await inParallel(unseen, (bought) => this.#show(bought), CONNECTIONS);
    return { books, nobodys, unseen: unseen.length };
  }

  /** Compares until ledgers and books agree, or until the time is up. Meanwhile each call of the store may cause random refunds. */
  async #agreed(giveUpAt: number): Promise<PurchaseDifferences> {
    for (;;) {
      this.#owned = this.#ownedOf(this.#known.values(), await readBooks(this.#place)).set(accountIdOf(this.#thief), []);
      const differences = await comparePurchases(this.#owned, this.#place);
      if (differences.accounts.length === 0 || now() > giveUpAt) return differences;
      // Reading all books takes a minute, so the differing ones are read until they agree.
      const those = new Set(differences.accounts);
      const some = [...this.#known.values()].filter(({ accountId }) => those.has(accountId));
      const tokens = some.map(({ token }) => token);
      do await pause(1000);
      while (
        now() < giveUpAt &&
        (await comparePurchases(this.#ownedOf(some, await readBooks(this.#place, tokens)), this.#place)).accounts.length > 0
      );
    }
  }

  #ownedOf(known: Iterable<Bought>, books: ReadonlyMap<string, Sold>): Map<string, Sold[]> {
    const owned = new Map<string, Sold[]>();
    for (const { token, accountId } of known) {
      const sold = books.get(token);
      owned.set(accountId, [...(owned.get(accountId) ?? []), ...(sold === undefined ? [] : [sold])]);
    }
    return owned;
  }

  async after(): Promise<void> {
    await this.#reportRefunds();
    await this.#place.restart({ SANDBOX_CHAOS: 'off' });
    await this.#timeRefunds();
  }

  /** The durations of refunds during the kills. */
  async #reportRefunds(): Promise<void> {
    const times: number[] = [];
    await inParallel(this.#bought, async ({ token, accountId, refundedAt }) => {
      if (refundedAt === undefined) return;
      const own = (await entriesOf(accountId, this.#place)).get(purchaseIdOf('google', token)) ?? [];
      // An earlier random refund may have taken everything.
      const entry = own.find(({ letter, at }) => letter === entryLetters.refund && at >= Math.floor(refundedAt));
      if (entry !== undefined) times.push(entry.at - refundedAt);
    });
    const within = times.filter((ms) => ms <= NOTICED_WITHIN_MS).length;
    this.#stand.figures.report(
      'refunds in chaos: how many; within 5 s; longest, s',
      `${times.length}; ${within}; ${(Math.max(...times) / 1000).toFixed(1)}`,
    );
  }

  /** Refunds a unit of each purchase, with and without a notification, at a store without faults. */
  async #timeRefunds(): Promise<void> {
    const { figures } = this.#stand;
    const owners = new Map(this.#bought.map(({ token, accountId }) => [token, accountId]));
    const some = [...this.#owned.values()].flat().filter(({ token, issued }) => keptCoins(issued) > 0 && owners.has(token));
    const time = async ({ token, issued }: Sold, notify: boolean): Promise<number> => {
      const changed = { ...issued, refundedQuantity: issued.refundedQuantity + 1 };
      await this.#change({ token, isStuck: false }, { refundedQuantity: changed.refundedQuantity, notify });
      for (const startedAt = now(); ; await pause(50)) {
        const own = (await entriesOf(owners.get(token)!, this.#place)).get(purchaseIdOf('google', token)) ?? [];
        const ms = now() - startedAt;
        if (coinsOf(own) === keptCoins(changed) || ms > this.#options.agreedWithinMs) return ms;
      }
    };
    for (const [what, notify, most] of [
      ['longest from a notification to the entry, ms', true, NOTICED_WITHIN_MS],
      [`longest from a refund without one to the entry, ms, at a poll of ${POLL_MS / 1000} s`, false, POLL_MS + NOTICED_WITHIN_MS],
    ] as const) {
      const times: number[] = [];
      const half = some.slice(0, MOST_TIMED).filter((_, index) => (index % 2 === 0) === notify);
      await inParallel(half, async (sold) => times.push(await time(sold, notify)), notify ? TIMED_AT_ONCE : half.length);
      figures.report(`refunds at a quiet store ${notify ? 'with' : 'without'} a notification`, times.length);
      figures.time(what, Math.max(...times), most);
      figures.exactly('  never booked', times.filter((ms) => ms > this.#options.agreedWithinMs).length, 0);
    }
  }
}
