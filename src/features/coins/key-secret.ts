import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { refuse } from '../../errors.ts';
import { halfSipHash, SECRET_BYTES, type KeyHash } from './key-hash.ts';

/**
 * The key of the secret in Redis. The secret lies beside the ledgers, so that all processes use the same buckets and a backup
 * holds both.
 */
export const KEY_SECRET = 'ledger:key-secret';

const FORMAT = new RegExp(`^[0-9a-f]{${2 * SECRET_BYTES}}$`);

/** Milliseconds between a failed read and the next one. */
const RETRY_MS = 500;

/**
 * The secret that decides in which bucket of its ledger an idempotency key lies. The first process makes it, and it never
 * changes. Until a process knows it, the process runs no coin operation: in the wrong bucket, a used key would look new.
 */
export class KeySecret {
  readonly #redis: Redis;
  readonly #log: Logger;
  #text: string | undefined;
  #hash: KeyHash | undefined;
  #retry: NodeJS.Timeout | undefined;
  readonly #readAgain = (): void => void this.read();

  constructor(redis: Redis, log: Logger) {
    this.#redis = redis;
    this.#log = log;
    // Redis may have been restored to a state that is older than the secret. This process then writes its secret back.
    redis.on('ready', this.#readAgain);
  }

  /** Reads the secret, or makes it. Does not throw: while Redis is away or refuses writes, it tries again. */
  async read(): Promise<void> {
    clearTimeout(this.#retry);
    if (this.#redis.status !== 'ready') return;
    try {
      this.#take((await this.#redis.get(KEY_SECRET)) ?? (await this.#make()));
    } catch (error) {
      this.#log.warn({ reason: (error as Error).message }, 'the secret of the ledgers could not be read');
      this.#retry = setTimeout(() => void this.read(), RETRY_MS).unref();
    }
  }

  /** @throws Refusal `store_unavailable` until the secret was read */
  hashOf(key: string): number {
    return this.#known(this.#hash)(key);
  }

  /**
   * The secret in hexadecimal, for scripts that hash keys themselves.
   * @throws Refusal `store_unavailable` until the secret was read
   */
  get text(): string {
    return this.#known(this.#text);
  }

  close(): void {
    clearTimeout(this.#retry);
    this.#redis.off('ready', this.#readAgain);
  }

  /** Atomic: of several processes the first sets its secret, and all of them receive this one. */
  async #make(): Promise<string> {
    const own = this.#text ?? randomBytes(SECRET_BYTES).toString('hex');
    return (await this.#redis.set(KEY_SECRET, own, 'NX', 'GET')) ?? own;
  }

  #take(text: string): void {
    if (!FORMAT.test(text)) throw new Error(`${KEY_SECRET} is not ${2 * SECRET_BYTES} hexadecimal digits`);
    if (text === this.#text) return;
    if (this.#text !== undefined) this.#log.warn('the secret of the ledgers changed: this is another data set');
    this.#text = text;
    this.#hash = halfSipHash(Buffer.from(text, 'hex'));
  }

  #known<Value>(value: Value | undefined): Value {
    if (value === undefined) throw refuse('store_unavailable', { retryAfterMs: 1000 });
    return value;
  }
}
