import type { Redis } from 'ioredis';
import { applyTombstones, tombstoneKeys, type Tombstone } from '../accounts/tombstones.ts';
import { ScriptRunner } from '../redis/script-runner.ts';

/**
 * Accounts that were deleted. A backup from before the deletion still has them, so a restore deletes them again.
 */

/** The private Redis is one Redis, so it has one index of them. */
const INDEX = tombstoneKeys(1)[0]!;

const PAGE = 1000;

export async function countTombstones(redis: Redis): Promise<number> {
  return redis.zcard(INDEX);
}

/** All deletions that this data knows of. */
export async function readTombstones(redis: Redis): Promise<Tombstone[]> {
  const found: Tombstone[] = [];
  for (let from = 0; ; from += PAGE) {
    const page = await redis.zrange(INDEX, `${from}`, `${from + PAGE - 1}`, 'WITHSCORES');
    for (let index = 0; index < page.length; index += 2) found.push({ accountId: page[index]!, at: Number(page[index + 1]) });
    if (page.length < 2 * PAGE) return found;
  }
}

/** A line of text for each. */
export function textOfTombstones(tombstones: readonly Tombstone[]): string {
  return tombstones.map(({ accountId, at }) => `${accountId} ${at}\n`).join('');
}

/** @throws Error for another text than that of `textOfTombstones` */
export function parseTombstones(text: string): Tombstone[] {
  return text.split('\n').flatMap((line): Tombstone[] => {
    if (line === '') return [];
    const [, accountId, at] = /^([\w-]{1,64}) (\d{1,15})$/.exec(line) ?? [];
    if (accountId === undefined) throw new Error(`no tombstone: ${line.slice(0, 100)}`);
    return [{ accountId, at: Number(at) }];
  });
}

/**
 * Closes these accounts in a Redis that no service uses. The service erases what they have at its next start.
 * @returns how many were not deleted there before
 */
export async function applyAgain(redis: Redis, tombstones: readonly Tombstone[]): Promise<number> {
  const known = new Set((await readTombstones(redis)).map(({ accountId }) => accountId));
  const missing = new Map(tombstones.filter(({ accountId }) => !known.has(accountId)).map((tombstone) => [tombstone.accountId, tombstone]));
  await applyTombstones([...missing.values()], { scripts: new ScriptRunner(redis, { now: Date.now }), now: Date.now });
  return missing.size;
}
