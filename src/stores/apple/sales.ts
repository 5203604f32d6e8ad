import type { z } from 'zod';
import { refuse } from '../../errors.ts';
import { LruCache } from '../../server/lru-cache.ts';
import { UNKNOWN_STATE_MS } from '../store-calls.ts';
import { appStoreUnavailable, storeUnconfigured } from '../store-refusals.ts';
import { MAX_TOKEN_LENGTH, type Answer, type Sales, type Sold } from '../store.ts';
import type { NewestTransactions } from './newest-transactions.ts';
import type { App, ServerApi } from './server-api.ts';
import type { AppleOptions } from './settings.ts';
import type { SignedTexts } from './signed-texts.ts';
import { BOUGHT, Environment, RENEWABLE, soldIdOf, Transaction, type RenewalInfo } from './transactions.ts';

export interface Known {
  readonly texts: SignedTexts;
  readonly newest: NewestTransactions;
  readonly api: ServerApi;
}

/**
 * If an environment fails after more than this many milliseconds, no further environment is asked. A key that Apple refuses fails at once.
 */
const FIRST_GROUP_MS = 2000;

/**
 * The most transaction ids whose subscriptions are remembered. The second step of a request needs the subscription that the first step has
 * found.
 */
const MOST_FOUND = 1000;

/**
 * Purchases of one kind in the App Store. Signed transactions prove them. With the API's keys the service asks Apple for the present
 * transaction. Without them, the newest transaction that Apple has signed before decides.
 */
export abstract class AppleSales<Purchase> implements Sales<Purchase> {
  protected readonly options: AppleOptions;
  protected readonly known: Known;
  /** The `type` of these transactions. */
  readonly #type: string;
  /** The store's own ids of purchases, by the ids of transactions that came without an environment. They never change. */
  readonly #found = new LruCache<string, string>(MOST_FOUND);

  constructor(options: AppleOptions, known: Known, type: string) {
    this.options = options;
    this.known = known;
    this.#type = type;
  }

  get packageNames(): readonly string[] {
    return this.options.settings().bundleIds;
  }

