import type { Redis } from 'ioredis';
import type { Cluster } from '../cluster-client.ts';
import { DATA_ID_KEY, dataIdValue } from './data-id.ts';
import { DATA_VERSION, DATA_VERSION_KEY } from './data-version.ts';
import { slotOf, SLOTS, tagOf } from '../slots.ts';

/** Number of slots whose data ids or secrets one pipeline reads or writes. */
const SLOTS_AT_ONCE = 1000;

export interface ClusterAcceptance {
  /** The id that the data gets when it is accepted. */
  readonly to: string;
  readonly secret: DataSecret;
}

/** The secret of the ledgers, of which each slot of a Cluster has a copy. */
export interface DataSecret {
  readonly key: string;
  readonly format: RegExp;
  readonly make: () => string;
}

/**
 * Accepts the data of a Cluster as it is. Every slot gets a data id with the id `to`, the version and the secret, even a slot that has lost
 * them.
 * @throws Error if a primary is down, a slot is moving, or a slot has the data of another coinop. No data is lost then: run it again
 */
export async function acceptCluster(cluster: Cluster, { to, secret: { key: secretKey, make } }: ClusterAcceptance): Promise<void> {
  const { shards } = cluster;
  if (shards.reduce((sum, { slots }) => sum + slots.length, 0) < SLOTS || shards.some(({ redis }) => redis.status !== 'ready'))
    throw new Error('a part of the Cluster is away: all of it has to be accepted at once');
  const secrets = new Set<string>();
  for (const { redis, slots } of shards)
    for (const secret of await readAll(redis, slots, secretKey)) if (secret !== null) secrets.add(secret);
  const home = cluster.shardOf(slotOf(secretKey))!.redis;
  for (const secret of await home.mget(secretKey)) if (secret !== null) secrets.add(secret);
  if (secrets.size > 1) throw new Error('some slots have the data of another coinop: empty their primaries, or restore the data');
  const secret = [...secrets][0] ?? make();
  await home.set(secretKey, secret);
  for (const { redis, slots } of shards) {
    const [seconds, micros] = await redis.time();
    const at = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
    // The lowest slot comes last. Its data id tells the processes that the operator has accepted the primary, so the other slots must have
    // theirs by then.
    const descending = slots.toSorted((one, other) => other - one);
    for (let start = 0; start < slots.length; start += SLOTS_AT_ONCE) {
      const writing = redis.pipeline();
      for (const slot of descending.slice(start, start + SLOTS_AT_ONCE)) {
        const [id, version, ofSlot] = [DATA_ID_KEY, DATA_VERSION_KEY, secretKey].map((key) => `${tagOf(slot)}${key}`);
        writing.mset(id!, dataIdValue(to, 0, at, at), version!, DATA_VERSION, ofSlot!, secret);
      }
      for (const [error] of (await writing.exec()) ?? []) if (error !== null) throw error;
    }
  }
  await cluster.shardOf(slotOf(DATA_ID_KEY))!.redis.set(DATA_ID_KEY, dataIdValue(to, 0, 0, 0));
  await cluster.shardOf(slotOf(DATA_VERSION_KEY))!.redis.set(DATA_VERSION_KEY, DATA_VERSION);
}

/**
 * Reads the copies of the key in the slots. MGET reads a value of another type as null, so `acceptCluster` overwrites a value of another
 * type.
 */
async function readAll(redis: Redis, slots: readonly number[], key: string): Promise<(string | null)[]> {
  const found: (string | null)[] = [];
  for (let start = 0; start < slots.length; start += SLOTS_AT_ONCE) {
    const reading = redis.pipeline();
    for (const slot of slots.slice(start, start + SLOTS_AT_ONCE)) reading.mget(`${tagOf(slot)}${key}`);
    for (const [error, value] of (await reading.exec()) ?? []) {
      if (error !== null) throw error;
      found.push((value as [string | null])[0]);
    }
  }
  return found;
}
