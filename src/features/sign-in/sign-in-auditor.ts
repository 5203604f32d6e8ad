import { standingIn } from '../../accounts/account-auditor.ts';
import { accountKeyPattern } from '../../accounts/account-keys.ts';
import { endedSignInKey, signInEntry, signInsKey } from '../../accounts/sign-ins.ts';
import { leadsTo } from '../../accounts/standing.ts';
import type { Auditor, Finding, Probe } from '../../consistency/auditor.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';

/**
 * Checks that each sign-in in an account's list can be read, has not ended, and leads to the account, so that no sign-in opens two
 * accounts.
 */
export const signInAuditor: Auditor = {
  keys: [{ pattern: accountKeyPattern('sign-ins'), check: ([id], probe) => checkSignIns(id!, probe) }],
};

async function checkSignIns(id: string, probe: Probe): Promise<Finding[]> {
  const { deleted, moving } = await standingIn(id, probe);
  // A deletion ends the sign-ins before it deletes their list, and a merge makes the sign-ins lead to the other account before it deletes
  // their list.
  if (deleted !== undefined || moving !== undefined) return [];
  const subject = `account ${id}`;
  const entries = pairsOf((await probe.ask('HGETALL', signInsKey(id))) as string[]);
  const findings: Finding[] = [];
  for (const [signIn, text] of entries) {
    if (signInEntry.parse(text) === undefined)
      findings.push({ kind: 'unreadable_record', subject, text: `The account's sign-in ${signIn} is "${text.slice(0, 40)}".` });
    const [standing, isEnded] = await Promise.all([standingIn(signIn, probe), probe.ask('EXISTS', endedSignInKey(signIn))]);
    const isThere = (await probe.ask('HEXISTS', signInsKey(id), signIn)) === 1;
    if (!isThere) continue;
    if (isEnded === 1) findings.push({ kind: 'ended_sign_in', subject, text: `The account has the sign-in ${signIn}, which has ended.` });
    else if (signIn !== id && !leadsTo(standing, id))
      findings.push({
        kind: 'foreign_sign_in',
        subject,
        text: `The account has the sign-in ${signIn}, but this sign-in does not lead to the account.`,
        explainedBy: [subject, `account ${signIn}`],
      });
  }
  return findings;
}
