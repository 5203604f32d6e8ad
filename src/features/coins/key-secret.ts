import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { SettingError } from '../../config.ts';
import { refuse, type Refusal } from '../../errors.ts';
import { oneAtATime } from '../../server/shared-call.ts';
import { halfSipHash, SECRET_BYTES, type KeyHash } from './key-hash.ts';
import type { Cluster } from '../../redis/cluster-client.ts';
import type { DataGuard } from '../../redis/data/data-guard.ts';
import { KEY_SECRET, readKeySecret } from './secret-keys.ts';
import { SecretOfCluster } from './secret-of-cluster.ts';
import { checkDataAtStart, DATA_VERSION, readDataVersion } from '../../redis/data/data-version.ts';
import { defineScript } from '../../redis/script.ts';
import { ScriptRunner } from '../../redis/script-runner.ts';
import { upgradeData, type Upgrade } from '../../redis/upgrade.ts';

/** Sets the secret of the hashes of idempotency keys, unless another process has already set it. Answers made(the secret). */
const makeSecret = defineScript({
  name: 'coins/make-secret',
  lua: `redis.call('SET', secret, own, 'NX')
    return {'made', redis.call('GET', secret)}`,
  keys: ['secret'],
  args: ['own'],
  answers: ['made'],
});

/** Delay before a failed read of the secret is repeated, in milliseconds. */
const RETRY_MS = 500;

/**
 * The secret of the hashes with which a ledger's index finds an idempotency key. The first process makes the secret, which then never
 * changes. A process runs no coin operation until it knows the secret, because with a wrong secret a used idempotency key would seem new. A
 * process also waits until the data in Redis has the data version that this process writes.
 */
