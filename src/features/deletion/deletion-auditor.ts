import { accountPatterns, standingIn } from '../../accounts/account-auditor.ts';
import { keyOfAccount } from '../../accounts/account-keys.ts';
import { keyNames, type Holding } from '../../accounts/holdings.ts';
import { LATE_MS } from '../../accounts/standing-reader.ts';
import { DELETIONS_DUE, TOMBSTONES } from '../../accounts/tombstones.ts';
import { CLOCKS_DIFFER_MS, type Auditor, type Command, type Finding, type Probe } from '../../consistency/auditor.ts';
import { asideOf, expiring } from '../../consistency/set-aside-keys.ts';
import { pages } from '../../consistency/scan-pages.ts';
import { holds, notQueued, queueCheck, type Queued } from '../../consistency/queue-check.ts';
import { timeText } from '../../consistency/time-text.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { queueKeyOf, queueKeys } from '../../redis/queue.ts';
import { CLUSTER_QUEUE_TAGS } from '../../redis/slots.ts';

/** Checks that no data of a deleted account is left, and that the index of tombstones has all deleted accounts and no others. */
export function deletionAuditor(holdings: readonly Holding[]): Auditor {
  return {
    keys: [
      { pattern: accountPatterns.standing, check: ([id], probe) => checkTombstone(id!, holdings, probe) },
      {
        pattern: new RegExp(`^(${TOMBSTONES}|\\{${TOMBSTONES}:\\d+\\})$`),
        type: 'zset',
        life: 'lasts',
        check: ([key], probe) => checkIndex(key!, probe),
      },
      queueCheck(DELETIONS_DUE, wrongOf),
    ],
  };
}

async function checkTombstone(id: string, holdings: readonly Holding[], probe: Probe): Promise<Finding[]> {
  const { deleted } = await standingIn(id, probe);
  if (deleted === undefined) return [];
  const subject = `account ${id}`;
  if (!deleted.isClosed) {
    const isQueued = await holds(DELETIONS_DUE, (member) => member.split(' ')[0] === id, probe);
    if (isQueued || (await standingIn(id, probe)).deleted?.isClosed === true) return [];
    // Before this time nothing is wrong: the deleted account may be a guest, which is erased with the account that it moved into. The queue
    // then has an entry for that account instead.
    const dueMs = deleted.at + LATE_MS + CLOCKS_DIFFER_MS;
    if (probe.now() < dueMs) return [];
    const text = `The account was deleted but is not erased yet, and ${DELETIONS_DUE} has no entry that would erase it.`;
    return notQueued({ queue: DELETIONS_DUE, member: id, subject, text }, probe);
  }
  const kept = keyNames(holdings, probe.now(), ({ whenDeleted }) => whenDeleted !== 'stays').map((name) => keyOfAccount(id, name));
  const isThere = (await probe.together(...kept.map((key) => ['EXISTS', key] as const))) as number[];
  const left = kept.filter((_, place) => isThere[place] === 1);
  const scores = await Promise.all([TOMBSTONES, queueKeyOf(TOMBSTONES, id, CLUSTER_QUEUE_TAGS)].map((key) => probe.ask('ZSCORE', key, id)));
  const isListed = scores.some((score) => score !== null);
  if (left.length > 0) {
    // The command deletes the data only if the account and the index of tombstones both record the deletion.
    const text = `The account was deleted${isListed ? '' : `, although ${TOMBSTONES} does not have it`}, but it still has ${left.join(', ')}.`;
    return [{ kind: 'deleted_account_left', subject, text, commands: isListed ? [['DEL', ...left]] : [] }];
  }
  if (isListed) return [];
  const areLost =
    (await probe.ask('EXISTS', ...queueKeys(TOMBSTONES, 1))) === 0 &&
    (await probe.ask('EXISTS', queueKeyOf(TOMBSTONES, id, CLUSTER_QUEUE_TAGS))) === 0;
  const commands: Command[] = [['ZADD', TOMBSTONES, deleted.at, id]];
  const text = 'The index lacks accounts that were deleted: a restore would bring them back.';
  if (areLost) return [{ kind: 'tombstone_without_index', subject: `key ${TOMBSTONES}`, text, commands }];
  return [
    {
      kind: 'tombstone_without_index',
      subject,
      text: `The account was deleted, but ${TOMBSTONES} does not have it: a restore would bring it back.`,
      commands,
    },
  ];
}

/**
 * Checks that each account of the index of tombstones is deleted. If an account of the index is not deleted, a restored backup has brought
 * it back, and its tombstone was not applied again.
 */
async function checkIndex(key: string, probe: Probe): Promise<Finding[]> {
  const findings: Finding[] = [];
  for await (const page of pages(probe, 'ZSCAN', key)) {
    const ids = pairsOf(page).map(([id]) => id);
    probe.count('tombstones', ids.length);
    const standings = await Promise.all(ids.map((id) => standingIn(id, probe)));
    for (const [place, { deleted }] of standings.entries())
      if (deleted === undefined && findings.length < LISTED)
        findings.push({ kind: 'index_without_tombstone', subject: `account ${ids[place]}`, text: `${key} has it, but it is not deleted.` });
  }
  return findings;
}

/** The most findings that the audit lists for one sorted set of the index. */
const LISTED = 100;

/**
 * Says what is wrong with an entry of the queue of deletions. A deletion first writes an entry with the name of its change, then marks the
 * account as deleted, and then writes an entry that is only the member. The service removes the entry once the account is erased, or if the
 * account was not deleted.
 */
async function wrongOf({ key, entry, member }: Queued, probe: Probe): Promise<string | Finding | undefined> {
  const [id = '', at] = member.split(' ');
  const [dueAt, { deleted }] = await Promise.all([probe.ask('ZSCORE', key, entry), standingIn(id, probe)]);
  if (dueAt === null || deleted?.isClosed === false) return undefined;
  const isSoon = Number(dueAt) < probe.now() + LATE_MS + CLOCKS_DIFFER_MS;
  // A restore writes members that contain the time of a deletion. These members are due at once.
  if (isSoon && (deleted !== undefined || entry !== member || at !== undefined)) return undefined;
  if (deleted === undefined && at !== undefined) return doomed(id, { key, entry, member }, Number(dueAt));
  return `The queue holds the account ${id}, which ${deleted === undefined ? 'was not deleted' : 'is erased'}.`;
}

/**
 * The finding about a member that contains the time of a deletion, but that a restore cannot have written. The service would delete the
 * account when the member is due.
 */
function doomed(id: string, { key, entry }: Queued, dueAt: number): Finding {
  const text = `The queue ${key} holds "${entry}", which deletes the account at ${timeText(dueAt)}.`;
  const commands: Command[] = [['ZADD', asideOf(key), dueAt, entry], expiring(key), ['ZREM', key, entry]];
  return { kind: 'doomed_account', subject: `account ${id}`, text, commands };
}
