import { sessionsKey } from '../../accounts/session-list.ts';
import { signedOutKey } from '../../accounts/account-keys.ts';
import { standingIn } from '../../accounts/account-auditor.ts';
import type { Auditor, Command, Finding, Probe } from '../../consistency/auditor.ts';
import { sessionIdOf } from '../../server/identity/sessions.ts';
import { pairKeys, pairedSessionName } from './model.ts';

/** Checks that pairings expire, and that each pairing gave its session to the account that claimed the pairing. */
export const pairAuditor: Auditor = {
  keys: [{ pattern: /^\{pair:(.*)\}$/, type: 'hash', check: ([token], probe) => checkPairing(token!, probe) }],
};

/** The longest time that Redis keeps a pairing. */
const FORGOTTEN_SECONDS = 13 * 60;

/**
 * How many characters of a pairing's token a finding shows. A finding does not show more, because anybody with the whole token could claim
 * the pairing.
 */
const SHOWN = 6;

async function checkPairing(token: string, probe: Probe): Promise<Finding[]> {
  const key = pairKeys.pair(token);
  const names = ['status', 'claimant', 'winner', 'generation', 'delivered', 'expiresAt', 'forgottenAt'];
  const [fields, ttlMs] = (await probe.together(['HMGET', key, ...names], ['PTTL', key])) as [(string | null)[], number];
  if (ttlMs === -2) return [];
  const [status, claimant, winner, generation, delivered, expiresAt, forgottenAt] = fields.map((text) => text ?? '');
  const problems: string[] = [];
  if (ttlMs === -1) problems.push('The pairing never expires.');
  if (!STATUSES.has(status!) || !isTime(expiresAt!) || !isTime(forgottenAt!))
    problems.push("The pairing's status or one of its times cannot be read.");
  if (status === 'claimed' && claimant === '') problems.push('The pairing is claimed, but has no claimant.');
  if (claimant !== '' && !CLAIMED.has(status!)) problems.push(`The pairing is ${status}, but has the claimant ${claimant}.`);
  // Pairings that were claimed by an older version of the service have no field `winner`.
  if (winner !== '' && winner !== claimant)
    problems.push(`The pairing was claimed by ${winner}, but its claimant is ${claimant || 'nobody'}.`);
  else if (delivered === '1' && !(await hasSession(claimant!, sessionIdOf(generation!, pairedSessionName(token)), generation!, probe)))
    problems.push(`The pairing gave the browser a session of ${claimant}, but that account's list of sessions does not have this session.`);
  if (problems.length === 0) return [];
  const commands: Command[] = ttlMs === -1 ? [['EXPIRE', key, FORGOTTEN_SECONDS]] : [];
  return [{ kind: 'wrong_pairing', subject: `pairing ${token.slice(0, SHOWN)}…`, text: problems.join(' '), commands }];
}

/**
 * The statuses that the field `status` of a pairing may have. A script writes `expired` only if the guest that claimed the pairing has
 * moved. If nobody claims a pairing in time, the field keeps `pending` or `scanned`, and clients get `expired`.
 */
const STATUSES = new Set(['pending', 'scanned', 'claimed', 'denied', 'expired']);

/** The statuses of a pairing that has a claimant. `expired`: the claimant was a guest that has moved. */
const CLAIMED = new Set(['claimed', 'expired']);

const isTime = (text: string): boolean => /^\d{1,15}$/.test(text);

/**
 * Whether the account's list of sessions has the session, or rightly lacks it because the session ended, or because the account moved or
 * was deleted.
 */
async function hasSession(accountId: string, id: string, generation: string, probe: Probe): Promise<boolean> {
  const [isListed, hasEnded] = await probe.together(['HEXISTS', sessionsKey(accountId), id], ['EXISTS', signedOutKey(accountId, id)]);
  if (isListed === 1 || hasEnded === 1) return true;
  const standing = await standingIn(accountId, probe);
  const { deleted, target, moving } = standing;
  return (deleted ?? target ?? moving) !== undefined || String(standing.generation) !== generation;
}
