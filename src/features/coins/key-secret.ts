import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { refuse } from '../../errors.ts';
import { halfSipHash, SECRET_BYTES, type KeyHash } from './key-hash.ts';

/** Where the secret is kept: beside the ledgers, so that every process finds keys in the same buckets, and backups hold both. */
export const KEY_SECRET = 'ledger:key-secret';

const FORMAT = new RegExp(`^[0-9a-f]{${2 * SECRET_BYTES}}$`);

/** After a failure it is asked for again, in milliseconds. */
const RETRY_MS = 500;

/**
 * The secret that decides in which bucket of its ledger an idempotency key lies. Whoever comes first makes it; it never
 * changes. Before it is known no coin operation runs: looked for in the wrong bucket, a key that was used would seem new.
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
    // Redis may have been restored from a time before the secret was made: this process then puts it back.
    redis.on('ready', this.#readAgain);
  }

  /** Reads the secret, or makes it. Does not throw: while Redis is away, or refuses writes, it is tried again. */
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

  /** For scripts that hash keys themselves. @throws Refusal as above */
  get text(): string {
    return this.#known(this.#text);
  }

  close(): void {
    clearTimeout(this.#retry);
    this.#redis.off('ready', this.#readAgain);
  }

  /** Atomic: of several processes the first one's stands, and all are told which that is. */
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
