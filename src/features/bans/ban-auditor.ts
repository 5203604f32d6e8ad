import { standingIn } from '../../accounts/account-auditor.ts';
import { BANS_DUE } from '../../accounts/ban.ts';
import { banAt } from '../../accounts/standing.ts';
import { LATE_MS } from '../../accounts/standing-reader.ts';
import { CLOCKS_DIFFER_MS, type Auditor, type Probe } from '../../consistency/auditor.ts';
import { queueCheck, type Queued } from '../../consistency/queue-check.ts';

/**
 * Checks that the queue of bans holds only accounts with work to do. The auditors of holdings check that a ban hides the account's data.
 */
export const banAuditor: Auditor = { keys: [queueCheck(BANS_DUE, wrongOf)] };

/**
 * Says what is wrong with a member of the queue of bans. An account that is due soon may be there without a ban, because its ban may be
 * about to begin, or may have ended a moment ago. An account that is due later must be banned: it is due at the end of its ban.
 */
async function wrongOf({ key, entry, member }: Queued, probe: Probe): Promise<string | undefined> {
  const [dueAt, standing] = await Promise.all([probe.ask('ZSCORE', key, entry), standingIn(member, probe)]);
  if (dueAt === null || Number(dueAt) < probe.now() + LATE_MS + CLOCKS_DIFFER_MS) return undefined;
  return banAt(standing, probe.now()) === undefined ? `It holds the account ${member}, which is not banned.` : undefined;
}
