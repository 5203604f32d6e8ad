import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { accountOfKey } from '../../accounts/keys.ts';
import { parseMovesRecord, type MovedGuest } from '../../accounts/moves-record.ts';
import { checkDataVersion, DATA_VERSION, DATA_VERSION_KEY, setDataVersion, UPGRADING_VERSION } from '../../redis/data-version.ts';
import { defineScript } from '../../redis/script.ts';
import { ScriptRunner } from '../../redis/script-runner.ts';
import { halfSipHash, type KeyHash } from './key-hash.ts';
import { coinKeys, ledgerLibrary } from './model.ts';

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

export const adoptGuest = defineScript({
  file: new URL('adopt-guest.lua', import.meta.url),
  keys: ['ledger', 'copy'],
  args: ['lastSeq', 'isFiled'],
  answers: ['adopted', 'done'],
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
async function areUpgraded(redis: Redis): Promise<boolean> {
  return (await redis.get(DATA_VERSION_KEY)) === String(DATA_VERSION);
}

/**
 * Changes ledgers of data versions 1 and 2 into version 3.
 *
 * From version 1: first it fences each account off from coinops of version 1. Then it changes the buckets `{…}:keys:<n>` of whole keys
 * into an index of hashes. A coinop of version 1 may come back during the upgrade too, unseen by the checks. So no key is moved before
 * all accounts are fenced.
 *
 * From version 2: it writes UPGRADING_VERSION, which stops the coin operations and moves of every coinop of version 2 that still runs.
 * Then it puts the ledgers of guests that moved under the tags of their accounts, one guest a script.
 *
 * No coin operation may run meanwhile, so every process does this before it knows the secret of the ledgers. An upgrade that
 * was cut off goes on where it stopped: each bucket and each guest is changed in one script.
 *
 * The lease only saves work. Several processes may upgrade at once: a bucket or a guest is changed by the first script that finds
 * it, and the version is written by a process that has scanned all keys. So a process that goes on after its lease ran out is harmless.
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
    const upgrade = new Upgrade(redis, halfSipHash(Buffer.from(secret, 'hex')), log);
    const version = await redis.get(DATA_VERSION_KEY);
    const buckets = version === null ? await upgrade.fileBuckets() : 0;
    if (version === null || version === '2') await setVersion(redis, version, UPGRADING_VERSION);
    else if (version !== UPGRADING_VERSION) await refuseVersion(redis, UPGRADING_VERSION);
    const guests = await upgrade.adoptGuests();
    await setVersion(redis, UPGRADING_VERSION, String(DATA_VERSION));
    if (buckets + guests > 0) log.info({ buckets, guests, version: DATA_VERSION }, 'upgraded the ledgers');
    return secret;
  } finally {
    await redis.del(LEASE_KEY).catch(() => {});
  }
}

/** @param seen data of version 1 has no version */
async function setVersion(redis: Redis, seen: string | null, version: string): Promise<void> {
  if (!(await setDataVersion(redis, seen, version))) await refuseVersion(redis, version);
}

/**
 * A newer coinop may have upgraded the data further while this process was stopped.
 * @throws Error unless the data has this version, or that of this coinop: another process upgrades it too, and is ahead
 */
async function refuseVersion(redis: Redis, version: string): Promise<void> {
  const found = await redis.get(DATA_VERSION_KEY);
  if (found === version || found === String(DATA_VERSION)) return;
  await checkDataVersion(redis);
  throw new Error(`${DATA_VERSION_KEY} is not ${version}`);
}

class Upgrade {
  readonly #redis: Redis;
  readonly #hash: KeyHash;
  readonly #log: Logger;
  readonly #scripts: ScriptRunner;
  #fenced = 0;
  #filed = 0;
  #adopted = 0;
  #checkAt = 0;
  #reportAt = performance.now() + REPORT_MS;

  constructor(redis: Redis, hash: KeyHash, log: Logger) {
    this.#redis = redis;
    this.#hash = hash;
    this.#log = log;
    this.#scripts = new ScriptRunner(redis, { now: Date.now });
  }

  /** From version 1. @returns the number of buckets that were filed */
  async fileBuckets(): Promise<number> {
    // The glob matches ledgers and move records, and few other keys.
    await this.#forAll('{*}:[lm][eo][dv][ge]*', /^(\{[^}]+\}):(?:ledger|moves)$/, (names) => this.#fence(names));
    await this.#forAll('{*}:keys:*', /^(\{[^}]+\}):keys:\d+$/, (names) => this.#file(names));
    await refuseOlderProcesses(this.#redis);
    return this.#filed;
  }

  /** From version 2. @returns the number of guests whose ledgers were adopted */
  async adoptGuests(): Promise<number> {
    await this.#forAll('{*}:moves', /^\{[^}]+\}:moves$/, (names) => this.#adopt(names));
    return this.#adopted;
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
      this.#log.info(
        { accounts: this.#fenced, buckets: this.#filed, guests: this.#adopted },
        'upgrading the ledgers; coin operations wait',
      );
    }
  }

  async #fence(names: readonly string[]): Promise<void> {
    const accounts = new Set(names.map(accountOf));
    await Promise.all([...accounts].map((of) => this.#scripts.run(fenceAccount, { ledger: `${of}:ledger`, moves: `${of}:moves` }, {})));
    this.#fenced += accounts.size;
  }

  async #adopt(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    const records = await this.#redis.mget(...names);
    const adopting = names.flatMap((name, index) => {
      const account = accountOfKey(name);
      return parseMovesRecord(records[index] ?? '').guests.map((guest) => this.#adoptGuest(account, guest));
    });
    this.#adopted += (await Promise.all(adopting)).filter(Boolean).length;
  }

  async #adoptGuest(account: string, { id, lastSeq, isFiled }: MovedGuest): Promise<boolean> {
    const keys = { ledger: coinKeys.ledger(id), copy: coinKeys.guestLedger(account, id) };
    const [word] = await this.#scripts.run(adoptGuest, keys, { lastSeq, isFiled: isFiled ? 1 : 0 });
    return word === 'adopted';
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
  // Another environment may keep data of an older coinop in another database.
  const isOlder = (client: string): boolean => client.includes(' name=coinop ') && client.includes(` db=${redis.options.db ?? 0} `);
  if (String(clients).split('\n').some(isOlder)) throw new Error('an older coinop uses this Redis: stop it, and the upgrade goes on');
}
