import type { Auditor, Command, Finding, Probe } from '../consistency/auditor.ts';
import { accountKey, accountKeyPattern, standingKey } from './account-keys.ts';
import type { Holding } from './holdings.ts';
import { leadsTo, parseStanding, type Standing } from './standing.ts';
import { MOST_SESSIONS, sessionsKey } from './session-list.ts';

/** Patterns of an account's Redis keys that `accountAuditor` checks. The first group of each pattern is the account's id. */
export const accountPatterns = {
  account: accountKeyPattern('account'),
  standing: accountKeyPattern('moves'),
  sessions: accountKeyPattern('sessions'),
};

/**
 * Checks that both accounts of a move name each other, that a moved guest has no fields left, that the times in the fields of accounts can
 * be read, and that no list of sessions is too long. `deletionAuditor` checks the tombstones.
 */
export function accountAuditor(holdings: readonly Holding[]): Auditor {
  // Fields with such names are times, in milliseconds since 1970. `events` is a count.
  const names = holdings.flatMap(({ fields = [] }) => fields.flatMap((group) => group.names));
  const numbers = names.filter((name) => name.endsWith('At') || name === 'events');
  return {
    keys: [
      {
        pattern: accountPatterns.account,
        readsKey: true,
        // A move writes '' for a time that neither the guest nor the account has.
        texts: { what: 'fields', isRight: (text) => /^\d{0,15}$/.test(text), fields: numbers },
      },
      { pattern: accountPatterns.standing, readsKey: true, check: ([id], probe) => checkStanding(id!, probe) },
      { pattern: accountPatterns.sessions, readsKey: true, check: ([id], probe) => checkSessions(id!, probe) },
    ],
  };
}

export async function standingIn(id: string, probe: Probe): Promise<Standing> {
  return parseStanding((await probe.ask('GET', standingKey(id))) as string | null);
}

/**
 * Reports an account that has keys, but no record of its standing (open, moved, banned, deleted). The finding is the same wherever the
 * account is named, so that the audit reports each loss once.
 * @returns undefined if the account has a record of its standing
 */
export async function missingAccount(id: string, probe: Probe): Promise<Finding | undefined> {
  const [isThere, standing] = await probe.together(['EXISTS', accountKey(id)], ['GET', standingKey(id)]);
  if (standing !== null && standing !== '') return undefined;
  return isThere === 0
    ? lostAccount(id)
    : {
        ...lostAccount(id),
        kind: 'lost_standing',
        text: 'The account has fields, but its standing is lost, although guests moved into it.',
      };
}

/** @param target the account that lists the lost account among the guests that moved into it */
export function lostAccount(id: string, target?: string): Finding {
  const text = 'Other keys name the account, but its fields and its standing are lost.';
  // The lost record of a moved guest had only the id of the account that the guest moved into, so it can be written again.
  const commands: Command[] = target === undefined ? [] : [['SET', standingKey(id), `>${target}`]];
  return { kind: 'lost_account', subject: `account ${id}`, text, commands };
}

async function checkStanding(id: string, probe: Probe): Promise<Finding[]> {
  const [text, isThere] = (await probe.together(['GET', standingKey(id)], ['EXISTS', accountKey(id)])) as [string | null, number];
  if (text === null) return [];
  const subject = `account ${id}`;
  const { target, guests, unreadable, deleted } = parseStanding(text);
  const findings: Finding[] = [];
  if (unreadable > 0)
    findings.push({ kind: 'unreadable_record', subject, text: `The account's standing has ${unreadable} unreadable lines.` });
  // While a deleted account is being erased, its guests become deleted accounts one after the other, and no longer name the account.
  if (deleted !== undefined) return findings;
  if (target === undefined) {
    const others = (await probe.together(...guests.map((guest) => ['GET', standingKey(guest.id)] as const))) as (string | null)[];
    for (const [index, guestStanding] of others.entries()) {
      // A guest that the account has just accepted is still frozen, which is no drift. `moveAuditor` checks that the queue of moves has the
      // guest.
      if (leadsTo(parseStanding(guestStanding), id)) continue;
      const guest = guests[index]!.id;
      if ((guestStanding ?? '') === '' && (await probe.ask('EXISTS', accountKey(guest))) === 0) {
        findings.push(lostAccount(guest, id));
        continue;
      }
      const says = (guestStanding ?? '') === '' ? 'has no standing' : `has the standing "${guestStanding!.slice(0, 40)}"`;
      findings.push({ kind: 'half_move', subject, text: `The account's standing names the guest ${guests[index]!.id}, which ${says}.` });
    }
    return findings;
  }
  const [record, isStill] = (await probe.together(['GET', standingKey(target)], ['GET', standingKey(id)])) as [
    string | null,
    string | null,
  ];
  const lost = isStill === text && (record ?? '') === '' ? await missingAccount(target, probe) : undefined;
  if (lost !== undefined) return [...findings, lost];
  if (isStill === text && record?.includes(`${id} `) !== true)
    findings.push({
      kind: 'half_move',
      subject,
      text: `The account moved into ${target}, whose standing does not name it.`,
      explainedBy: [subject, `account ${target}`],
    });
  if (isThere === 1)
    findings.push({ kind: 'half_move', subject, text: `The account moved into ${target}, but still has the fields of an account.` });
  return findings;
}

async function checkSessions(id: string, probe: Probe): Promise<Finding[]> {
  const count = (await probe.ask('HLEN', sessionsKey(id))) as number;
  if (count <= MOST_SESSIONS) return [];
  const text = `The account's list of sessions has ${count} entries, but may have ${MOST_SESSIONS} at most.`;
  return [{ kind: 'too_many_sessions', subject: `account ${id}`, text }];
}
