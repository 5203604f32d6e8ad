import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { accountIdOf } from '../../src/accounts/ids.ts';
import type { Answer, Client } from './client.ts';
import { now, type History } from './history.ts';

/** The store is slow in one call of ten, and a purchase takes several calls. */
const CONNECTIONS = 128;

export const UNIT_COINS = 100;
export const SKU = 'coins_100';

const MOST_UNITS = 5;
const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 1000;

/** Longer than any outage of a scenario. */
const GIVE_UP_MS = 180_000;

/** The courses of a purchase. `unseen`: the app crashes before it sends its purchase to the service. `declined`: nobody ever pays. */
const lives = [
  ...Array.from({ length: 9 }, () => 'plain' as const),
  ...(['pending', 'declined', 'unseen', 'twice', 'stolen', 'refunded', 'refunded', 'reversed', 'canceled', 'refunded_early'] as const),
  ...(['spent', 'spent_and_refunded'] as const),
];

export interface Bought {
  readonly token: string;
  readonly installId: string;
  readonly accountId: string;
  /** A reply has granted or recorded the purchase. */
  isShown: boolean;
  /** A request that has to succeed never succeeded. */
  isStuck: boolean;
  /** Times of refunds with a notification. */
  readonly refundedAt: number[];
}

/** Buyers over many connections, and the people who refund purchases at the store. Each request is sent again until it is answered. */
export class PurchaseLoad {
  readonly bought: Bought[] = [];
  readonly installs: readonly string[];
  /** Answers other than 200, by status and error code. */
  readonly refusals = new Map<string, number>();
  /** Purchases that were granted to another account than the buyer's. */
  stolen = 0;
  readonly #client: Client;
  readonly #history: History;
  readonly #purchases: number;
  #isClosed = false;

  constructor(client: Client, sizes: { readonly purchases: number; readonly accounts: number }, history: History) {
    [this.#client, this.#purchases, this.#history] = [client, sizes.purchases, history];
    const prefix = `prove-${randomBytes(4).toString('hex')}`;
    this.installs = Array.from({ length: sizes.accounts }, (_, index) => `${prefix}-${index}`);
  }

  close(): void {
    this.#isClosed = true;
  }

  /** The install of an account that sends the purchases of others. */
  get thief(): string {
    return `${this.installs[0]}-thief`;
  }

  /** Sells until everything is sold, or until a time. */
  async run(endAt: number): Promise<void> {
    const numbers = Array.from({ length: this.#purchases }).keys();
    const one = async (): Promise<void> => {
      for (const number of numbers) if (now() < endAt) await this.#live(number);
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, one));
  }

  /** Sends purchases that no client has sent yet, as an app does at its start: the store lists its user's unconsumed purchases. */
  async restore(purchases: Iterable<Bought>): Promise<void> {
    const rest = [...purchases].values();
    const one = async (): Promise<void> => {
      for (const bought of rest) await this.#show(bought);
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, one));
  }

  /** Has the store refund, pay or cancel a purchase. @returns whether the store confirmed it */
  async change({ token }: Pick<Bought, 'token'>, change: object): Promise<boolean> {
    return (await this.#until('/sandbox/issue', { kind: 'purchase', purchaseToken: token, ...change })) !== undefined;
  }

  async #live(number: number): Promise<void> {
    const life = lives[Math.floor(Math.random() * lives.length)]!;
    const installId = this.installs[Math.floor(Math.random() * this.installs.length)]!;
    const accountId = accountIdOf(installId);
    const quantity = 1 + Math.floor(Math.random() * MOST_UNITS);
    // A purchase that only a notification reports has to name its buyer.
    const isBound = life === 'unseen' || Math.random() < 0.5;
    const sold = await this.#until('/sandbox/issue', {
      ...{ kind: 'purchase', productId: SKU, quantity, notify: true },
      state: life === 'pending' || life === 'declined' ? 'pending' : 'purchased',
      ...(isBound ? { obfuscatedAccountId: accountId } : {}),
    });
    // Without an answer the purchase may still be in the store's books.
    if (sold === undefined) return;
    const bought: Bought = { token: sold.purchaseToken, installId, accountId, isShown: false, isStuck: false, refundedAt: [] };
    this.bought.push(bought);
    const part = 1 + Math.floor(Math.random() * quantity);
    if (life === 'refunded_early') bought.isStuck ||= !(await this.change(bought, { refundedQuantity: part, notify: true }));
    if (life !== 'unseen') await Promise.all(Array.from({ length: life === 'twice' ? 3 : 1 }, () => this.#show(bought)));
    if (life === 'stolen') await this.#steal(bought);
    if (life === 'pending') bought.isStuck ||= !(await this.change(bought, { state: 'purchased', notify: true }));
    if (life.startsWith('spent')) await this.#spend(bought, UNIT_COINS * quantity, number);
    if (life === 'canceled' || life === 'declined') bought.isStuck ||= !(await this.change(bought, { state: 'canceled', notify: true }));
    if (['refunded', 'reversed', 'spent_and_refunded'].includes(life)) {
      bought.refundedAt.push(now());
      bought.isStuck ||= !(await this.change(bought, { refundedQuantity: part, notify: true }));
    }
    if (life === 'reversed') {
      bought.isStuck ||= !(await this.change(bought, { refundedQuantity: 0, notify: true }));
      // The notification may get lost, and no list of the store has reversed refunds. A user who misses the coins opens the app.
      await this.#show(bought);
    }
    this.#history.note({ life, bought });
  }

  /** The client makes false claims. Only the token counts. */
  async #show(bought: Bought): Promise<void> {
    const lies = { state: 'purchased', productId: 'coins-100', quantity: 1000, refundedQuantity: 0, coins: 1_000_000 };
    const body = { installId: bought.installId, store: 'google', purchaseToken: bought.token, ...lies };
    if ((await this.#until('/v1/purchases', body)) === undefined) bought.isStuck = true;
    else bought.isShown = true;
  }

  async #steal({ token }: Bought): Promise<void> {
    const body = { installId: this.thief, store: 'google', purchaseToken: token };
    const answer = await this.#answered('/v1/purchases', body, ({ body: { error } }) => error?.code === 'purchase_owned');
    if (answer?.status === 200) this.stolen++;
  }

  async #spend({ installId }: Bought, coins: number, number: number): Promise<void> {
    const isRefused = ({ body: { error } }: Answer): boolean => error?.code === 'insufficient_coins';
    await this.#answered('/v1/coins/debit', { installId, coins, key: `spend-${number}` }, isRefused);
  }

  // oxlint-disable-next-line no-explicit-any
  async #until(path: string, body: object): Promise<any> {
    return (await this.#answered(path, body))?.body;
  }

  /** Sends a request until it is answered with 200 or with the expected refusal. */
  async #answered(path: string, body: object, isRefusal: (answer: Answer) => boolean = () => false): Promise<Answer | undefined> {
    const giveUpAt = now() + GIVE_UP_MS;
    let refusal = '';
    for (let retryMs = FIRST_RETRY_MS; now() < giveUpAt && !this.#isClosed; retryMs = Math.min(2 * retryMs, LONGEST_RETRY_MS)) {
      const answer = await this.#client.post(path, body);
      if (answer.status === 200 || isRefusal(answer)) return answer;
      refusal = `${answer.status} ${answer.body.error?.code}`;
      this.refusals.set(refusal, (this.refusals.get(refusal) ?? 0) + 1);
      await pause(retryMs * (0.5 + Math.random()));
    }
    this.#history.note({ gaveUp: path, body, refusal });
    return undefined;
  }
}
