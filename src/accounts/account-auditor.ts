import type { Auditor, Finding, Look } from '../consistency/auditor.ts';
import { pairsOf } from '../redis/pairs.ts';
import { accountKey, accountKeyPattern, standingKey } from './account-keys.ts';
import { leadsTo, parseStanding, type Standing } from './standing.ts';
import { MOST_SESSIONS, parseSession, sessionsKey } from './session-list.ts';

/** The keys of an account. The first group is the account's id. */
export const accountPatterns = {
  account: accountKeyPattern('account'),
  standing: accountKeyPattern('moves'),
  sessions: accountKeyPattern('sessions'),
};

/**
 * Checks that both sides of a move name each other, that a moved guest has no fields left, and that the lists of sessions can be read.
 * `deletionAuditor` checks the tombstones.
 */
export const accountAuditor: Auditor = {
  keys: [
    { pattern: accountPatterns.account, counted: 'accounts', life: 'lasts' },
    { pattern: accountPatterns.standing, life: 'lasts', check: ([id], look) => checkStanding(id!, look) },
    { pattern: accountPatterns.sessions, life: 'ends', check: ([id], look) => checkSessions(id!, look) },
  ],
};

export async function standingIn(id: string, look: Look): Promise<Standing> {
  return parseStanding((await look.ask('GET', standingKey(id))) as string | null);
}

async function checkStanding(id: string, look: Look): Promise<Finding[]> {
  const [text, isThere] = (await look.together(['GET', standingKey(id)], ['EXISTS', accountKey(id)])) as [string | null, number];
  if (text === null) return [];
  const subject = `account ${id}`;
  const { target, guests, unreadable, deleted } = parseStanding(text);
  const findings: Finding[] = [];
  if (unreadable > 0) findings.push({ kind: 'unreadable_record', subject, text: `Its standing has ${unreadable} unreadable lines.` });
  // While an account is being erased, its guests become tombstones one by one.
  if (deleted !== undefined) return findings;
  if (target === undefined) {
    const others = (await look.together(...guests.map((guest) => ['GET', standingKey(guest.id)] as const))) as (string | null)[];
    for (const [index, other] of others.entries()) {
      // A guest that has just been accepted is still frozen. The queue of moves has to hold it (`moveAuditor`).
      if (leadsTo(parseStanding(other), id)) continue;
      const says = other === null ? 'has no standing' : `has the standing "${other.slice(0, 40)}"`;
      findings.push({ kind: 'half_move', subject, text: `Its standing names the guest ${guests[index]!.id}, which ${says}.` });
    }
    return findings;
  }
  const [record, isStill] = (await look.together(['GET', standingKey(target)], ['GET', standingKey(id)])) as [string | null, string | null];
  if (isStill === text && record?.includes(`${id} `) !== true)
    findings.push({ kind: 'half_move', subject, text: `It moved into ${target}, whose standing does not name it.` });
  if (isThere === 1)
    findings.push({ kind: 'half_move', subject, text: `It moved into ${target}, but still has the fields of an account.` });
  return findings;
}

/** The list does not decide what a session may do. But an unreadable entry hides a session from its owner. */
async function checkSessions(id: string, look: Look): Promise<Finding[]> {
  const subject = `account ${id}`;
  // A list that another client wrote may be large.
  const count = (await look.ask('HLEN', sessionsKey(id))) as number;
  if (count > MOST_SESSIONS)
    return [{ kind: 'too_many_sessions', subject, text: `Its list of sessions has ${count}, and not ${MOST_SESSIONS} at most.` }];
  const sessions = pairsOf((await look.ask('HGETALL', sessionsKey(id))) as string[]);
  const unreadable = sessions.filter(([session, text]) => parseSession(session, text) === undefined).length;
  return unreadable === 0
    ? []
    : [{ kind: 'unreadable_record', subject, text: `Its list of sessions has ${unreadable} unreadable entries.` }];
}