export class KeySecret {
  readonly #redis: Redis | undefined;
  readonly #ofCluster: SecretOfCluster | undefined;
  readonly #log: Logger;
  readonly #guard: DataGuard | undefined;
  readonly #upgrades: readonly Upgrade[];
  #isKnown = false;
  /**
   * The secret that this process read last, in hexadecimal. The field stays set even while it is uncertain whether Redis has this secret.
   */
  #text: string | undefined;
  #hash: KeyHash | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** When the last read began, on the clock of `performance.now()`. */
  #readAt = -Infinity;
  #isClosed = false;
  /** The message of the last failed read, so that the same failure is logged only once. */
  #lastProblem: string | undefined;
  #problem: string | undefined;
  readonly #readAgain = (): void => void this.read();
  /** Reads the secret, or makes it. Does not throw: while Redis is unavailable or refuses writes, the read is repeated every RETRY_MS. */
  readonly read = oneAtATime(() => this.#read());

  /**
   * @param redis one Redis, or a Cluster
   * @param guard checks that Redis has the data that this process knows, so that no secret is written into other data
   * @param upgrades the changes from older versions of the data. Without them, data of an older version stays as it is, and the secret
   * unknown
   */
  constructor(redis: Redis | Cluster, log: Logger, { guard, upgrades = [] }: { guard?: DataGuard; upgrades?: readonly Upgrade[] } = {}) {
    this.#log = log;
    this.#guard = guard;
    this.#upgrades = upgrades;
    guard?.on('usable', this.#readAgain);
    if ('shards' in redis) {
      this.#ofCluster = new SecretOfCluster(redis, guard);
      guard?.on('slots', this.#readAgain);
      return;
    }
    this.#redis = redis;
    // The guard lost the data that it knew. The data that an operator then accepts may have another secret, or none yet.
    guard?.on('lost', () => (this.#isKnown = false));
    // After a reconnection the secret may be missing in Redis. If Redis lacks the secret, this process writes its own secret back.
    redis.on('ready', this.#readAgain);
  }

  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** The problem that an operator has to mend before the secret can be read, for the reply of `/ready`. Undefined without one. */
  get problem(): string | undefined {
    return this.#isKnown ? undefined : this.#problem;
  }

  /**
   * To be called if a script answers `other_data`, because Redis has another secret or data version than this process expects. Reads the
   * secret again. On a single Redis the secret counts as unknown until that read ends.
   * @returns the refusal for the caller of the script, which did nothing
   */
  otherData(): Refusal {
    // If one primary of a Cluster lacks the secret, the other primaries must go on, so the secret stays known. A read of a Cluster's secret
    // reads the copies of all slots (secret-of-cluster.ts). Such a read is expensive, and while a copy is wrong, each request for the
    // copy's slot asks for a read. So at most one read begins in RETRY_MS.
    if (this.#ofCluster === undefined) this.#isKnown = false;
    if (this.#ofCluster !== undefined && performance.now() < this.#readAt + RETRY_MS) this.#readLater();
    else void this.read();
    return notKnown();
  }

  async #read(): Promise<void> {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#readAt = performance.now();
    if (this.#redis !== undefined && this.#redis.status !== 'ready') return;
    if (this.#ofCluster?.isReady === false) return this.#readLater();
    if (!(await this.#isOwnData())) {
      // If one primary of a Cluster has lost its data, the other primaries must go on.
      if (this.#ofCluster === undefined) this.#isKnown = false;
      return this.#readLater();
    }
    try {
      this.#take(this.#redis === undefined ? await this.#ofCluster!.read(this.#text) : await this.#readFrom(this.#redis));
      // The guard checks the secret and the copies of slots, and the read may have just written them.
      await this.#guard?.checkAgain();
    } catch (error) {
      const { message } = error as Error;
      this.#problem = error instanceof SettingError ? message : undefined;
      if (message !== this.#lastProblem) this.#log.warn({ reason: message }, 'the secret of the ledgers could not be read');
      this.#lastProblem = message;
      this.#readLater();
    }
  }

  /** Whether Redis has the data that this process knows. */
  async #isOwnData(): Promise<boolean> {
    if (this.#guard === undefined) return true;
    const hasChecked = await this.#guard.checkAgain();
    return hasChecked && (this.#ofCluster === undefined ? this.#guard.isUsable : this.#guard.id !== undefined);
  }

  #readLater(): void {
    if (!this.#isClosed) this.#retry ??= setTimeout(this.#readAgain, RETRY_MS).unref();
  }

  async #readFrom(redis: Redis): Promise<string> {
    const version = await readDataVersion(redis);
    if (version === String(DATA_VERSION)) return this.#readOrMake(redis, true);
    this.#isKnown = false;
    await checkDataAtStart(redis);
    const secret = await this.#readOrMake(redis, version !== null);
    await upgradeData(redis, this.#upgrades, this.#log);
    return secret;
  }

  /** The hash of an idempotency key. @throws Refusal `store_unavailable` until the secret was read */
  hashOf(key: string): number {
    return this.#known(this.#hash)(key);
  }

  /**
   * The secret in hexadecimal, for scripts that compute hashes themselves.
   * @throws Refusal `store_unavailable` until the secret was read
   */
  get text(): string {
    return this.#known(this.#text);
  }

  /**
   * To be called before this process writes data in the layout of its own data version.
   * @throws Refusal `store_unavailable` until the data in Redis has this version
   */
  check(): void {
    this.#known(this.#text);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#redis?.off('ready', this.#readAgain);
  }

  /**
   * Reads the secret, or makes it. If several processes make a secret at the same time, Redis keeps the secret of the first process, and
   * all processes get that secret.
   * @param hasVersion whether the data has a version. The version is written after the secret, so data with a version had a secret
   * @throws Error if the Redis key holds another text than a secret, or if data with a version has lost a secret that this process never
   * read
   */
  async #readOrMake(redis: Redis, hasVersion: boolean): Promise<string> {
    const found = await readKeySecret(redis);
    // With a new secret all used idempotency keys would seem new.
    if (found === null && hasVersion && this.#text === undefined)
      throw new Error(`${KEY_SECRET} is missing: restore it from a backup of this data`);
    return found ?? this.#make(redis);
  }

  async #make(redis: Redis): Promise<string> {
    const own = this.#text ?? randomBytes(SECRET_BYTES).toString('hex');
    // The guard makes the script write only into data that this process knows.
    const scripts = new ScriptRunner(redis, { now: Date.now, data: this.#guard });
    const [, made] = await scripts.run(makeSecret, { secret: KEY_SECRET }, { own });
    return made!;
  }

  #take(text: string): void {
    if (text !== this.#text) {
      if (this.#text !== undefined) this.#log.warn('the secret of the ledgers changed: this is another data set');
      this.#text = text;
      this.#hash = halfSipHash(Buffer.from(text, 'hex'));
    }
    this.#isKnown = true;
    this.#lastProblem = undefined;
    this.#problem = undefined;
  }

  #known<Value>(value: Value | undefined): Value {
    if (!this.#isKnown) throw notKnown();
    return value!;
  }
}

function notKnown(): Refusal {
  return refuse('store_unavailable', { retryAfterMs: 1000 });
}
