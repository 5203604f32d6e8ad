import { accountPatterns, standingIn } from '../../accounts/account-auditor.ts';
import { BANS_DUE } from '../../accounts/ban.ts';
import { banAt } from '../../accounts/standing.ts';
import { LATE_MS } from '../../accounts/standing-reader.ts';
import { CLOCKS_DIFFER_MS, type Auditor, type Finding, type Probe } from '../../consistency/auditor.ts';
import { dueAnywhereCommands, dueAtOf, holds, notQueued, queueCheck, type Queued } from '../../consistency/queue-check.ts';
import { timeText } from '../../consistency/time-text.ts';

/**
 * Checks that the queue of bans holds each account whose ban has an end, and no other account. The auditors of holdings check that
 * a ban hides the account's data.
 */
export const banAuditor: Auditor = {
  keys: [queueCheck(BANS_DUE, wrongOf), { pattern: accountPatterns.standing, check: ([id], probe) => checkIsQueued(id!, probe) }],
};

/**
 * Checks that the queue has an entry for an account whose ban has an end. When the ban ends, this entry makes the account's data visible
 * again.
 */
async function checkIsQueued(id: string, probe: Probe): Promise<Finding[]> {
  const { ban, guests, deleted } = await standingIn(id, probe);
  const { until } = ban ?? {};
  if (until === undefined || deleted !== undefined || until < probe.now() + CLOCKS_DIFFER_MS) return [];
  // If an operator banned the account by the id of a guest that had moved into it, the queue has the guest's id.
  const names = [id, ...guests.map((guest) => guest.id)];
  for (const name of names) if (dueAtOf(await probe.together(...dueAnywhereCommands(BANS_DUE, name))) !== undefined) return [];
  if (await holds(BANS_DUE, (member) => names.includes(member), probe)) return [];
  const text = `The account's ban ends at ${timeText(until)}, but the queue ${BANS_DUE} has no entry for it: its scores would stay hidden.`;
  return notQueued({ queue: BANS_DUE, member: id, subject: `account ${id}`, text }, probe);
}

/**
 * Says what is wrong with a member of the queue of bans. A member that is due soon need not be banned, because its ban may be about to
 * begin, or may have just ended. An account that is due later must be banned, because it is due at the end of its ban.
 */
async function wrongOf({ key, entry, member }: Queued, probe: Probe): Promise<string | undefined> {
  const [dueAt, standing] = await Promise.all([probe.ask('ZSCORE', key, entry), standingIn(member, probe)]);
  if (dueAt === null || Number(dueAt) < probe.now() + LATE_MS + CLOCKS_DIFFER_MS) return undefined;
  return banAt(standing, probe.now()) === undefined ? `The queue has an entry for the account ${member}, which is not banned.` : undefined;
}
