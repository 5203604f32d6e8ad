import { CLOCKS_DIFFER_MS, type Auditor, type Finding, type Probe } from '../../../consistency/auditor.ts';
import { dueAnywhereCommands, dueAtOf, dueCommands, notQueued, queueCheck, type Queued } from '../../../consistency/queue-check.ts';
import { entryOf } from '../../../redis/queue.ts';
import { FORGOTTEN_AFTER_MS, UNACKNOWLEDGED_MS } from './check-schedule.ts';
import { subscriptionKeys } from './model.ts';
import { lostPurchase } from './purchase-line-auditor.ts';

/**
 * Checks the queues of purchases to check: each entry has a purchase, and each purchase that may change, has no owner, or has steps left in
 * its `todo` is in its queue.
 */
export const purchaseAuditor: Auditor = {
  keys: [
    queueCheck(subscriptionKeys.due, wrongOf),
    queueCheck(subscriptionKeys.unowned, wrongOfUnowned),
    {
      pattern: /^\{purchase:(.*)\}$/,
      counted: 'purchases',
      type: 'hash',
      life: 'lasts',
      readsKey: true,
      check: ([hash], probe) => checkPurchase(hash!, probe),
    },
  ],
};

async function wrongOf({ key, entry, member: hash }: Queued, probe: Probe): Promise<string | Finding | undefined> {
  const { purchase } = subscriptionKeys;
  const act = (await probe.ask('HGET', purchase(hash), 'act')) as string | null;
  const [dueAt, ahead, facts] = await probe.together(
    ['ZSCORE', key, entry],
    ['ZSCORE', key, entryOf(hash, act ?? '')],
    ['HMGET', purchase(hash), 'token', 'retiredBy', 'todo'],
  );
  const [token, retiredBy, todo] = facts as (string | null)[];
  // An act that is under way has its own entry in the queue. When the act ends, the purchase may leave the queue.
  if (dueAt === null || ahead !== null || todo !== null || (token !== null && retiredBy === null)) return undefined;
  // A queue has an entry before its purchase is recorded. The next check removes the entry of a purchase that was not recorded, or was
  // replaced.
  if (Number(dueAt) < probe.now() + UNACKNOWLEDGED_MS + CLOCKS_DIFFER_MS) return undefined;
  return token === null ? lostPurchase(hash) : `It holds the purchase ${hash}, which was replaced by another.`;
}

async function wrongOfUnowned({ key, entry, member: hash }: Queued, probe: Probe): Promise<string | undefined> {
  const [dueAt, token] = await probe.together(['ZSCORE', key, entry], ['HGET', subscriptionKeys.purchase(hash), 'token']);
  // A queue has an entry before its purchase is recorded. Once the purchase has an owner, the next check removes the entry.
  if (dueAt === null || token !== null || Number(dueAt) < probe.now() + UNACKNOWLEDGED_MS + CLOCKS_DIFFER_MS) return undefined;
  return `It holds the purchase ${hash}, which does not exist.`;
}

async function checkPurchase(hash: string, probe: Probe): Promise<Finding[]> {
  const found = await findingsOf(hash, probe, dueCommands);
  return found.length === 0 ? found : findingsOf(hash, probe, dueAnywhereCommands);
}

async function findingsOf(hash: string, probe: Probe, whenDue: typeof dueCommands): Promise<Finding[]> {
  const { purchase } = subscriptionKeys;
  const [act = null, ownerSeen = null] = (await probe.ask('HMGET', purchase(hash), 'act', 'owner')) as (string | null)[];
  const due = ownerSeen === null ? subscriptionKeys.unowned : subscriptionKeys.due;
  const [facts, ...times] = await probe.together(
    ['HMGET', purchase(hash), 'token', 'owner', 'retiredBy', 'state', 'expiresAt', 'todo'],
    ...whenDue(due, hash, act === null ? [] : [act]),
  );
  const [token, owner, retiredBy, state, expiresAt, todo] = facts as (string | null)[];
  const subject = `purchase ${hash}`;
  if ((token === null && owner === null) || dueAtOf(times) !== undefined) return [];
  // Between the two reads, an account became the owner of the purchase.
  if ((owner === null) !== (ownerSeen === null)) return [];
  const find = (text: string): Promise<Finding[]> => notQueued({ queue: due, member: hash, subject, text }, probe);
  if (owner === null) return find(`No account owns it, but the queue ${due} has no entry for it, so no service searches for its owner.`);
  if (todo !== null) return find(`A change of it has steps left (${todo}), but the queue ${due} has no entry for it.`);
  // `retire` also marks purchases that were never recorded. Such a purchase has an owner and no state.
  const ends = expiresAt === '-' || expiresAt === null ? Infinity : Number(expiresAt);
  if (retiredBy !== null || !mayChange(state!, ends, probe.now() + CLOCKS_DIFFER_MS)) return [];
  return find(`Its state is ${state}, but the queue ${due} has no entry for it, so it is never checked again.`);
}

/** Whether `nextCheckAt` and `checkPurchase` always schedule another check. */
function mayChange(state: string, expiresAt: number, now: number): boolean {
  if (state === 'expired' || (state === 'canceled' && expiresAt <= now)) return false;
  return expiresAt === Infinity || expiresAt + FORGOTTEN_AFTER_MS > now;
}
