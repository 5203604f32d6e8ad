import { accountKeyPattern } from '../../accounts/account-keys.ts';
import { standingIn } from '../../accounts/account-auditor.ts';
import type { Auditor, Finding, Look } from '../../consistency/auditor.ts';
import { halfSipHash, type KeyHash } from './key-hash.ts';
import { readSecret, secretFinding } from './secret-check.ts';
import { KEY_SECRET } from './secret-keys.ts';
import { checkBucket, checkGuestBucket, LedgerCheck } from './ledger-check.ts';
import { ledgerPatterns } from './ledger-layout.ts';
import { coinKeys } from './model.ts';

/** Checks each account's ledger against itself and its index, and each bucket's account. */
export function ledgerAuditor(): Auditor {
  let hash: Promise<KeyHash | undefined> | undefined;
  /** The one ledger that reports a missing or malformed secret. Without ledgers the secret may be missing. */
  let reporter: string | undefined;
  // The first service to start may make the secret while the audit runs.
  const hashNow = async (look: Look): Promise<KeyHash | undefined> => {
    const known = await (hash ??= readHash(look));
    if (known === undefined) hash = undefined;
    return known;
  };
  return {
    keys: [
      {
        pattern: ledgerPatterns.ledger,
        counted: 'ledgers',
        life: 'lasts',
        check: async ([id], look) => {
          const known = await hashNow(look);
          const findings = await new LedgerCheck(id!, look, known).run();
          if (known !== undefined || (reporter ??= id) !== id) return findings;
          const secret = await readSecret(look);
          return typeof secret === 'string' ? [...findings, secretFinding(secret)] : findings;
        },
      },
      { pattern: ledgerPatterns.bucket, counted: 'buckets', life: 'lasts', check: ([id, bucket], look) => checkBucket(id!, bucket!, look) },
      {
        pattern: ledgerPatterns.ofGuest,
        counted: 'ledgers',
        life: 'lasts',
        check: async ([id, guest], look) => checkGuestLedger(id!, guest!, look, await hashNow(look)),
      },
      {
        pattern: ledgerPatterns.bucketOfGuest,
        counted: 'buckets',
        life: 'lasts',
        check: ([id, guest, bucket], look) => checkGuestBucket(id!, guest!, bucket!, look),
      },
      { pattern: accountKeyPattern(/credited:(\d{4}-\d\d-\d\d)/), check: ([id, day], look) => checkCredited(id!, day!, look) },
      { pattern: new RegExp(`^${KEY_SECRET}$`), life: 'lasts', check: (_parts, look) => checkSecret(look) },
    ],
  };
}

async function readHash(look: Look): Promise<KeyHash | undefined> {
  const secret = await readSecret(look);
  return typeof secret === 'string' ? undefined : halfSipHash(Buffer.from(secret.text, 'hex'));
}

async function checkSecret(look: Look): Promise<Finding[]> {
  return (await readSecret(look)) === 'malformed' ? [secretFinding('malformed')] : [];
}

/** Checks that the ledger of a guest belongs to an account into which the guest moved. */
async function checkGuestLedger(id: string, guest: string, look: Look, hash: KeyHash | undefined): Promise<readonly Finding[]> {
  const found = (await standingIn(id, look)).guests.find((each) => each.id === guest);
  if (found !== undefined) return new LedgerCheck(id, look, hash, found).run();
  const text = `It has the ledger of ${guest}, which is none of its guests.`;
  return [{ kind: 'orphan_ledger', subject: `account ${id}`, text }];
}

/** Checks that the counter of a day's credits is a whole number and expires. */
async function checkCredited(id: string, day: string, look: Look): Promise<Finding[]> {
  const key = coinKeys.creditedOn(id, day);
  const [coins, ttl] = (await look.together(['GET', key], ['PTTL', key])) as [string | null, number];
  if (coins === null || (/^\d+$/.test(coins) && ttl !== -1)) return [];
  const text = ttl === -1 ? `The counter of its credits on ${day} never expires.` : `The counter of its credits on ${day} is "${coins}".`;
  return [{ kind: 'wrong_counter', subject: `account ${id}`, text }];
}
