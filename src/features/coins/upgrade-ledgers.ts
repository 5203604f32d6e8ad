import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { checkDataVersion, DATA_VERSION, DATA_VERSION_KEY } from '../../redis/data-version.ts';
import { defineScript } from '../../redis/script.ts';
import { ScriptRunner } from '../../redis/script-runner.ts';
import { halfSipHash, type KeyHash } from './key-hash.ts';
import { ledgerLibrary } from './model.ts';

export const fileBucket = defineScript({
  file: new URL('file-bucket.lua', import.meta.url),
  keys: ['bucket', 'ledger'],
  args: ['hashes'],
  answers: ['filed', 'gone'],
  library: ledgerLibrary,
});

export const fenceAccount = defineScript({
  file: new URL('fence-account.lua', import.meta.url),
  keys: ['ledger', 'moves'],
  args: [],
  answers: ['fenced'],
  library: ledgerLibrary,
});

/** Held by the process that upgrades. It runs out if the process dies. */
const LEASE_KEY = 'data:upgrading';
const LEASE_MS = 10_000;

/** How often the other processes look whether it is done. */
const LEASE_POLL_MS = 50;

/** Milliseconds between two log lines about the progress. */
const REPORT_MS = 5000;

/** Milliseconds between two looks for a coinop of data version 1. */
const CHECK_MS = 1000;

/** The range of the hash in a place of version 1, "<seq> * range + <hash>". */
const PLACE_HASHES = 65_536;

/** Whether the ledgers have the layout of this version. */
export async function areUpgraded(redis: Redis): Promise<boolean> {
  return (await redis.get(DATA_VERSION_KEY)) === String(DATA_VERSION);
}

/**
 * Changes ledgers of data version 1 into version 2. First it fences each account off from coinops of version 1. Then it changes the
 * buckets `{…}:keys:<n>` of whole keys into an index of hashes.
 *
 * No coin operation may run meanwhile, so every process does this before it knows the secret of the ledgers. An upgrade that
 * was cut off goes on where it stopped: each bucket is changed in one script.
 *
 * A coinop of version 1 may come back during the upgrade too, unseen by the checks. So no key is moved before all accounts are fenced.
 *
 * The lease only saves work. Several processes may upgrade at once: a bucket is changed by the first script that finds it, and
 * the version is written by a process that has scanned all keys. So a process that goes on after its lease ran out is harmless.
 * @param takeSecret takes the secret of the hashes over from version 1 and returns it in hexadecimal
 * @returns the secret
 * @throws Error while a coinop of data version 1 is connected
 */
export async function upgradeLedgers(redis: Redis, takeSecret: () => Promise<string>, log: Logger): Promise<string> {
  // First of all: while a coinop of version 1 works, another one of them must be able to start, and needs the secret.
  await refuseOlderProcesses(redis);
  const secret = await takeSecret();
  while ((await redis.set(LEASE_KEY, process.pid, 'PX', LEASE_MS, 'NX')) === null) {
    await pause(LEASE_POLL_MS);
    if (await areUpgraded(redis)) return secret;
  }
  try {
    const filed = await new Upgrade(redis, halfSipHash(Buffer.from(secret, 'hex')), log).run();
    await setVersion(redis);
    if (filed > 0) log.info({ buckets: filed, version: DATA_VERSION }, 'upgraded the ledgers');
    return secret;
  } finally {
    await redis.del(LEASE_KEY).catch(() => {});
  }
}

/**
 * Data of version 1 has no version. A newer coinop may have upgraded the data further while this process was stopped.
 * @throws Error if the data has another version
 */
async function setVersion(redis: Redis): Promise<void> {
  if ((await redis.set(DATA_VERSION_KEY, DATA_VERSION, 'NX')) === null && !(await areUpgraded(redis))) {
    await checkDataVersion(redis);
    throw new Error(`${DATA_VERSION_KEY} is not ${DATA_VERSION}`);
  }
}

