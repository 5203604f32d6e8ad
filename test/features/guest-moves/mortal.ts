import { numberKeys } from '../../../src/features/numbers/model.ts';
import { COUNTERS_TAG, dayNumber } from '../../../src/redis/counters.ts';
import { hash, randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { expect } from 'vitest';
import { CallerScripts } from '../../../src/accounts/caller-scripts.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { standingKey } from '../../../src/accounts/account-keys.ts';
import { DeletionJournal } from '../../../src/features/deletion/deletion-journal.ts';
import { applyScript } from '../../../src/features/coins/apply.ts';
import { KeySecret } from '../../../src/features/coins/key-secret.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { MoveJournal } from '../../../src/features/guest-moves/move-journal.ts';
import { moveKeys } from '../../../src/features/guest-moves/model.ts';
import { holdings } from '../../../src/holdings.ts';
import { memberOf } from '../../../src/redis/queue.ts';
import type { Script } from '../../../src/redis/script.ts';
import type { Answer, PrologueCall } from '../../../src/redis/script-runner.ts';
import { ScriptLink } from '../../../src/redis/script-link.ts';
import { callerFrom, type Caller } from '../../../src/server/identity/caller.ts';
import { start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { testConfig } from '../../environment.ts';

/** Runs before each call of a script: `call` makes the call. */
export type Around = (script: string, call: () => Promise<Answer<string>>) => Promise<Answer<string>>;

export class WatchedScripts extends CallerScripts {
  around: Around = (_, call) => call();

  override run<Key extends string, Argument extends string, Word extends string>(
    script: Script<Key, Argument, Word>,
    keys: Record<Key, string>,
    args: Record<Argument, string | number>,
    prologue?: PrologueCall,
  ): Promise<Answer<Word>> {
    return this.around(script.name, () => super.run(script, keys, args, prologue)) as Promise<Answer<Word>>;
  }
}

/** The part of a serving process that moves guests, with a hook before each script. */
export interface Mover {
  readonly scripts: WatchedScripts;
  readonly moves: MoveJournal;
}

/** Movers and ledgers on one Redis. */
export class Movers implements Disposable {
  readonly #redis: Redis;
  readonly #link: ScriptLink;
  readonly #secret: KeySecret;
  /** The errors that the movers have logged. */
  readonly errors: { readonly msg: string; readonly guestId?: string }[] = [];
  readonly log = pino({ level: 'error' }, { write: (line: string) => void this.errors.push(JSON.parse(line)) });

  private constructor(redis: Redis, link: ScriptLink, secret: KeySecret) {
    this.#redis = redis;
    this.#link = link;
    this.#secret = secret;
  }

  static async open(redis: Redis): Promise<Movers> {
    const link = new ScriptLink(redis);
    await link.opened();
    const secret = new KeySecret(redis, pino({ level: 'silent' }));
    await secret.read();
    return new Movers(redis, link, secret);
  }

  [Symbol.dispose](): void {
    this.#secret.close();
    this.#link.disconnect();
  }

  mover(around?: Around): Mover {
    const scripts = new WatchedScripts(this.#link, { now: Date.now });
    if (around !== undefined) scripts.around = around;
    const moves = new MoveJournal({ ...this.#partsWith(scripts), keySecret: this.#secret });
    scripts.helpMove = (accountId) => moves.help(accountId);
    return { scripts, moves };
  }

  deletions(scripts: CallerScripts = this.mover().scripts, now = Date.now): DeletionJournal {
    return new DeletionJournal({ ...this.#partsWith(scripts), now, metrics: { accountDeleted() {} } });
  }

  #partsWith(scripts: CallerScripts) {
    const catalogue = { orderOf: () => 'desc' as const };
    return { scripts, catalogue, config: testConfig(), holdings, log: this.log, now: Date.now };
  }

  /** A ledger of one entry, with a balance that coin operations of a million each would take too long to reach. */
  async makeRich(accountId: string, coins: number): Promise<void> {
    const at = Date.now() - 1000;
    await this.#redis.rpush(coinKeys.ledger(accountId), `1:${coins} c${coins} ${at.toString(36)} huge`);
    // As a script would count it.
    await this.#redis.hincrby(numberKeys.counters(COUNTERS_TAG, dayNumber(at)), '+c', coins);
    await this.#redis.hset(`${coinKeys.index(accountId)}0`, String(this.#secret.hashOf('huge')), 1);
  }

  /** Moves a guest into an account, as a sign-in does. */
  begin(guestId: string, accountId: string, { moves }: Mover = this.mover()): ReturnType<MoveJournal['begin']> {
    return moves.begin(callerOf(guestId), { accountId, store: 'sandbox' });
  }

  /** Applies an operation as the service does. @throws Refusal of a guest that moved */
  apply(accountId: string, operation: string, key: string, { scripts }: Mover = this.mover()): Promise<string[]> {
    const args = { operation, key, keyHash: this.#secret.hashOf(key), rules: '', secret: this.#secret.text };
    return scripts.runAs(callerOf(accountId), applyScript, { ledger: coinKeys.ledger(accountId) }, args);
  }

  /** Does all work in the queue, once. */
  async work({ moves }: Mover = this.mover()): Promise<void> {
    for (const entry of await this.#redis.zrange(moveKeys.unfinished, '0', '-1')) {
      const nextAt = await moves.work(memberOf(entry));
      if (nextAt === undefined) await this.#redis.zrem(moveKeys.unfinished, entry);
    }
  }

  /** Finishes all moves. An open one may still begin, so the queue keeps it until it expires. */
  async drained(mover?: Mover): Promise<void> {
    await this.work(mover);
    for (const key of await this.#redis.keys('*:move:*'))
      if ((await this.#redis.get(key).catch(() => ''))?.startsWith('open ') === true) await this.#redis.del(key);
    await this.work(mover);
    expect([await this.#redis.keys('*:move:*:*'), await this.#redis.zcard(moveKeys.unfinished)]).toEqual([[], 0]);
  }

  /**
   * All keys of an account with hashes of their contents, except its records of moves, and its lists of sessions and of sign-ins, because
   * each sign-in changes these.
   */
  async contentOf(accountId: string): Promise<Record<string, string>> {
    const names = (await this.#redis.keys(`{${accountId}}:*`))
      .filter((name) => !/:move:[^:]+$|:sessions$|:sign-ins$/.test(name))
      .toSorted();
    return Object.fromEntries(await Promise.all(names.map(async (name) => [name, hash('sha1', (await this.#redis.dumpBuffer(name))!)])));
  }

  async recordOf(accountId: string): Promise<string | null> {
    return this.#redis.get(standingKey(accountId));
  }
}

export function callerOf(accountId: string): Caller {
  return callerFrom({ address: '127.0.0.1' }, accountId, undefined, undefined);
}

/** A mover dies at this call of a script: this and all later calls fail. @param isAfter the call itself still takes effect */
export function dyingAt(number: number, isAfter = false): { around: Around; calls: () => number } {
  let calls = 0;
  const gone = (): never => {
    throw new Error('Connection is closed.');
  };
  return {
    calls: () => calls,
    async around(_, call) {
      calls++;
      if (calls > number || (calls === number && !isAfter)) return gone();
      const answer = await call();
      return calls >= number ? gone() : answer;
    },
  };
}

export function freshInstall(): { installId: string; accountId: string } {
  const installId = `install-${randomBytes(9).toString('base64url')}`;
  return { installId, accountId: accountIdOf(installId) };
}

/** A service with its own Redis, and movers that use the same Redis. */
export async function openMoving(settings: Record<string, string> = {}) {
  const own = await startRedis();
  const service = await start({ redis: own.location, settings });
  const { redis } = own;
  const movers = await Movers.open(redis);
  return {
    own,
    service,
    redis,
    movers,
    async [Symbol.asyncDispose]() {
      movers[Symbol.dispose]();
      await service[Symbol.asyncDispose]();
      await own[Symbol.asyncDispose]();
    },
  };
}
