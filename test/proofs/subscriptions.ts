import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { sandboxRedisKeys } from '../../src/apart/sandbox/model.ts';
import type { StoreName } from '../../src/stores/stores.ts';
import { inParallel, times } from './client.ts';
import { now, within } from './history.ts';
import { anyOf, type Place } from './place.ts';
import type { Stand } from './proof.ts';
import { AtPlace, type Load } from './scenario.ts';
import { shops, type Access, type Shop } from './shops.ts';

export interface SubscriptionOptions {
  /** Number of subscriptions at full size. Each is an account's only one. */
  readonly subscriptions: number;
  readonly stores: readonly StoreName[];
  /** How long the service and the books may differ after the last request. */
  readonly agreedWithinMs: number;
}

const CONNECTIONS = 32;

/** Longer than any proof. */
const LONG_MINUTES = 600;
/** The paid time of a subscription that ends during the proof. */
const SHORT_MINUTES = 0.1;

/** The courses of a subscription. `unseen`: the app crashes before it sends the subscription to the service. */
const lives = [
  ...times(4, () => 'plain' as const),
  ...(['unseen', 'ended', 'renewed', 'canceled', 'ended_early', 'grace', 'on_hold', 'twice', 'stolen', 'bought_again'] as const),
];

interface Subscribed {
  readonly shop: Shop;
  readonly id: string;
  readonly installId: string;
  /** What the app has got from the store last. */
  proof: object;
  /** The app could not send it, at its last start either. */
  isStuck: boolean;
}

/**
 * Subscriptions of many accounts at the sandbox with faults, in grace, on hold, refunded, renewed and ended. At the end the access of each
 * account is compared with the books of the store.
 */
export class Subscriptions extends AtPlace implements Load {
  readonly #known = new Map<string, Subscribed>();
  readonly #prefix = `prove-sub-${randomBytes(4).toString('hex')}`;
  readonly #count: number;
  readonly #options: SubscriptionOptions;
  #stolen = 0;

  constructor(stand: Stand, place: Place, options: SubscriptionOptions) {
    super(stand, place);
    this.#options = options;
    this.#count = Math.ceil(options.subscriptions * stand.size);
  }

  get done(): number {
    return this.#known.size;
  }

  async run(isOver: () => boolean): Promise<void> {
    const live = async (number: number): Promise<unknown> => isOver() || this.#live(number);
    await inParallel(Array.from({ length: this.#count }).keys(), live, CONNECTIONS);
  }

  async #live(number: number): Promise<void> {
    const { client } = this.place;
    const [life, installId, shop] = [anyOf(lives)!, `${this.#prefix}-${number}`, shops[anyOf(this.#options.stores)!]];
    const accountId = accountIdOf(installId);
    const isBound = life === 'unseen' || life === 'stolen' || Math.random() < 0.5;
    // Only now notifications find the account by its id for the store.
    if (isBound && (await client.until('/v1/account/store-ids', { method: 'GET', installId })) === undefined) return;
    const minutes = ['ended', 'renewed', 'bought_again'].includes(life) ? SHORT_MINUTES : LONG_MINUTES;
    const kind = 'subscription';
    const order = { kind, store: shop.store, minutes, graceMinutes: 0, notify: true, ...(isBound ? shop.buyer(accountId) : {}) };
    const sold = await client.until('/sandbox/issue', { body: order });
    if (sold === undefined) return;
    const bought: Subscribed = { shop, id: shop.idIn(kind, sold.body), installId, proof: shop.proofIn(sold.body), isStuck: false };
    this.#known.set(installId, bought);
    if (life !== 'unseen') await Promise.all(times(life === 'twice' ? 3 : 1, () => this.#show(bought)));
    if (life === 'stolen') await this.#steal(bought);
    if (life === 'renewed') {
      // Sometimes the renewal comes after the end.
      await pause(Math.random() * 2 * SHORT_MINUTES * 60_000);
      await this.#change(bought, { state: 'active', minutes: LONG_MINUTES });
    }
    if (life === 'bought_again') {
      await this.#change(bought, { state: 'expired' });
      await this.#change(bought, { state: 'active', minutes: LONG_MINUTES });
    }
    if (life === 'canceled') await this.#change(bought, { state: 'canceled' });
    if (life === 'ended_early') await this.#change(bought, { state: anyOf(shop.endings) });
    if (life === 'on_hold' || life === 'grace') await this.#change(bought, { state: life, minutes: LONG_MINUTES });
    this.stand.history.note({ life, installId, id: bought.id });
  }

  /** Has the store change a subscription, and notify the service. */
  async #change(bought: Subscribed, change: object): Promise<void> {
    const { shop, id } = bought;
    const body = { kind: 'subscription', store: shop.store, ...shop.sold('subscription', id), notify: true, ...change };
    const changed = await this.place.client.until('/sandbox/issue', { body });
    if (changed === undefined) bought.isStuck = true;
    else bought.proof = shop.proofIn(changed.body);
  }

  /** The client makes false claims. Only the proof counts. */
  async #show(bought: Subscribed): Promise<void> {
    const lies = { state: 'active', expiresAt: '2999-01-01T00:00:00.000Z', willRenew: true };
    const body = { installId: bought.installId, ...bought.proof, ...lies };
    if ((await this.place.client.until('/v1/subscription/purchase', { body })) === undefined) bought.isStuck = true;
  }

  /** Another account sends a subscription whose buyer the app named to the store. */
  async #steal({ proof }: Subscribed): Promise<void> {
    const body = { installId: `${this.#prefix}-thief`, ...proof };
    const accepts = (answer: { body: { error?: { code: string } } }) => answer.body.error?.code === 'purchase_owned';
    if ((await this.place.client.until('/v1/subscription/purchase', { body }, { accepts }))?.status === 200) this.#stolen++;
  }

  async compare(): Promise<Record<string, number>> {
    const known = [...this.#known.values()];
    // The notification of a change may be lost. An app that starts sends what the store has for its user now.
    await inParallel(known, (bought) => this.#show(bought), CONNECTIONS);
    const startedAt = now();
    let differing = known;
    await within(this.#options.agreedWithinMs, async () => {
      const differences: Subscribed[] = [];
      await inParallel(differing, async (bought) => void ((await this.#differs(bought)) && differences.push(bought)), CONNECTIONS);
      differing = differences;
      if (differing.length > 0) await pause(1000);
      return differing.length === 0;
    });
    this.stand.figures.report('all access agrees after the last request, ms', Math.round(now() - startedAt));
    this.stand.history.note({ differing: differing.map(({ installId, id }) => ({ installId, id })) });
    return {
      'subscriptions whose requests never succeeded': known.filter(({ isStuck }) => isStuck).length,
      'subscriptions that another account got': this.#stolen,
      'accounts with another access than the store’s books, to the second': differing.length,
    };
  }

  /** What the store's books say now. */
  async #due({ shop, id }: Subscribed): Promise<Access> {
    const json = (await this.place.command('HGET', sandboxRedisKeys.subscription(id), 'issued')) as string;
    return shop.accessIn(JSON.parse(json) as object, Date.now());
  }

  async #differs(bought: Subscribed): Promise<boolean> {
    const answer = await this.place.client.ask(`/v1/subscription?installId=${bought.installId}`);
    if (answer.status !== 200) return true;
    const { subscribed, expiresAt } = answer.body as { subscribed: boolean; expiresAt?: string };
    const has: Access = subscribed ? Date.parse(expiresAt ?? '') : undefined;
    const due = await this.#due(bought);
    return has === undefined || due === undefined ? has !== due : Math.abs(has - due) >= 1000;
  }
}
