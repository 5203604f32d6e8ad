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

const indexTombstone = defineScript({
  file: new URL('index-tombstone.lua', import.meta.url),
  keys: ['tombstones'],
  args: ['accountId', 'at'],
  answers: ['indexed'],
  durable: true,
});

/** The queue of accounts that are being erased: `<account id>`, or `<account id> <time>` if the account has to be marked first. */
export const DELETIONS_DUE = 'deletions:due';

/**
 * The index of tombstones: sorted sets of account ids by the time of their deletion, in milliseconds since 1970. A single Redis has one set
 * of this name. A Cluster has one for each tag of a queue, `{tombstones:<n>}` (`tombstoneKeys`).
 */
export const TOMBSTONES = 'tombstones';

/**
 * The sorted sets of the index. @param tags `queueTags` of the runner; `CLUSTER_QUEUE_TAGS` gives the sets of a single Redis and of a
 * Cluster
 */
export function tombstoneKeys(tags: number): string[] {
  return queueKeys(TOMBSTONES, tags);
}

export interface Tombstone {
  readonly accountId: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export async function indexTombstoneOf({ accountId, at }: Tombstone, scripts: ScriptRunner): Promise<void> {
  const tombstones = queueKeyOf(TOMBSTONES, accountId, scripts.queueTags);
  await scripts.run(indexTombstone, { tombstones }, { accountId, at });
}

/** Tombstones that are applied at a time. */
const AT_ONCE = 100;

/**
 * For a restore: deletes accounts again that the backup has brought back, by the tombstones that the index had before it. When this
 * resolves, the accounts are closed, except for guests in the middle of a move. A running service, or the next one that starts, ends those
 * moves and erases the accounts (`DELETIONS_DUE`). Safe to repeat, and to stop anywhere.
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
