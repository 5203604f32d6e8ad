import type { Redis } from 'ioredis';
import { pino } from 'pino';
import type { Auditor, Finding } from '../../consistency/auditor.ts';
import { readRedis } from '../../consistency/audit-connection.ts';
import { newCounts, type AuditCounts } from '../../consistency/counts.ts';
import { Progress } from '../../consistency/progress.ts';
import { runAudit } from '../../consistency/run.ts';
import { allAuditors } from '../../auditors.ts';
import { KeySecret } from '../../features/coins/key-secret.ts';
import { ledgerPatterns } from '../../features/coins/ledger-layout.ts';
import { coinKeys, ledgerEntry } from '../../features/coins/model.ts';
import { Failure } from '../../process/command.ts';
import { DATA_VERSION, readDataVersion } from '../../redis/data/data-version.ts';
import { upgrades } from '../../upgrades.ts';
import { countTombstones } from './known-deletions.ts';

/** The most findings that an error message lists. `npm run audit` lists all. */
const MOST_LISTED = 5;

/** Facts about a copy of the data, known once all of it was read. */
export interface CheckedData {
  readonly counts: AuditCounts;
  /** The first findings of the audit, up to MOST_LISTED. */
  readonly findings: readonly Finding[];
  /** The sum of all accounts' balances. */
  readonly coins: bigint;
  readonly tombstones: number;
}

/**
 * Upgrades the data in the command's own Redis to the version of this coinop, as the service does at its start.
 * @returns the version before, or undefined if there was nothing to upgrade
 * @throws Failure for data that this coinop cannot upgrade
 */
export async function upgradeCopy(redis: Redis): Promise<string | undefined> {
  const before = await readDataVersion(redis);
  if (before === String(DATA_VERSION) || (before === null && (await redis.dbsize()) === 0)) return undefined;
  const problems: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void problems.push(line) });
  const secret = new KeySecret(redis, log, { upgrades });
  await secret.read();
  secret.close();
  if (!secret.isKnown) {
    const reason = problems.map((line) => (JSON.parse(line) as { reason?: string }).reason ?? '').at(-1);
    throw new Failure(`The data cannot be upgraded: ${(reason ?? 'the reason is not known').replace(/\.$/, '')}.`);
  }
  return before ?? undefined;
}

/** Audits all data of a Redis that no other process uses. */
export async function checkData(redis: Redis, signal: AbortSignal): Promise<CheckedData> {
  const [counts, findings] = [newCounts(), [] as Finding[]];
  const balances = new Balances();
  const connection = readRedis(redis, 1);
  const progress = new Progress(counts);
  const stopped = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  try {
    await Promise.race([connection.opened(), stopped]);
    const found = (finding: Finding): void => void (findings.length < MOST_LISTED && findings.push(finding));
    const auditors = [...allAuditors(), balances.auditor];
    await Promise.race([runAudit({ auditors, reader: connection.reader, counts, found, signal }), stopped]);
  } finally {
    progress.close();
    connection.disconnect();
  }
  return { counts, findings, coins: balances.sum, tombstones: await countTombstones(redis) };
}

/** Adds up the balances of all accounts. */
class Balances {
  sum = 0n;

  readonly auditor: Auditor = {
    keys: [
      {
        pattern: ledgerPatterns.ledger,
        check: async ([id], probe) => {
          const last = (await probe.ask('LINDEX', coinKeys.ledger(id!), -1)) as string | null;
          this.sum += BigInt(ledgerEntry.parse(last ?? '')?.balance ?? 0);
          return undefined;
        },
      },
    ],
  };
}

/** The text of the findings for the operator: `Drift: 7 findings, the first of them:`, followed by a line for each. */
export function driftText({ counts, findings }: CheckedData): string {
  const listed = findings.map(({ subject, text, kind }) => `    ${subject}: ${text} (${kind})`);
  return [`Drift: ${counts.drift} ${counts.drift === 1 ? 'finding' : 'findings'}, the first of them:`, ...listed].join('\n');
}
