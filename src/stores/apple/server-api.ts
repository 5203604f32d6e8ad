import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { boundedFetch, Fault, parseJson, type TextAnswer } from '../bounded-fetch.ts';
import { CALL_MS, errorOf, Misconfigured, StoreCalls, TELL_MS, UNKNOWN_STATE_MS } from '../store-calls.ts';
import { appStoreUnavailable, storeUnconfigured } from '../store-refusals.ts';
import { ApiBudget } from './api-budget.ts';
import { ApiTokens } from './api-tokens.ts';
import type { AppleOptions } from './settings.ts';
import type { Environment } from './transactions.ts';

/** An app in one of Apple's environments, which have hosts of their own. */
export interface App {
  readonly bundleId: string;
  readonly environment: Environment;
}

/** The texts that Apple has signed about a subscription. */
export interface SignedSubscription {
  readonly transaction: string;
  readonly renewal: string;
}

/** A call, with the names under which Apple's limits count it. */
interface ApiCall {
  readonly app: App;
  readonly endpoint: 'transactions' | 'subscriptions' | 'finish' | 'notifications' | 'consumption';
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly body?: object;
  readonly traceparent?: string | undefined;
  readonly mostMs?: number;
}

/** The errors by which Apple says that it has no such thing: https://developer.apple.com/documentation/appstoreserverapi/error-codes */
const UNKNOWN = new Set([
  // No such account of a customer, app, original transaction, or transaction.
  4040001, 4040003, 4040005, 4040010,
  // An id that cannot be of a transaction.
  4000006, 4000008,
]);

/** The errors that Apple itself calls retryable. */
const RETRYABLE = new Set([4040002, 4040004, 4040006, 4290000, 5000001]);

/** The most bytes of an answer: a page of 20 notifications of subscriptions has 440 KB. */
const ANSWER_BYTES = 1024 * 1024;

/** The shortest time in milliseconds that a call needs once it has its turn. */
const CALL_NEEDS_MS = 1000;

/**
 * How far back the history of notifications goes, in milliseconds: 180 days, and 30 in the sandbox. One minute is subtracted, because
 * clocks differ.
 */
const HISTORY_MS = { Production: 180 * 86_400_000 - 60_000, Sandbox: 30 * 86_400_000 - 60_000 } as const;

/** The highest number of pages of notifications of one type, with 20 notifications on a page. More come only from a fault. */
const MOST_PAGES = 5000;

const ApiError = z.object({ errorCode: z.int() });

const Signed = z.string().min(1);

const TransactionAnswer = z.object({ signedTransactionInfo: Signed });

const StatusAnswer = z.object({
  data: z.array(
    z.object({
      lastTransactions: z.array(
        z.object({ originalTransactionId: z.string(), signedTransactionInfo: Signed, signedRenewalInfo: Signed }).partial(),
      ),
    }),
  ),
});

const HistoryAnswer = z.object({
  notificationHistory: z.array(z.object({ signedPayload: Signed })).optional(),
  hasMore: z.boolean().optional(),
  paginationToken: z.string().min(1).max(4096).optional(),
});

/**
 * The App Store Server API (https://developer.apple.com/documentation/appstoreserverapi). Everything that it says of purchases is signed,
 * as all texts of Apple's are. This class does not verify the signatures.
 */
export class ServerApi {
  readonly #options: AppleOptions;
  readonly #calls: StoreCalls;
  readonly #tokens: ApiTokens;
  readonly #budget: ApiBudget;

  constructor(options: AppleOptions) {
    this.#options = options;
    this.#calls = new StoreCalls(options);
    this.#tokens = new ApiTokens(options);
    this.#budget = new ApiBudget(options.scripts);
  }

  /** Whether the settings have the keys of the API. */
  get isOpen(): boolean {
    return this.#options.settings().api !== undefined;
  }

  /** The signed transaction. Undefined: Apple knows no transaction with this id. @throws Refusal `app_store_unavailable` */
  async transaction(app: App, transactionId: string, traceparent?: string): Promise<string | undefined> {
    const answer = await this.#call({ app, endpoint: 'transactions', path: `/inApps/v1/transactions/${transactionId}`, traceparent });
    return answer === undefined ? undefined : this.#parsed(TransactionAnswer, answer).signedTransactionInfo;
  }

  /** What Apple signs about a subscription. Undefined: Apple knows no subscription with this id. @throws Refusal `app_store_unavailable` */
  async subscription(app: App, originalTransactionId: string, traceparent?: string): Promise<SignedSubscription | undefined> {
    const path = `/inApps/v1/subscriptions/${originalTransactionId}`;
    const answer = await this.#call({ app, endpoint: 'subscriptions', path, traceparent });
    if (answer === undefined) return undefined;
    // The answer lists all subscriptions of the customer.
    const all = this.#parsed(StatusAnswer, answer).data.flatMap(({ lastTransactions }) => lastTransactions);
    const found = all.find((last) => last.originalTransactionId === originalTransactionId);
    const { signedTransactionInfo: transaction, signedRenewalInfo: renewal } = found ?? {};
    return transaction === undefined || renewal === undefined ? undefined : { transaction, renewal };
  }

