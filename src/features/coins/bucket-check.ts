import { lostAccount, missingAccount, standingIn } from '../../accounts/account-auditor.ts';
import { accountKey, standingKey } from '../../accounts/account-keys.ts';
import { setAside } from '../../consistency/set-aside-keys.ts';
import type { Finding, Probe } from '../../consistency/auditor.ts';
import { bucketCount, bucketName, ledgerKeys } from './ledger-layout.ts';
import { coinKeys, ledgerEntry } from './model.ts';

/** The number of a bucket in its Redis key, without leading zeros. */
const BUCKET_NUMBER = /^(0|[1-9]\d{0,9})$/;

/** Whether a ledger whose last entry has this seq is long enough to have this bucket of its index. */
function isOfLedger(bucket: string, lastSeq: number): boolean {
  return BUCKET_NUMBER.test(bucket) && Number(bucket) < bucketCount(lastSeq);
}

/**
 * Checks that a bucket belongs to an existing ledger, and that the ledger is long enough to have the bucket. `IndexCheck` checks what the
 * bucket contains.
 */
export async function checkBucket(id: string, bucket: string, probe: Probe): Promise<Finding[]> {
  const key = ledgerKeys.bucket(id, bucket);
  const ofLedger = (await probe.ask('LINDEX', coinKeys.ledger(id), -1)) as string | null;
  const newest = ledgerEntry.parse(ofLedger ?? '');
  // For nearly all buckets the check ends here, after one command.
  if (newest !== undefined && isOfLedger(bucket, newest.seq)) return [];
  const [last, fields] = (await probe.together(['LINDEX', coinKeys.ledger(id), -1], ['HLEN', key])) as [string | null, number];
  if (fields === 0) return [];
  const subject = `account ${id}`;
  if (last === null) {
    const { deleted, target } = await standingIn(id, probe);
    // A deletion or a move is deleting the bucket.
    if (deleted !== undefined || target !== undefined) return [];
    // An account that has neither fields nor a standing (the record of moves, bans and deletions) is lost as a whole.
    if ((await probe.ask('EXISTS', accountKey(id), standingKey(id))) === 0) return [lostAccount(id)];
    const text = "The account's ledger is lost, and its balance with it. Only the index of its entries is left.";
    return [{ kind: 'lost_ledger', subject, text }];
  }
  const entry = ledgerEntry.parse(last);
  if (entry === undefined || isOfLedger(bucket, entry.seq)) return [];
  const text = `Bucket ${key} belongs to no entries: a ledger of ${entry.seq} entries has ${bucketCount(entry.seq)} buckets.`;
  return [{ kind: 'orphan_bucket', subject, text, commands: setAside(key), explainedBy: [subject] }];
}

/**
 * Checks that a bucket of a guest's ledger belongs to a guest that moved into the account, and that the guest's ledger has the bucket. A
 * guest's small ledger that is filed with the account (`file_guest` of ledger.lua) has no index, and so no bucket.
 */
export async function checkGuestBucket(id: string, guest: string, bucket: string, probe: Probe): Promise<Finding[]> {
  const found = (await standingIn(id, probe)).guests.find((standingGuest) => standingGuest.id === guest);
  if (found?.isFiled === false && isOfLedger(bucket, found.lastSeq)) return [];
  const lost = found === undefined ? await missingAccount(id, probe) : undefined;
  if (lost !== undefined) return [lost];
  const why = found === undefined ? 'is none of its guests' : found.isFiled ? 'is filed' : `has ${bucketCount(found.lastSeq)} buckets`;
  const key = bucketName(coinKeys.guestLedger(id, guest), bucket);
  const subject = `account ${id}`;
  const text = `Bucket ${key} belongs to no ledger: ${guest} ${why}.`;
  return [{ kind: 'orphan_bucket', subject, text, commands: setAside(key), explainedBy: [subject] }];
}
