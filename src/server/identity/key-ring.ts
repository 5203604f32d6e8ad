import { timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import { readHash } from '../../redis/reads.ts';
import { redisFailure, type ScriptRunner } from '../../redis/script-runner.ts';
import type { Subscriptions } from '../../redis/subscriber.ts';
import {
  changeServerKeys,
  endOf,
  hashOfSecret,
  MOST_SERVER_KEYS,
  noteServerKeyUse,
  parseServerKey,
  partsOf,
  SERVER_KEYS,
  SERVER_KEYS_USED,
  type ServerKeyRecord,
} from './server-key-record.ts';
import type { ServerKey } from './server-keys.ts';

/** Why a server key is not valid. With `expired` and `revoked` the secret in the request was right. */
export type KeyProblem = 'malformed' | 'unknown' | 'wrong_secret' | 'expired' | 'revoked';

/** A key that is not valid. */
export class BadKey {
  readonly problem: KeyProblem;
  /** The id of the key, if Redis has a key with this id. Such an id is no secret, so the log may have it. */
  readonly id: string | undefined;

  constructor(problem: KeyProblem, id?: string) {
    this.problem = problem;
    this.id = id;
  }
}

export interface KeyRingOptions {
  readonly scripts: ScriptRunner;
  readonly subscriber: Subscriptions;
  readonly log: Logger;
  /** The present time, in milliseconds since 1970. */
  readonly now: () => number;
}

/** A key as the process last read it from Redis. */
interface Held {
  readonly key: ServerKey;
  readonly hash: Buffer;
  /** When the key ends, in milliseconds since 1970 (`endOf`). */
  readonly end: number;
  readonly isRevoked: boolean;
  /** The record in Redis. `restored` is the record to write back if Redis has lost the key's end. */
  readonly text: string;
  readonly restored: string | undefined;
}

type Ends = Pick<ServerKeyRecord, 'expiresAt' | 'revokedAt'>;

type Change = readonly [id: string, before: string, after: string];

/**
 * Holds the server keys in the memory of each process, so that the check of a request's key needs no trip to Redis. A message on a channel
 * announces each change, and the process then reads all keys again. It also reads all keys each time it has subscribed again, and every 3
 * s.
 *
 * A process that cannot read the keys keeps those of its last read. While Redis is unreachable, nobody can revoke a key either.
 *
 * The end of a key can only move earlier. So a process remembers the ends that it has seen, and writes an end back if Redis has lost it,
 * for example at a failover or when an older state was restored. So no key becomes valid again.
 */
export class KeyRing {
  readonly #options: KeyRingOptions;
  #keys: ReadonlyMap<string, Held> | undefined;
  readonly #ends = new Map<string, Ends>();
  /** The records that cannot be read, by the key's id, so that each is logged only once. */
  readonly #unreadable = new Map<string, string>();
  readonly #used = new Map<string, number>();
  readonly #noted = new Map<string, number>();
  readonly #poll: NodeJS.Timeout;
  #retry: NodeJS.Timeout | undefined;
  /** The number of the last read that has begun. Reads overlap, because each message needs a read that begins after its change. */
  #asked = 0;
  /** The number of the last read whose result was used. On a Cluster the answers may come out of order. */
  #taken = 0;
  #lastProblem: string | undefined;
  #isClosed = false;
  /** Callbacks for a read that shows a changed or missing key, which may therefore have ended. */
  readonly #changed = new Set<() => void>();

  constructor(options: KeyRingOptions) {
    this.#options = options;
    const { subscriber } = options;
    subscriber.on('ready', (isConcerned) => {
      if (isConcerned(SERVER_KEYS)) void this.#listen();
    });
    subscriber.on('message', (channel) => {
      if (channel === SERVER_KEYS) void this.read();
    });
    this.#poll = setInterval(() => {
      void this.read();
      void this.#noteUses();
    }, POLL_INTERVAL_MS);
  }

  /** Whether the process has read the keys at least once. Before that, no key can be checked. */
  get isKnown(): boolean {
    return this.#keys !== undefined;
  }

  /** The key with this token, which begins with `coinop_sk_`, or the reason why the token is bad. Only to be called if `isKnown`. */
  find(token: string): ServerKey | BadKey {
    const parts = partsOf(token);
    if (parts === undefined) return MALFORMED;
    const held = this.#keys?.get(parts.id);
    // The hashes are compared for an unknown id too, so that the time does not tell whether the id exists.
    const isRight = timingSafeEqual(Buffer.from(hashOfSecret(parts.secret)), held?.hash ?? NO_HASH);
    if (held === undefined) return UNKNOWN;
    if (!isRight) return new BadKey('wrong_secret', parts.id);
    const ended = this.problemOf(held.key);
    if (ended !== undefined) return ended;
    this.#used.set(parts.id, this.#options.now());
    return held.key;
  }

  /**
   * The key with this id, for a session of the console. The whole token was checked at the start of the session. Only to be called if
   * `isKnown`.
   */
  byId(id: string): ServerKey | BadKey {
    const held = this.#keys?.get(id);
    const ended = this.problemOf({ id });
    if (held === undefined || ended !== undefined) return ended ?? UNKNOWN;
    this.#used.set(id, this.#options.now());
    return held.key;
  }

  /**
   * The reason why a key that `find` found valid is no longer valid; undefined while it is valid. A request may have waited since `find`.
   */
  problemOf({ id, isPerson = false }: Pick<ServerKey, 'id' | 'isPerson'>): BadKey | undefined {
    // A person has a session and no key. `ConsoleSessions.confirmed` checks the session at each request.
    if (isPerson) return undefined;
    const held = this.#keys?.get(id);
    // An operator's command has removed the key. The command removes only keys that have ended.
    if (held === undefined) return new BadKey('unknown', id);
    if (this.#options.now() < held.end) return undefined;
    return new BadKey(held.isRevoked ? 'revoked' : 'expired', id);
  }

  /**
   * Registers a callback for changes of keys. Sockets and waiting requests outlive the check of their key, so after each call their owners
   * ask `problemOf` again.
   */
  onChange(changed: () => void): void {
    this.#changed.add(changed);
  }

  /** Reads all keys from Redis. Never fails: while Redis is unreachable, it tries again. */
  async read(): Promise<void> {
    const number = ++this.#asked;
    clearTimeout(this.#retry);
    try {
      const records = await readHash(this.#options.scripts, SERVER_KEYS);
      if (number < this.#taken) return;
      this.#taken = number;
      this.#take(records);
      this.#lastProblem = undefined;
    } catch (error) {
      const { message } = error as Error;
      // During an outage of Redis the main connection logs the outage, so this line is for debugging only.
      const level = redisFailure(error) === undefined ? 'warn' : 'debug';
      if (message !== this.#lastProblem) this.#options.log[level]({ reason: message }, 'the server keys could not be read');
      this.#lastProblem = message;
      if (!this.#isClosed) this.#retry = setTimeout(() => void this.read(), RETRY_MS).unref();
    }
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#poll);
    clearTimeout(this.#retry);
  }

  /** Subscribes, then reads. Changes after the subscription arrive as messages; the read finds the earlier ones. */
  async #listen(): Promise<void> {
    // If the subscription fails, another `ready` follows once there is a connection again.
    await this.#options.subscriber.subscribe(SERVER_KEYS).catch(() => {});
    await this.read();
  }

  #take(records: readonly (readonly [id: string, text: string])[]): void {
    const keys = new Map<string, Held>();
    const forgotten: Change[] = [];
    for (const [id, text] of records) {
      const known = this.#keys?.get(id);
      const held = known?.text === text ? known : this.#held(id, text);
      if (held === undefined) continue;
      keys.set(id, held);
      if (held.restored !== undefined) forgotten.push([id, text, held.restored]);
    }
    const before = this.#keys ?? keys;
    this.#keys = keys;
    if ([...before].some(([id, held]) => keys.get(id) !== held)) for (const changed of this.#changed) changed();
    if (forgotten.length > 0) void this.#writeBack(forgotten);
  }

  #held(id: string, text: string): Held | undefined {
    const stored = parseServerKey(text);
    if (stored === undefined) {
      if (this.#unreadable.get(id) !== text)
        this.#options.log.error({ key: id.slice(0, 16) }, 'a server key cannot be read: it opens nothing');
      this.#unreadable.set(id, text);
      return undefined;
    }
    const { name, scopes, game, role } = stored;
    const seen = this.#ends.get(id);
    const ends = { revokedAt: seen?.revokedAt ?? stored.revokedAt, expiresAt: earlier(seen?.expiresAt, stored.expiresAt) };
    this.#ends.set(id, ends);
    const isWhole = ends.revokedAt === stored.revokedAt && ends.expiresAt === stored.expiresAt;
    return {
      key: { id, name, scopes, game, role },
      hash: Buffer.from(stored.hash),
      end: endOf(ends),
      isRevoked: ends.revokedAt !== undefined,
      text,
      // Keeps the fields that a later version has added to the record.
      restored: isWhole ? undefined : JSON.stringify({ ...(JSON.parse(text) as object), ...ends }),
    };
  }

  async #writeBack(changes: readonly Change[]): Promise<void> {
    const { scripts, log } = this.#options;
    const ids = changes.map(([id]) => id);
    try {
      const args = { changes: JSON.stringify(changes), most: MOST_SERVER_KEYS };
      const [word] = await scripts.run(changeServerKeys, { records: SERVER_KEYS, used: SERVER_KEYS_USED }, args);
      if (word === 'changed') log.warn({ keys: ids }, 'redis had forgotten the end of server keys: it was written back');
    } catch (error) {
      // Logged for debugging only, because the next read of the keys tries again.
      log.debug({ keys: ids, reason: (error as Error).message }, 'the end of server keys could not be written back');
    }
  }

  async #noteUses(): Promise<void> {
    const { scripts, log } = this.#options;
    const uses = [...this.#used].filter(([id, at]) => at >= (this.#noted.get(id) ?? -Infinity) + NOTED_EVERY_MS);
    if (uses.length === 0) return;
    try {
      const texts = uses.map(([id, at]) => [id, String(at)]);
      await scripts.run(noteServerKeyUse, { records: SERVER_KEYS, used: SERVER_KEYS_USED }, { uses: JSON.stringify(texts) });
      for (const [id, at] of uses) this.#noted.set(id, at);
    } catch (error) {
      log.debug({ reason: (error as Error).message }, 'the last use of server keys could not be noted');
    }
  }
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

const MALFORMED = new BadKey('malformed');
const UNKNOWN = new BadKey('unknown');

/** Takes the place of the hash of a key that does not exist. It is as long as a hash, so that the comparison takes the same time. */
const NO_HASH = Buffer.alloc(43);

/**
 * The interval between two reads of all keys, in milliseconds. A message about a change may be lost when its connection breaks, long before
 * this process notices that.
 */
const POLL_INTERVAL_MS = 3000;

/** Milliseconds after which a read that failed is tried again. */
const RETRY_MS = 250;

/**
 * The interval, in milliseconds, at which the last use of a key is written to Redis. Only people look at this time, so a write a minute for
 * each key is enough.
 */
const NOTED_EVERY_MS = 60_000;
