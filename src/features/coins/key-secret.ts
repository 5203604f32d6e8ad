import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { refuse, type Refusal } from '../../errors.ts';
import { oneAtATime } from '../../server/one-at-a-time.ts';
import { halfSipHash, SECRET_BYTES, type KeyHash } from './key-hash.ts';
import { areUpgraded, upgradeLedgers } from './upgrade-ledgers.ts';

/**
 * The key of the secret in Redis. The secret lies beside the ledgers, so that all processes use the same hashes and a backup
 * holds both.
 */
export const KEY_SECRET = 'ledger:secret';

/**
 * The key of the secret in data version 1. Now it holds a text instead: a coinop of that version then refuses all coin operations,
 * where it would otherwise take used keys for new ones.
 */
export const OLD_KEY_SECRET = 'ledger:key-secret';
const TAKEN_OVER = 'The data of this Redis was upgraded: start the newer coinop.';

const FORMAT = new RegExp(`^[0-9a-f]{${2 * SECRET_BYTES}}$`);

/** Milliseconds between a failed read and the next one. */
const RETRY_MS = 500;

/**
 * The secret of the hashes by which a ledger's index finds an idempotency key. The first process makes it, and it never
 * changes. Until a process knows it, the process runs no coin operation: under the wrong hash, a used key would look new. Nor
 * does a process know it before the ledgers have the layout of this version.
 */
export class KeySecret {
  readonly #redis: Redis;
  readonly #log: Logger;
  #isKnown = false;
  /** The last secret that was known. */
  #text: string | undefined;
  #hash: KeyHash | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** Logged already. */
  #lastProblem: string | undefined;
  readonly #readAgain = (): void => void this.read();
  /** Reads the secret, or makes it. Does not throw: while Redis is away or refuses writes, it tries again. */
  readonly read = oneAtATime(() => this.#read());

  constructor(redis: Redis, log: Logger) {
    this.#redis = redis;
    this.#log = log;
    // Redis may have been restored to a state that is older than the secret. This process then writes its secret back.
    redis.on('ready', this.#readAgain);
  }

  get isKnown(): boolean {
    return this.#isKnown;
  }

  /**
   * A script found that Redis has other data than the secret belongs to. Reads the secret again; until then it is not known.
   * @returns the refusal for the caller of the script, which did nothing
   */
  otherData(): Refusal {
    this.#isKnown = false;
    void this.read();
    return notKnown();
  }

  async #read(): Promise<void> {
    clearTimeout(this.#retry);
    if (this.#redis.status !== 'ready') return;
    try {
      const isUpgraded = await areUpgraded(this.#redis);
      if (!isUpgraded) this.#isKnown = false;
      const read = (): Promise<string> => this.#readOrMake(isUpgraded);
      this.#take(isUpgraded ? await read() : await upgradeLedgers(this.#redis, read, this.#log));
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#lastProblem) this.#log.warn({ reason: message }, 'the secret of the ledgers could not be read');
      this.#lastProblem = message;
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

  /**
   * Atomic: of several processes the first sets its secret, and all of them receive this one.
   * @throws Error if the key in Redis holds something else, or the upgraded data has lost a secret that this process never read
   */
  async #readOrMake(isUpgraded: boolean): Promise<string> {
    const found = await this.#redis.get(KEY_SECRET);
    // The version is written after the secret. Under another secret, all used keys would look new.
    if (found === null && isUpgraded && this.#text === undefined)
      throw new Error(`${KEY_SECRET} is missing: restore it from a backup of this data`);
    const text = found ?? (await this.#make());
    if (!FORMAT.test(text)) throw new Error(`${KEY_SECRET} is not ${2 * SECRET_BYTES} hexadecimal digits`);
    return text;
  }

  async #make(): Promise<string> {
    const old = await this.#redis.get(OLD_KEY_SECRET);
    const own = old !== null && FORMAT.test(old) ? old : (this.#text ?? randomBytes(SECRET_BYTES).toString('hex'));
    const [set, takeOver] = (await this.#redis.multi().set(KEY_SECRET, own, 'NX', 'GET').set(OLD_KEY_SECRET, TAKEN_OVER).exec())!;
    const error = set![0] ?? takeOver![0];
    if (error !== null) throw error;
    return (set![1] as string | null) ?? own;
  }

  #take(text: string): void {
    if (text !== this.#text) {
      if (this.#text !== undefined) this.#log.warn('the secret of the ledgers changed: this is another data set');
      this.#text = text;
      this.#hash = halfSipHash(Buffer.from(text, 'hex'));
    }
    this.#isKnown = true;
    this.#lastProblem = undefined;
  }

  #known<Value>(value: Value | undefined): Value {
    if (!this.#isKnown) throw notKnown();
    return value!;
  }
}

function notKnown(): Refusal {
  return refuse('store_unavailable', { retryAfterMs: 1000 });
}
