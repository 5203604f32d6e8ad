import type { Redis } from 'ioredis';
import { standingKey } from '../../accounts/account-keys.ts';
import { parseStanding } from '../../accounts/standing.ts';
import { applyTombstones, DELETIONS_DUE, tombstoneKeys, type Tombstone } from '../../accounts/tombstones.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { memberOf, queueKeys } from '../../redis/queue.ts';
import { ScriptRunner } from '../../redis/script-runner.ts';

/**
 * This file is about accounts that were deleted. A backup that was made before a deletion still has the account, so a restore deletes the
 * account again.
 */

/** The index of deleted accounts. The private Redis is a single Redis, so there is only one index of deletions. */
const INDEX = tombstoneKeys(1)[0]!;

const QUEUE = queueKeys(DELETIONS_DUE, 1)[0]!;

const PAGE = 1000;

export async function countTombstones(redis: Redis): Promise<number> {
  return redis.zcard(INDEX);
}

/** All deletions of accounts that the data in this Redis has recorded. */
export async function readTombstones(redis: Redis): Promise<Tombstone[]> {
  const found = new Map<string, number>();
  for (let from = 0; ; from += PAGE) {
    const page = await redis.zrange(INDEX, `${from}`, `${from + PAGE - 1}`, 'WITHSCORES');
    for (const [accountId, at] of pairsOf(page)) found.set(accountId, Number(at));
    if (page.length < 2 * PAGE) break;
  }
  for (const { accountId, at } of await readUnindexed(redis)) if (!found.has(accountId)) found.set(accountId, at);
  return [...found].map(([accountId, at]) => ({ accountId, at }));
}

/**
 * The accounts that have a tombstone but are not in the index, because the process that deleted them died between the two steps
 * (docs/decisions/deletion.md). The queue of deletions contains all such accounts.
 */
async function readUnindexed(redis: Redis): Promise<Tombstone[]> {
  const entries = await redis.zrange(QUEUE, '0', '-1');
  const ids = new Set(entries.map((entry) => memberOf(entry).split(' ', 1)[0]!));
  const unindexed: Tombstone[] = [];
  for (const accountId of ids) {
    const { deleted } = parseStanding(await redis.get(standingKey(accountId)));
    if (deleted !== undefined) unindexed.push({ accountId, at: deleted.at });
  }
  return unindexed;
}

/** The tombstones as text, a line for each. */
export function textOfTombstones(tombstones: readonly Tombstone[]): string {
  return tombstones.map(({ accountId, at }) => `${accountId} ${at}\n`).join('');
}

/** Reads the text that `textOfTombstones` makes. @throws Error for a text in another format */
export function parseTombstones(text: string): Tombstone[] {
  return text.split('\n').flatMap((line): Tombstone[] => {
    if (line === '') return [];
    const [, accountId, at] = /^([\w-]{1,64}) (\d{1,15})$/.exec(line) ?? [];
    if (accountId === undefined) throw new Error(`no tombstone: ${line.slice(0, 100)}`);
    return [{ accountId, at: Number(at) }];
  });
}

/**
 * Closes the accounts of the tombstones in a Redis that no service uses. The service erases their data at its next start.
 * @returns the number of these accounts that were not deleted in this Redis before
 */
export async function applyAgain(redis: Redis, tombstones: readonly Tombstone[]): Promise<number> {
  const known = new Set((await readTombstones(redis)).map(({ accountId }) => accountId));
  const missing = new Map(tombstones.filter(({ accountId }) => !known.has(accountId)).map((tombstone) => [tombstone.accountId, tombstone]));
  await applyTombstones([...missing.values()], { scripts: new ScriptRunner(redis, { now: Date.now }), now: Date.now });
  return missing.size;
}