  /**
   * Tells Apple that the buyer has received the purchase.
   * @returns whether Apple knows the transaction. One that the app has finished already is fine
   * @throws Refusal `app_store_unavailable`
   */
  async finish(app: App, transactionId: string, traceparent?: string): Promise<boolean> {
    const path = `/inApps/v1/transactions/${transactionId}/finish`;
    return (await this.#call({ app, endpoint: 'finish', method: 'POST', path, traceparent, mostMs: TELL_MS })) !== undefined;
  }

  /**
   * Answers Apple's CONSUMPTION_REQUEST (https://developer.apple.com/documentation/appstoreserverapi/send-consumption-information).
   * @returns whether Apple knows the transaction
   * @throws Refusal `app_store_unavailable`
   */
  async tellConsumption(app: App, transactionId: string, told: object): Promise<boolean> {
    const path = `/inApps/v2/transactions/consumption/${transactionId}`;
    return (await this.#call({ app, endpoint: 'consumption', method: 'PUT', path, body: told, mostMs: TELL_MS })) !== undefined;
  }

  /**
   * The signed notifications of a type that Apple has sent, or tried to send, since a time. They come page by page.
   * @param since milliseconds since 1970
   * @throws Refusal `app_store_unavailable`
   */
  async *notifications(app: App, notificationType: string, since: number): AsyncGenerator<readonly string[]> {
    const endDate = this.#options.wallClock();
    const startDate = Math.max(Math.ceil(since), endDate - HISTORY_MS[app.environment]);
    const body = { startDate, endDate, notificationType };
    let query = '';
    for (let pages = 0; pages < MOST_PAGES; pages++) {
      const path = `/inApps/v1/notifications/history${query}`;
      const answer = await this.#call({ app, endpoint: 'notifications', method: 'POST', path, body });
      if (answer === undefined) return;
      const { notificationHistory = [], hasMore = false, paginationToken } = this.#parsed(HistoryAnswer, answer);
      yield notificationHistory.map(({ signedPayload }) => signedPayload);
      if (!hasMore || paginationToken === undefined) return;
      query = `?${new URLSearchParams({ paginationToken }).toString()}`;
    }
  }

  /** The parsed JSON of an answer; `{}` if the answer is empty. Undefined: Apple has no such thing. */
  async #call(call: ApiCall): Promise<unknown> {
    const settings = this.#options.settings().api;
    if (settings === undefined) throw storeUnconfigured();
    const url = `${settings.urls[call.app.environment]}${call.path}`;
    const { method = 'GET', body, traceparent, app, endpoint, mostMs = CALL_MS } = call;
    const limited = { ...app, endpoint };
    const send = async (endsAt: number) => {
      if (settings.isLimited) await this.#turn(limited, endsAt);
      const token = await this.#tokens.of(app.bundleId, settings).catch((error: unknown) => {
        throw new Misconfigured(`no token: ${(error as Error).message}`);
      });
      const headers = {
        authorization: `Bearer ${token}`,
        accept: 'application/json',
        ...(method === 'GET' ? {} : { 'content-type': 'application/json' }),
        ...(traceparent === undefined ? {} : { traceparent }),
      };
      const request = { method, headers, answerBytes: ANSWER_BYTES, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
      const answer = await boundedFetch(url, request, Math.max(Math.ceil(endsAt - performance.now()), 1));
      if (answer.status !== 429) return definite(answer);
      const waitMs = this.#waitOf(answer);
      await this.#budget.hold(limited, waitMs);
      throw new Fault('status 429', waitMs);
    };
    return this.#calls.call(new URL(url).host, send, mostMs);
  }

  /** Waits for the turn of a call. @throws Refusal `app_store_unavailable` if the turn comes too late */
  async #turn(limited: App & { readonly endpoint: string }, endsAt: number): Promise<void> {
    const { isFull, waitMs } = await this.#budget.take(limited, endsAt - performance.now() - CALL_NEEDS_MS);
    if (isFull) throw appStoreUnavailable(waitMs);
    if (waitMs > 0) await pause(waitMs);
  }

  /**
   * How long Apple asks to wait, in milliseconds. Apple's `Retry-After` is a time in milliseconds since 1970
   * (https://developer.apple.com/documentation/appstoreserverapi/identifying-rate-limits), where HTTP has a number of seconds.
   */
  #waitOf({ headers, retryAfterMs = 0 }: TextAnswer): number {
    const at = Number(headers['retry-after']);
    return Number.isFinite(at) && at > LEAST_TIME ? Math.max(0, at - this.#options.wallClock()) : Math.max(retryAfterMs, LEAST_WAIT_MS);
  }

  #parsed<Shape extends z.ZodType>(shape: Shape, answer: unknown): z.output<Shape> {
    const { data, error } = shape.safeParse(answer);
    if (data !== undefined) return data;
    this.#options.log.error({ reason: error?.issues[0]?.path.join('.') }, "an answer of Apple's API is not understood");
    throw appStoreUnavailable(UNKNOWN_STATE_MS);
  }
}

/** From this number on a `Retry-After` is a time, because nobody asks to wait for so many seconds. */
const LEAST_TIME = 1e12;

/** The wait, in milliseconds, after a refusal for too many calls if Apple names no time. */
const LEAST_WAIT_MS = 1000;

/** The answer, if its status ends the call. Undefined: Apple has no such thing. @throws Fault if a retry may help, else Misconfigured */
function definite({ status, text, retryAfterMs }: TextAnswer): unknown {
  if (status >= 200 && status < 300) return text === '' ? {} : parseJson(text);
  const { errorCode = 0 } = ApiError.safeParse(textOrNothing(text)).data ?? {};
  if (UNKNOWN.has(errorCode)) return undefined;
  if (RETRYABLE.has(errorCode)) throw new Fault(`error ${errorCode}`, retryAfterMs);
  throw errorCode === 0 || status >= 500 ? errorOf(status, retryAfterMs) : new Misconfigured(`status ${status}, error ${errorCode}`);
}

function textOrNothing(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
