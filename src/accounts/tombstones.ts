import { accountEvents } from './account-events.ts';
import { standingChanges, standingLibrary } from './standing.ts';
import { defineScript } from '../redis/script.ts';
import type { ScriptRunner } from '../redis/script-runner.ts';
import { Queue, queueKeyOf, queueKeys } from '../redis/queue.ts';
import { standingKey } from './account-keys.ts';

export const markDeleted = defineScript({
  file: new URL('mark-deleted.lua', import.meta.url),
  keys: ['standing'],
  args: ['at', 'by'],
  answers: ['marked', 'account_deleted', 'account_banned', 'moving', 'sign_in_required', 'other'],
  durable: true,
  library: [standingLibrary, standingChanges, accountEvents],
});

/** Adds a deleted account to the index of tombstones. If the account is in the index already, its time of deletion stays. */
const indexTombstone = defineScript({
  name: 'accounts/index-tombstone',
  lua: `redis.call('ZADD', tombstones, 'NX', at, account_id)
    return {'indexed'}`,
  keys: ['tombstones'],
  args: ['accountId', 'at'],
  answers: ['indexed'],
  durable: true,
});

/**
 * The name of the queue of accounts that are being erased. Members: `<account id>`, or `<account id> <time>` if the account has to be
 * marked as deleted first.
 */
export const DELETIONS_DUE = 'deletions:due';

/**
 * The name of the index of tombstones: sorted sets of account ids by the time of their deletion, in milliseconds since 1970. A single Redis
 * has one sorted set with this name. A Cluster has several sorted sets, one for each hash tag `{tombstones:<n>}` (`tombstoneKeys`).
 */
export const TOMBSTONES = 'tombstones';

/**
 * The Redis keys of the sorted sets of the index.
 * @param tags `queueTags` of the runner. `CLUSTER_QUEUE_TAGS` gives the keys of a single Redis and of a Cluster
 */
export function tombstoneKeys(tags: number): string[] {
  return queueKeys(TOMBSTONES, tags);
}

export interface Tombstone {
  readonly accountId: string;
  /** When the account was deleted, in milliseconds since 1970. */
  readonly at: number;
}

export async function indexTombstoneOf({ accountId, at }: Tombstone, scripts: ScriptRunner): Promise<void> {
  const tombstones = queueKeyOf(TOMBSTONES, accountId, scripts.queueTags);
  await scripts.run(indexTombstone, { tombstones }, { accountId, at });
}

/** Number of tombstones that are applied at the same time. */
const AT_ONCE = 100;

/**
 * For a restore: deletes the accounts that the backup has brought back although they were deleted. The function finds these accounts in the
 * index of tombstones as the index was before the restore. When the promise resolves, the accounts are marked as deleted, except for guests
 * in the middle of a move. A running service, or the next service that starts, ends those moves and erases the accounts (`DELETIONS_DUE`).
 * The function may stop at any point, and may be called again.
 */
export async function applyTombstones(
  tombstones: readonly Tombstone[],
  { scripts, now }: { readonly scripts: ScriptRunner; readonly now: () => number },
): Promise<void> {
  const queue = new Queue(DELETIONS_DUE, scripts);
  for (let start = 0; start < tombstones.length; start += AT_ONCE) {
    await Promise.all(
      tombstones.slice(start, start + AT_ONCE).map(async (tombstone) => {
        const { accountId, at } = tombstone;
        await queue.bring(`${accountId} ${at}`, now());
        await indexTombstoneOf(tombstone, scripts);
        await scripts.run(markDeleted, { standing: standingKey(accountId) }, { at, by: 'backup' });
      }),
    );
  }
}