class Upgrade {
  readonly #redis: Redis;
  readonly #hash: KeyHash;
  readonly #log: Logger;
  readonly #scripts: ScriptRunner;
  #fenced = 0;
  #filed = 0;
  #checkAt = 0;
  #reportAt = performance.now() + REPORT_MS;

  constructor(redis: Redis, hash: KeyHash, log: Logger) {
    this.#redis = redis;
    this.#hash = hash;
    this.#log = log;
    this.#scripts = new ScriptRunner(redis, { now: Date.now });
  }

  /** @returns the number of buckets that were filed */
  async run(): Promise<number> {
    // The glob matches ledgers and move records, and few other keys.
    await this.#forAll('{*}:[lm][eo][dv][ge]*', /^(\{[^}]+\}):(?:ledger|moves)$/, (names) => this.#fence(names));
    await this.#forAll('{*}:keys:*', /^(\{[^}]+\}):keys:\d+$/, (names) => this.#file(names));
    await refuseOlderProcesses(this.#redis);
    return this.#filed;
  }

  async #forAll(glob: string, pattern: RegExp, change: (names: string[]) => Promise<void>): Promise<void> {
    for await (const names of this.#redis.scanStream({ match: glob, count: 1000 }) as AsyncIterable<string[]>) {
      await this.#redis.pexpire(LEASE_KEY, LEASE_MS);
      // One may have connected since the check before.
      if (performance.now() >= this.#checkAt) {
        await refuseOlderProcesses(this.#redis);
        this.#checkAt = performance.now() + CHECK_MS;
      }
      await change(names.filter((name) => pattern.test(name)));
      if (performance.now() < this.#reportAt) continue;
      this.#reportAt = performance.now() + REPORT_MS;
      this.#log.info({ accounts: this.#fenced, buckets: this.#filed }, 'upgrading the ledgers; coin operations wait');
    }
  }

  async #fence(names: readonly string[]): Promise<void> {
    const accounts = new Set(names.map(accountOf));
    await Promise.all([...accounts].map((of) => this.#scripts.run(fenceAccount, { ledger: `${of}:ledger`, moves: `${of}:moves` }, {})));
    this.#fenced += accounts.size;
  }

  async #file(names: readonly string[]): Promise<void> {
    const buckets = await readBuckets(this.#redis, names);
    await Promise.all(buckets.map((bucket) => file(bucket, this.#hash, this.#scripts)));
    this.#filed += buckets.length;
  }
}

interface Bucket {
  readonly name: string;
  readonly keys: readonly string[];
  /** For each key "<seq of its entry> * PLACE_HASHES + <hash>". */
  readonly places: readonly string[];
}

async function readBuckets(redis: Redis, names: readonly string[]): Promise<Bucket[]> {
  // HKEYS and HVALS have one order. The object that HGETALL would make cannot hold the key __proto__.
  const pipeline = redis.pipeline();
  for (const name of names) pipeline.hkeys(name).hvals(name);
  const replies = ((await pipeline.exec()) ?? []).map(([error, reply]) => {
    if (error !== null) throw error;
    return reply as string[];
  });
  return names.map((name, index) => ({ name, keys: replies[2 * index]!, places: replies[2 * index + 1]! }));
}

async function file({ name, keys, places }: Bucket, hash: (key: string) => number, scripts: ScriptRunner): Promise<void> {
  const hashes = keys.map((key, index) => `${hash(key)} ${Math.floor(Number(places[index]) / PLACE_HASHES)}\n`).join('');
  await scripts.run(fileBucket, { bucket: name, ledger: `${accountOf(name)}:ledger` }, { hashes });
}

/** `{id}` of `{id}:ledger`: the part of a key that all keys of an account share. */
function accountOf(name: string): string {
  return name.slice(0, name.indexOf('}') + 1);
}

/** A coinop of data version 1 would write keys that this one does not find, and would not find those of this one. */
async function refuseOlderProcesses(redis: Redis): Promise<void> {
  const clients = await redis.client('LIST').catch(() => '');
  if (/ name=coinop /.test(String(clients))) throw new Error('an older coinop uses this Redis: stop it, and the upgrade goes on');
}
