import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Cluster } from '../../redis/cluster-client.ts';
import type { DataGuard } from '../../redis/data/data-guard.ts';
import { DATA_ID_KEY, dataIdValue, idIn, isSameData, readId } from '../../redis/data/data-id.ts';
import { DATA_VERSION, DATA_VERSION_KEY, dataWithoutVersion, hasLedgers, readDataVersion } from '../../redis/data/data-version.ts';
import type { Shard } from '../../redis/shard.ts';
import { slotOf, SLOTS, tagOf } from '../../redis/slots.ts';
import { SECRET_BYTES } from './key-hash.ts';
import { KEY_SECRET, readKeySecret, SECRET_FORMAT } from './secret-keys.ts';

/** Number of slots whose copies are read or written in one pipeline. */
const SLOTS_AT_ONCE = 1000;

const SLOT_OF_VERSION = slotOf(DATA_VERSION_KEY);

/** What `DataGuard` knows about the data in Redis. */
interface GuardedData {
  readonly id: string;
  /** Whether the data is complete. If it is, a slot without copies has lost its data. */
  readonly stands: boolean;
}

/** How the error replies of a node begin if it does not serve a slot, or is moving the slot. */
const NOT_SERVED = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN) /;

/**
 * The secret of the hashes of idempotency keys in a Cluster. The first process makes the secret, under the same Redis key as on a single
 * Redis. Each slot has copies of the secret, of the data's version and of the data id. A script compares its arguments with the copies in a
 * slot of its node. So the script notices if the node has lost its data or has other data. When a slot moves to another node, its copies
 * move too.
 */
export class SecretOfCluster {
  readonly #cluster: Cluster;
  readonly #guard: DataGuard | undefined;

  /** @param guard without it the slots' data ids are neither read nor written */
  constructor(cluster: Cluster, guard: DataGuard | undefined) {
    this.#cluster = cluster;
    this.#guard = guard;
  }

  /** Whether any primary is connected. */
  get isReady(): boolean {
    return this.#cluster.shards.some(({ redis }) => redis.status === 'ready');
  }

  /**
   * Reads the secret, or makes it. Also reads the copies of all slots whose primaries answer, and writes those that are missing.
   * @param own the secret that this process knew before. The Cluster may have lost it.
   * @throws Error if no primary that answers has the secret, or a slot has other data
   */
  async read(own: string | undefined): Promise<string> {
    const secret = await this.#find(own);
    if (!SECRET_FORMAT.test(secret)) throw new Error(`${KEY_SECRET} is not ${2 * SECRET_BYTES} hexadecimal digits`);
    let complete = 0;
    for (const shard of this.#cluster.shards) if (shard.redis.status === 'ready') complete += await this.#completeSlots(shard, secret);
    // The version and the copies in the version's slot are written last. Once they are written, every slot has had its copies, so a slot
    // that lacks its copies later has lost its data. The version alone would not mean this, because data that was imported from a single
    // Redis already has the version.
    const homeOfVersion = this.#cluster.shardOf(SLOT_OF_VERSION)?.redis;
    if (complete < SLOTS - 1 || homeOfVersion?.status !== 'ready') return secret;
    await writeCopies(homeOfVersion, [SLOT_OF_VERSION], secret, this.#guarded);
    await homeOfVersion.set(DATA_VERSION_KEY, DATA_VERSION, 'NX').catch(unlessReal);
    return secret;
  }

  get #guarded(): GuardedData | undefined {
    return this.#guard?.id === undefined ? undefined : { id: this.#guard.id, stands: this.#guard.stands };
  }

  /**
   * Writes the missing copies in a primary's slots. While the data is not complete, the slot of the version is left out.
   * @returns the number of the primary's slots that now have all copies. A moving slot may lack some
   */
  async #completeSlots(shard: Shard, secret: string): Promise<number> {
    const { redis } = shard;
    const ofGuard = this.#guarded;
    const slots = ofGuard?.stands === true ? shard.slots : shard.slots.filter((slot) => slot !== SLOT_OF_VERSION);
    let complete = 0;
    for (let start = 0; start < slots.length; start += SLOTS_AT_ONCE) {
      const found = await writeCopies(redis, slots.slice(start, start + SLOTS_AT_ONCE), secret, ofGuard);
      complete += found.complete;
      if (found.lost === undefined) continue;
      const [seconds] = await redis.time();
      this.#guard?.placeOf(shard)?.lacksSlot(found.lost, Number(seconds) * 1000);
      return 0;
    }
    this.#guard?.placeOf(shard)?.hasAllSlots();
    return complete;
  }

