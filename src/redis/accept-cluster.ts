import type { Redis } from 'ioredis';
import type { Cluster } from './cluster-client.ts';
import { DATA_ID_KEY, dataIdValue } from './data-id.ts';
import { DATA_VERSION, DATA_VERSION_KEY } from './data-version.ts';
import { slotOf, SLOTS, tagOf } from './slots.ts';

/** Slots whose marks are read or written in one pipeline. */
const SLOTS_AT_ONCE = 1000;

export interface ClusterAcceptance {
  /** The id of the data from now on. */
  readonly to: string;
  readonly secret: DataSecret;
}

/** A secret of the data. */
export interface DataSecret {
  readonly key: string;
  readonly format: RegExp;
  readonly make: () => string;
}

/**
 * Accepts the data of a Cluster as it is: all slots get the marks of data with this id, including slots that have lost their marks.
 * @throws Error if a primary is down, a slot is moving, or a slot has the data of another coinop. Nothing was lost then: try again
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
    // The lowest slot comes last: its mark tells the processes that the primary is accepted, so all its other slots must have theirs.
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

/** A value of another type counts as missing, and is overwritten: MGET reads it so. */
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
