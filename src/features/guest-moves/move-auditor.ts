import { accountPatterns, standingIn } from '../../accounts/account-auditor.ts';
import { accountKeyPattern, standingKey } from '../../accounts/account-keys.ts';
import { leadsTo, parseStanding } from '../../accounts/standing.ts';
import { setAside } from '../../consistency/set-aside-keys.ts';
import type { Auditor, Finding, KeyCheck, Probe } from '../../consistency/auditor.ts';
import { holds, notQueued, queueCheck, type Queued } from '../../consistency/queue-check.ts';
import { coinKeys } from '../coins/model.ts';
import { boardKeys } from '../highscores/model.ts';
import { moveKeys } from './model.ts';

/** How far ahead a move in the queue may be due, in milliseconds: 10 s until takeover, and a minute for clocks that differ. */
const LATEST_DUE_MS = 70_000;

/**
 * Checks moves of guests: the queue must have each guest that is moving or that left data behind, and each copy of a guest's ledger must
 * belong to an open move.
 */
export const moveAuditor: Auditor = {
  keys: [
    queueCheck(moveKeys.unfinished, wrongOf),
    { pattern: accountPatterns.standing, check: ([id], probe) => checkIsQueued(id!, probe) },
    { pattern: accountKeyPattern(/move:([^:]+)/), check: ([id, move], probe) => checkRecord(id!, move!, probe) },
    ...[/move:([^:]+):(ledger)/, /move:([^:]+):(index:\d+)/].map((name): KeyCheck => ({
      pattern: accountKeyPattern(name),
      check: ([id, move, part], probe) =>
        checkStaged(id!, move!, `${moveKeys.stagedLedger(id!, move!).slice(0, -'ledger'.length)}${part}`, probe),
    })),
  ],
};

/**
 * Checks that a member of the queue names a move that may still need work: the move is open, or its guest is frozen or has moved. The queue
 * removes any other member at its next check. So a member without such a move is a finding only if its due time is later than that of a
 * move that begins now.
 */
async function wrongOf({ key, entry, member }: Queued, probe: Probe): Promise<string | undefined> {
  const [guest = '', target = '', move = ''] = member.split(' ');
  const [dueAt, record, state] = (await probe.together(
    ['ZSCORE', key, entry],
    ['GET', standingKey(guest)],
    ['GET', moveKeys.record(target, move)],
  )) as (string | null)[];
  if (dueAt === null || leadsTo(parseStanding(record!), target) || state?.startsWith('open ') === true) return undefined;
  if (Number(dueAt) < probe.now() + LATEST_DUE_MS) return undefined;
  return `The queue has an entry for the move of ${guest} into ${target}, but ${guest} did not move there.`;
}

/** Checks that the queue has a guest that is moving, or that has moved and still has scores or a ledger. */
async function checkIsQueued(guest: string, probe: Probe): Promise<Finding[]> {
  const { target, moving } = await standingIn(guest, probe);
  const moveId = moving?.moveId ?? 'moved';
  const into = target ?? moving?.target;
  if (into === undefined) return [];
  if (target !== undefined && (await probe.ask('EXISTS', boardKeys.ofAccount(guest), coinKeys.ledger(guest))) === 0) return [];
  // Any entry of the guest is enough to finish its move, even an entry that names an account which has since merged into another one. The
  // queue is short, because it has only the moves of the last minute.
  if (await holds(moveKeys.unfinished, (member) => member.startsWith(`${guest} `), probe)) return [];
  const what = target === undefined ? 'is moving' : 'moved';
  const rest = target === undefined ? '' : ' and still has scores or a ledger';
  const text = `The account ${what} into ${into}${rest}, but the queue ${moveKeys.unfinished} has no entry for its move.`;
  // For a guest that has moved, the queue finishes the work whatever move id the member names.
  const member = `${guest} ${into} ${moveId}`;
  return notQueued({ queue: moveKeys.unfinished, member, subject: `account ${guest}`, text }, probe);
}

/** Checks the two accounts of a move if the record of the move says that the account accepted it. */
async function checkRecord(id: string, move: string, probe: Probe): Promise<Finding[]> {
  const record = (await probe.ask('GET', moveKeys.record(id, move))) as string | null;
  const [, guest] = /^accepted (\S+) /.exec(record ?? '') ?? [];
  return guest === undefined ? [] : checkAccepted(id, guest, probe);
}

/**
 * Checks that the standing of an accepted guest names the account, and that the account's standing names the guest, unless they are
 * deleted. A tombstone is never removed.
 */
async function checkAccepted(id: string, guest: string, probe: Probe): Promise<Finding[]> {
  const [ofAccount, ofGuest] = (await probe.together(['GET', standingKey(id)], ['GET', standingKey(guest)])) as (string | null)[];
  const [accountStanding, guestStanding] = [parseStanding(ofAccount!), parseStanding(ofGuest!)];
  // The account was merged into another one later, and its guests followed it.
  if (accountStanding.target !== undefined) return checkAccepted(accountStanding.target, guest, probe);
  const isNamed = accountStanding.deleted !== undefined || accountStanding.guests.some((movedGuest) => movedGuest.id === guest);
  const leads = guestStanding.deleted !== undefined || leadsTo(guestStanding, id);
  if (isNamed && leads) return [];
  const what = [...(isNamed ? [] : ['it does not name the guest']), ...(leads ? [] : ['the guest does not lead to it'])].join(', and ');
  const text = `The account accepted the guest ${guest}, but ${what}: a standing, or the tombstone of a deleted account, is lost.`;
  const both = [`account ${id}`, `account ${guest}`];
  return [{ kind: 'half_move', subject: `account ${id}`, text, explainedBy: both }];
}

/**
 * Checks that a copy of a guest's ledger belongs to an open move. When a move ends, its copy becomes part of the account, or is deleted
 * before the guest is thawed.
 */
async function checkStaged(id: string, move: string, key: string, probe: Probe): Promise<Finding[]> {
  const record = (await probe.ask('GET', moveKeys.record(id, move))) as string | null;
  const [state = 'lost', guest] = record?.split(' ') ?? [];
  if (state === 'open') return [];
  const [ofGuest, isThere] = (await probe.together(['GET', standingKey(guest ?? '')], ['EXISTS', key])) as [string | null, number];
  if (parseStanding(ofGuest).moving?.moveId === move || isThere === 0) return [];
  const text = `The account has a copy of a guest's ledger for the move ${move}, which is ${state}.`;
  return [{ kind: 'orphan_staging', subject: `account ${id}`, text, commands: setAside(key) }];
}