  async #find(own: string | undefined): Promise<string> {
    try {
      return await this.#findOrMake(own);
    } catch (error) {
      if (!NOT_SERVED.test((error as Error).message)) throw error;
    }
    const copy = await this.#findCopy();
    if (copy === undefined) throw new Error('no primary that answers has the secret of the ledgers');
    return copy;
  }

  /** Reads the secret, or makes it. @throws Error if the primary of the secret or of the version is down, or is moving that slot */
  async #findOrMake(own: string | undefined): Promise<string> {
    const version = await readDataVersion(this.#redisOf(DATA_VERSION_KEY));
    if (version !== null && version !== String(DATA_VERSION))
      throw new Error(`the data has version ${version}: start this coinop once with the data on one Redis, which upgrades it`);
    // On the first start of all, the data id is written to Redis before the guard knows it. So if the guard knows an id from DATA_DIR that
    // Redis lacks, Redis may have lost its data.
    if (version === null && this.#guard?.id !== undefined && (await readId(this.#redisOf(DATA_ID_KEY))) === null)
      throw new Error(`CLUSTERDOWN No primary has ${DATA_ID_KEY}`);
    const home = this.#redisOf(KEY_SECRET);
    const found = await readKeySecret(home);
    if (found !== null) return found;
    // The primary that should have the secret may have lost its data. With a new secret all used idempotency keys on the other primaries
    // would seem new.
    const known = own ?? (await this.#findCopy());
    if (known === undefined && version !== null) throw new Error(`${KEY_SECRET} is missing: restore it from a backup of this data`);
    if (known === undefined) await this.#refuseLedgers();
    const made = known ?? randomBytes(SECRET_BYTES).toString('hex');
    return (await home.set(KEY_SECRET, made, 'NX', 'GET')) ?? made;
  }

  /**
   * Throws if the Cluster has ledgers without a secret. Data that was imported from a single Redis has a secret, unless it has version 1.
   */
  async #refuseLedgers(): Promise<void> {
    for (const { redis } of this.#cluster.shards) if (redis.status === 'ready' && (await hasLedgers(redis))) throw dataWithoutVersion();
  }

  /** The copy of the secret in one slot of the first primary that answers and has it. */
  async #findCopy(): Promise<string | undefined> {
    for (const { redis, place } of this.#cluster.shards) {
      const found = redis.status === 'ready' ? await redis.get(`${place()}${KEY_SECRET}`).catch(() => null) : null;
      if (found !== null) return found;
    }
    return undefined;
  }

  /** The connection to the primary that serves a key. @throws Error while this primary is down, or has lost its data */
  #redisOf(key: string): Redis {
    const shard = this.#cluster.shardOf(slotOf(key));
    const redis = shard?.redis;
    const hasLost = shard !== undefined && this.#guard?.placeOf(shard)?.problem !== undefined;
    if (redis?.status !== 'ready' || hasLost) throw new Error(`CLUSTERDOWN No primary serves ${key}`);
    return redis;
  }
}

/**
 * Writes the missing copies in some slots. A slot that is moving is left out.
 * @param data the guard's knowledge. With an id, the slots get their data ids too. If the data is complete, a slot without any copy has
 * lost its data, and nothing is written
 * @returns the number of slots that have all copies, and the first slot that has lost its data
 * @throws Error if a slot has the copies of other data
 */
async function writeCopies(
  redis: Redis,
  slots: readonly number[],
  secret: string,
  data: GuardedData | undefined,
): Promise<{ complete: number; lost?: number }> {
  const pipeline = redis.pipeline();
  for (const slot of slots) pipeline.mget([DATA_VERSION_KEY, KEY_SECRET, DATA_ID_KEY].map((key) => `${tagOf(slot)}${key}`));
  const found = (await pipeline.exec()) ?? [];
  const writing = redis.pipeline();
  let complete = 0;
  for (const [index, [error, copies]] of found.entries()) {
    if (isReal(error)) throw error;
    if (error !== null) continue;
    const [version, ofSlot, id] = copies as [string | null, string | null, string | null];
    const slot = slots[index]!;
    if ((version !== null && version !== String(DATA_VERSION)) || (ofSlot !== null && ofSlot !== secret))
      throw new Error(`slot ${slot} has the data of another coinop`);
    const isEmpty = version === null && ofSlot === null && id === null;
    if (data?.stands === true && (isEmpty || (id !== null && !isSameData(idIn(id), data.id)))) return { complete, lost: slot };
    if (version !== null && ofSlot !== null && (id !== null || data === undefined)) {
      complete++;
      continue;
    }
    const ofData = id !== null || data === undefined ? [] : [`${tagOf(slot)}${DATA_ID_KEY}`, dataIdValue(data.id, 0, 0, 0)];
    writing.mset(`${tagOf(slot)}${DATA_VERSION_KEY}`, DATA_VERSION, `${tagOf(slot)}${KEY_SECRET}`, secret, ...ofData);
  }
  for (const [error] of (await writing.exec()) ?? []) {
    if (isReal(error)) throw error;
    // An error means that the slot began to move after its copies were read, so its missing copies were not written.
    if (error === null) complete++;
  }
  return { complete };
}

/** Ignores the error reply for a slot that is moving. A later read writes the version there. */
function unlessReal(error: Error): void {
  if (isReal(error)) throw error;
}

function isReal(error: Error | null): error is Error {
  return error !== null && !NOT_SERVED.test(error.message);
}
