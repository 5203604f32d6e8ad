import type { Redis } from 'ioredis';
import { SettingError } from '../../config.ts';
import { ForeignValue, readText } from '../text-key.ts';

/**
 * The version of the data that this coinop writes. A release raises the version when it has to convert older data. `src/upgrades.ts`
 * converts data of the previous version.
 */
export const DATA_VERSION = 5;

/** The oldest version that this coinop accepts. No release wrote versions 1 and 2. */
export const OLDEST_DATA_VERSION = 3;

/**
 * The key in Redis that holds the version: `5`, or `4>5` while the data is upgraded from 4 to 5. Each batch of coin operations and moves
 * compares this value with the version of its coinop, so that no process of either version changes a ledger during the upgrade
 * (`is_data_of` of ledger.lua). An empty Redis has no version, and data of version 1 has none either.
 */
export const DATA_VERSION_KEY = 'data:version';

/**
 * The glob of the keys of ledgers. The version is written before any ledger, so a Redis with ledgers but without a version has data of
 * version 1.
 */
const LEDGERS = '{*}:ledger';

const TOO_OLD =
  `and this coinop takes none before ${OLDEST_DATA_VERSION}: go on with the coinop that wrote it, or start this one on an empty Redis ` +
  'with an empty DATA_DIR (docs/upgrading.md).';

/** Parses the value of `data:version`. @returns undefined for a text that is not a version */
export function parseDataVersion(text: string): { readonly version: number; readonly isUpgrading: boolean } | undefined {
  const [, version, next] = /^([1-9]\d{0,8})(?:>([1-9]\d{0,8}))?$/.exec(text) ?? [];
  if (version === undefined || (next !== undefined && Number(next) !== Number(version) + 1)) return undefined;
  return { version: Number(version), isUpgrading: next !== undefined };
}

/** What this coinop does with data of a version: it serves the data, upgrades it at the start, or refuses it. */
export function standOfVersion(text: string): 'current' | 'older' | 'too_old' | 'newer' | 'unreadable' {
  const { version, isUpgrading } = parseDataVersion(text) ?? {};
  if (version === undefined) return 'unreadable';
  if (version < OLDEST_DATA_VERSION) return 'too_old';
  if (version < DATA_VERSION) return 'older';
  return version === DATA_VERSION && isUpgrading === false ? 'current' : 'newer';
}

/**
 * Keeps this coinop away from data that it would misread.
 * @throws SettingError for data of a version that it can neither serve nor upgrade
 */
export async function checkDataVersion(redis: Redis): Promise<void> {
  if (redis.status === 'ready') refuseVersion(await findVersion(redis));
}

/**
 * Like `checkDataVersion`, but for a start: it also refuses ledgers without a version. A running process must not refuse ledgers without a
 * version: while an operator restores lost data, ledgers may appear before the version.
 */
export async function checkDataAtStart(redis: Redis): Promise<void> {
  if (redis.status !== 'ready') return;
  const version = await findVersion(redis);
  refuseVersion(version);
  // The first process of this version may have written version and ledgers between the two reads.
  if (version === null && (await hasLedgers(redis)) && (await findVersion(redis)) === null) throw dataWithoutVersion();
}

/** Whether Redis, or one primary of a Cluster, has the ledger of an account. */
export async function hasLedgers(redis: Redis): Promise<boolean> {
  for await (const names of redis.scanStream({ match: LEDGERS, count: 1000 }) as AsyncIterable<string[]>) if (names.length > 0) return true;
  return false;
}

export function dataWithoutVersion(): SettingError {
  return new SettingError(`The data in this Redis has ledgers and no ${DATA_VERSION_KEY}, so it has version 1, ${TOO_OLD}`);
}

/** Reads the version of the data. @throws ForeignValue if the key has a value of another type than text */
export function readDataVersion(redis: Redis): Promise<string | null> {
  return readText(redis, DATA_VERSION_KEY, WRITE_VERSION);
}

const WRITE_VERSION =
  'Copy the key from a backup of this data (docs/backup.md). If a coinop of this version served the data last, you may also write it: ' +
  `redis-cli SET ${DATA_VERSION_KEY} ${DATA_VERSION}.`;

/** The version in Redis, null if there is none. Undefined: this node of a Cluster does not serve the key, or is moving its slot. */
async function findVersion(redis: Redis): Promise<string | null | undefined> {
  return readDataVersion(redis).catch((error: Error) => {
    // If a `redis://` URL leads to a node of a Cluster, the service is not ready and reports the reason (`checkRedis`).
    if (/^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN) /.test(error.message)) return undefined;
    throw error;
  });
}

function refuseVersion(version: string | null | undefined): void {
  if (version === null || version === undefined) return;
  const stand = standOfVersion(version);
  if (stand === 'unreadable')
    throw new ForeignValue(DATA_VERSION_KEY, `is "${version}", and not a version of coinop's data`, WRITE_VERSION);
  if (stand === 'too_old') throw new SettingError(`The data in this Redis has version ${version}, ${TOO_OLD}`);
  if (stand !== 'newer') return;
  throw new SettingError(
    `The data in this Redis has version ${version}, and this coinop knows versions up to ${DATA_VERSION}. ` +
      'Start the newer coinop that wrote the data, or restore a backup from before.',
  );
}
