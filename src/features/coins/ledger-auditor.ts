import { missingAccount, standingIn } from '../../accounts/account-auditor.ts';
import { setAside } from '../../consistency/set-aside-keys.ts';
import type { Auditor, Finding, Probe } from '../../consistency/auditor.ts';
import { readSecret, secretFinding, type HashReader } from './secret-check.ts';
import { KEY_SECRET } from './secret-keys.ts';
import { ReplacedSecretCheck } from './replaced-secret-check.ts';
import { checkBucket, checkGuestBucket } from './bucket-check.ts';
import { LedgerCheck, type BoughtCheck, type LedgerCheckOptions } from './ledger-check.ts';
import { ledgerPatterns } from './ledger-layout.ts';
import { coinKeys, type CoinSums } from './model.ts';

/**
 * Checks that the entries of each account's ledger agree with each other and with the ledger's index, and that each bucket of an index
 * belongs to a ledger.
 * @param checkBought compares ledger entries that purchases made with the records of the purchases
 * @param operated as in `LedgerCheckOptions`, like `sums`
 */
export function ledgerAuditor(hashNow: HashReader, checkBought: BoughtCheck, operated: Map<string, string>, sums: CoinSums): Auditor {
  /**
   * The account whose ledger was checked first. Only its check reports a missing or malformed secret, so that the audit reports it once. If
   * there are no ledgers, the secret may be missing.
   */
  let reporter: string | undefined;
  const use = new ReplacedSecretCheck();
  const partsNow = async (probe: Probe): Promise<LedgerCheckOptions> => ({ hash: await hashNow(probe), checkBought, use, operated, sums });
  return {
    keys: [
      {
        pattern: ledgerPatterns.ledger,
        readsKey: true,
        check: async ([id], probe) => {
          const options = await partsNow(probe);
          const findings = [...(await new LedgerCheck(id!, probe, options).run()), ...use.foundEarly];
          if (options.hash !== undefined || (reporter ??= id) !== id) return findings;
          const secret = await readSecret(probe);
          return typeof secret === 'string' ? [...findings, secretFinding(secret)] : findings;
        },
      },
      { pattern: ledgerPatterns.bucket, readsKey: true, check: ([id, bucket], probe) => checkBucket(id!, bucket!, probe) },
      {
        pattern: ledgerPatterns.ofGuest,
        check: async ([id, guest], probe) => checkGuestLedger(id!, guest!, probe, await partsNow(probe)),
      },
      {
        pattern: ledgerPatterns.bucketOfGuest,
        check: ([id, guest, bucket], probe) => checkGuestBucket(id!, guest!, bucket!, probe),
      },
      { pattern: new RegExp(`^${KEY_SECRET}$`), type: 'string', life: 'lasts', check: (_parts, probe) => checkSecret(probe) },
    ],
    last: async () => use.found,
  };
}

async function checkSecret(probe: Probe): Promise<Finding[]> {
  return (await readSecret(probe)) === 'malformed' ? [secretFinding('malformed')] : [];
}

/** Checks that the ledger of a guest belongs to an account into which the guest moved. */
async function checkGuestLedger(id: string, guest: string, probe: Probe, options: LedgerCheckOptions): Promise<readonly Finding[]> {
  const found = (await standingIn(id, probe)).guests.find((standingGuest) => standingGuest.id === guest);
  if (found !== undefined) return new LedgerCheck(id, probe, options, found).run();
  const lost = await missingAccount(id, probe);
  if (lost !== undefined) return [lost];
  const key = coinKeys.guestLedger(id, guest);
  const text = `${key} is the ledger of ${guest}, which is none of its guests.`;
  return [{ kind: 'orphan_ledger', subject: `account ${id}`, text, commands: setAside(key) }];
}
