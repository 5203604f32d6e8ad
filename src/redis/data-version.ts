import type { Redis } from 'ioredis';
import { SettingError } from '../config.ts';
import { defineScript } from './script.ts';
import { ScriptRunner } from './script-runner.ts';

/**
 * The version of the data that this coinop writes. It rises when the data of a release before has to be changed:
 * - 1: until November 2026, without a key in Redis. The buckets of a ledger held whole idempotency keys.
 * - 2: the buckets hold hashes of them, and a coinop of version 1 fails on the ledgers.
 * - 3: the ledger of a guest that moved lies under the tag of its account, and a guest's move is a journal.
 *
 * `features/coins/upgrade-ledgers.ts` changes each version into the next.
 */
export const DATA_VERSION = 3;

/**
 * The version of data that is changed from 2 into 3. No coinop of either version changes a ledger then: each of its batches looks
 * for its own version (`is_data_of` of ledger.lua).
 */
export const UPGRADING_VERSION = '2>3';

/** The key in Redis that holds the version. It is missing in an empty Redis and in data of version 1. */
export const DATA_VERSION_KEY = 'data:version';

const setVersion = defineScript({
  file: new URL('set-version.lua', import.meta.url),
  keys: ['version'],
  args: ['seen', 'to'],
  answers: ['set', 'changed'],
});

/** @returns false if the version is not the one that was seen; then nothing changes */
export async function setDataVersion(redis: Redis, seen: string | null, to: string): Promise<boolean> {
  const scripts = new ScriptRunner(redis, { now: Date.now });
  const [word] = await scripts.run(setVersion, { version: DATA_VERSION_KEY }, { seen: seen ?? '', to });
  return word === 'set';
}

/**
 * Keeps this coinop away from data that it would misread.
 * @throws SettingError for data of a newer version
 */
export async function checkDataVersion(redis: Redis): Promise<void> {
  if (redis.status !== 'ready') return;
  const version = await redis.get(DATA_VERSION_KEY).catch((error: Error) => {
    // A node of a Redis Cluster does not serve the key, or is moving its slot: another node has the version. Where a plain URL leads
    // to such a node, the service is not ready and says why (`checkRedis`).
    if (/^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN) /.test(error.message)) return null;
    throw error;
  });
  if (version === null || version === UPGRADING_VERSION) return;
  if (!/^[1-9]\d{0,8}$/.test(version))
    throw new SettingError(`${DATA_VERSION_KEY} in Redis is "${version}", and not a version of coinop's data.`);
  if (Number(version) > DATA_VERSION) {
    throw new SettingError(
      `The data in this Redis has version ${version}, and this coinop knows versions up to ${DATA_VERSION}. ` +
        'Start the newer coinop that wrote the data, or restore a backup from before.',
    );
  }
}