  /** @throws Refusal `bad_token`; `store_unconfigured` for the bare id of a subscription's transaction, which only Apple could explain */
  async idOf(proof: string): Promise<string> {
    if (isSigned(proof)) return soldIdOf(await this.#verify(proof));
    if (this.#type !== RENEWABLE || proof.includes(':')) return proof;
    const known = this.#found.get(proof);
    if (known !== undefined) return known;
    const transaction = await this.#search(proof);
    if (transaction === undefined || !this.#sells(transaction))
      throw refuse('bad_token', { message: 'The store knows no such purchase of this app.', field: 'transactionId' });
    const id = soldIdOf(transaction);
    this.#found.set(proof, id);
    return id;
  }

  async read(proof: string, packageName?: string, traceparent?: string): Promise<Answer<Purchase>> {
    const shown = isSigned(proof) ? await this.#verify(proof) : undefined;
    if (shown !== undefined && !this.#sells(shown)) return 'unknown';
    // A verified text is stored before Apple is asked. It counts if Apple does not know the transaction yet.
    const id = shown === undefined ? await this.idOf(proof) : soldIdOf(shown);
    const kept = shown === undefined ? await this.known.newest.find(id) : await this.known.newest.keep(id, shown);
    const newest = (await this.#asked(id, kept?.transaction, packageName, traceparent)) ?? kept;
    if (newest === undefined) return 'unknown';
    const { transaction, renewal } = newest;
    if (!this.#sells(transaction) || (packageName !== undefined && transaction.bundleId !== packageName)) return 'unknown';
    return this.purchaseOf(transaction, renewal);
  }

  protected abstract purchaseOf(transaction: Transaction, renewal: RenewalInfo | undefined): Purchase;

  /** Asks Apple for its present texts about a purchase. Undefined: Apple knows no such purchase. @param id the store's own id of it */
  protected abstract ask(id: string, app: App, traceparent: string | undefined): Promise<Asked | undefined>;

  /** The app finishes its transactions: Apple does not expect this from servers. */
  async acknowledge(_purchase: Sold, _traceparent?: string): Promise<boolean> {
    return true;
  }

  /**
   * Asks Apple about a purchase, and keeps the answer.
   * @param kept what Apple has signed before. It names the app and the environment
   * @returns undefined: Apple does not know the purchase, or cannot be asked
   * @throws Refusal `store_unconfigured`: nothing that Apple signed has told of this id, and Apple cannot be asked
   */
  async #asked(id: string, kept: Transaction | undefined, packageName: string | undefined, traceparent: string | undefined) {
    const { api, newest } = this.known;
    if (!api.isOpen) {
      if (kept === undefined) throw storeUnconfigured();
      return undefined;
    }
    const asked = await this.#firstOf(appsOf(id, kept, packageName, this.packageNames), (app) => this.ask(id, app, traceparent));
    if (asked === undefined || soldIdOf(asked.transaction) !== id) return undefined;
    if (asked.renewal !== undefined) await newest.keepRenewal(id, asked.renewal);
    return newest.keep(id, asked.transaction);
  }

  /** Asks Apple for the transaction with a bare id. Undefined: none of the apps has it. @throws Refusal `store_unconfigured` */
  async #search(transactionId: string): Promise<Transaction | undefined> {
    if (!this.known.api.isOpen) throw storeUnconfigured();
    return this.#firstOf(appsOf(transactionId, undefined, undefined, this.packageNames), (app) => this.transactionIn(app, transactionId));
  }

  /** The transaction with this id in its present state at Apple. Undefined: the app has none. */
  protected async transactionIn(app: App, transactionId: string, traceparent?: string): Promise<Transaction | undefined> {
    const text = await this.known.api.transaction(app, transactionId, traceparent);
    const transaction = text === undefined ? undefined : await this.opened(text, Transaction);
    return transaction?.transactionId === transactionId ? transaction : undefined;
  }

  /** What Apple's API has signed. @throws Refusal `app_store_unavailable` if it does not verify, because the API is then at fault */
  protected async opened<Shape extends z.ZodType>(text: string, shape: Shape): Promise<z.output<Shape>> {
    const { data } = shape.safeParse(await this.known.texts.read(text, MAX_TOKEN_LENGTH));
    if (data !== undefined) return data;
    this.options.log.error("a text of Apple's API does not verify");
    throw appStoreUnavailable(UNKNOWN_STATE_MS);
  }

  /**
   * The first answer for any of the apps. The apps of a group are asked at the same time. @throws what a question throws, if no other one
   * has an answer
   */
  async #firstOf<Found>(groups: readonly (readonly App[])[], ask: (app: App) => Promise<Found | undefined>): Promise<Found | undefined> {
    let failure: unknown;
    const endsAt = performance.now() + FIRST_GROUP_MS;
    for (const apps of groups) {
      // The request has a deadline. If an environment fails slowly, no time is left for the next one.
      if (failure !== undefined && performance.now() > endsAt) break;
      const answers = await Promise.allSettled(apps.map(ask));
      for (const answer of answers) {
        if (answer.status === 'rejected') failure ??= answer.reason;
        else if (answer.value !== undefined) return answer.value;
      }
    }
    if (failure !== undefined) throw failure;
    return undefined;
  }

  #sells({ bundleId, type, inAppOwnershipType }: Transaction): boolean {
    return type === this.#type && inAppOwnershipType === BOUGHT && this.packageNames.includes(bundleId);
  }

  async #verify(text: string): Promise<Transaction> {
    const { data, error } = Transaction.safeParse(await this.known.texts.read(text, MAX_TOKEN_LENGTH));
    if (data !== undefined) return data;
    this.options.log.info({ reason: error?.issues[0]?.path.join('.') }, 'a signed transaction does not verify');
    throw refuse('bad_token', { message: 'Is not a transaction that Apple has signed.', field: 'transaction' });
  }
}

export interface Asked {
  readonly transaction: Transaction;
  readonly renewal?: RenewalInfo | undefined;
}

/**
 * The apps and environments in which a purchase may be, in groups: the apps of a group are asked at the same time. Production, where people
 * pay money, comes first. The sandbox is asked only if production has no such purchase.
 */
export function appsOf(id: string, kept: Transaction | undefined, packageName: string | undefined, all: readonly string[]): App[][] {
  if (kept !== undefined) return [[{ bundleId: kept.bundleId, environment: kept.environment }]];
  const environments = Environment.options.filter((environment) => !id.includes(':') || id.startsWith(`${environment}:`));
  const bundleIds = packageName === undefined ? all : [packageName];
  return environments.map((environment) => bundleIds.map((bundleId) => ({ bundleId, environment })));
}

const isSigned = (proof: string): boolean => proof.includes('.');
