import { randomBytes } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { Client } from './client.ts';
import { now, type History, type Operation } from './history.ts';

const ACCOUNTS = 600;

/** The most credits that may wait for an acknowledgement. An outage of one shard of three for 10 s reaches two thirds of it. */
const MOST_WAITING = 8000;

const BALANCE_TRIES = 20;

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 800;

/** Credits at a fixed rate over HTTP, fewer if the machine is too busy. Each is tried again with its key until it is acknowledged. */
export class Load {
  readonly #history: History;
  readonly #client: Client;
  readonly #rate: number;
  readonly #accounts: number;
  readonly #prefix = `prove-${randomBytes(4).toString('hex')}`;
  readonly #waiting = new Set<Operation>();
  /** Answers other than 200, by status and error code. */
  readonly refusals = new Map<string, number>();
  #isSending = false;
  readonly #delays = monitorEventLoopDelay({ resolution: 10 });
  #sending: Promise<void> | undefined;

  /** @param rate credits a second */
  constructor(url: string, rate: number, history: History, accounts = ACCOUNTS) {
    this.#client = new Client(() => url);
    [this.#rate, this.#history, this.#accounts] = [rate, history, accounts];
  }

  /**
   * Ends all sessions of each account, which gives it a record of its standing. Without the record a script that acts for the account
   * first reads a missing key, and during a move of the slot the node refuses that read by itself.
   */
  async giveRecords(): Promise<void> {
    for (let index = 0; index < this.#accounts; index++) {
      const login = await this.#client.post('/v1/login', { installId: this.#installId(index), session: 'token' });
      const { status } = await this.#client.post('/v1/logout', { everywhere: true }, { bearer: login.body.sessionToken });
      if (status !== 200) throw new Error(`a sign-out was answered with ${status}`);
    }
  }

  start(): void {
    this.#isSending = true;
    this.#delays.enable();
    this.#sending = this.#send();
  }

  /** Stops sending, and waits until all credits are acknowledged, or for `timeoutMs`. @returns the number of unacknowledged credits */
  async stop(timeoutMs: number): Promise<number> {
    this.#isSending = false;
    await this.#sending;
    for (const giveUpAt = now() + timeoutMs; this.#waiting.size > 0 && now() < giveUpAt;) await pause(20);
    this.#delays.disable();
    const left = this.#waiting.size;
    this.#waiting.clear();
    return left;
  }

  /** The longest pause of this process, in milliseconds. The times of the history are no more exact than this. */
  get longestDelayMs(): number {
    return this.#delays.max / 1e6;
  }

  /** Ends what a scenario that failed left running. */
  close(): void {
    this.#isSending = false;
    this.#waiting.clear();
    this.#client.close();
  }

  async #send(): Promise<void> {
    const startedAt = now();
    for (let sent = 0; this.#isSending; await pause(2)) {
      const due = Math.floor(((now() - startedAt) / 1000) * this.#rate);
      // A burst after a delay would only delay the next ones.
      sent = Math.max(sent, due - this.#rate / 4);
      for (; sent < due; sent++) if (this.#waiting.size < MOST_WAITING) void this.#credit();
    }
  }

  async #credit(): Promise<void> {
    const number = this.#history.operations.length;
    const installId = this.#installId(number % this.#accounts);
    const account = accountIdOf(installId);
    const operation: Operation = { installId, account, key: `key-${number}`, coins: 1 + (number % 7), sentAt: now(), tries: 0 };
    this.#history.operations.push(operation);
    this.#waiting.add(operation);
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(2 * retryMs, LONGEST_RETRY_MS)) {
      operation.tries++;
      const answer = await this.credit(operation);
      // The answer is too late: `stop` has already counted the operation as not acknowledged.
      if (!this.#waiting.has(operation)) return;
      if (answer !== undefined) {
        operation.acknowledgedAt = now();
        operation.answer = answer;
        this.#waiting.delete(operation);
        this.#history.acknowledged(operation);
        return;
      }
      await pause(retryMs * (0.5 + Math.random()));
    }
  }

  #installId(index: number): string {
    return `${this.#prefix}-${index}`;
  }

  /** Sends a credit once. @returns the body of a 200 */
  async credit({ installId, key, coins }: Operation): Promise<Operation['answer']> {
    const { status, body } = await this.#client.post('/v1/coins/credit', { installId, key, coins });
    const { ok, error, ...answer } = body as { ok?: boolean; error?: { code: string } } & NonNullable<Operation['answer']>;
    if (status === 200 && ok === true) return answer;
    const refusal = `${status} ${error?.code}`;
    this.refusals.set(refusal, (this.refusals.get(refusal) ?? 0) + 1);
    return undefined;
  }

  /** GET /v1/balance. A service that has just lost a connection may refuse. */
  async balance(installId: string): Promise<number> {
    for (let attempt = 1; ; attempt++) {
      const { status, body } = await this.#client.ask('/v1/balance', { installId });
      if (status === 200) return (body as { balanceCoins: number }).balanceCoins;
      if (attempt === BALANCE_TRIES) return Number.NaN;
      await pause(FIRST_RETRY_MS);
    }
  }
}
