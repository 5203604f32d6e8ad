import { CLOCKS_DIFFER_MS, type Auditor, type Command, type Finding, type Probe } from '../../../consistency/auditor.ts';
import { checkWithDue, notQueued, queueCheck, type Queued } from '../../../consistency/queue-check.ts';
import { entryOf } from '../../../redis/queue.ts';
import { forgottenAfterMs, UNACKNOWLEDGED_MS } from '../core/check-schedule.ts';
import { pairsOf } from '../../../redis/reply-pairs.ts';
import { damagedFields, subscriptionTexts } from '../core/record-texts.ts';
import { FIRST_STORE } from '../../../stores/stores.ts';
import { subscriptionKeys } from './model.ts';
import { lostPurchase } from './purchase-line-auditor.ts';

/**
 * Checks the two queues of purchases to check. Each entry must have a purchase. If a purchase may change, has no owner, or has steps left
 * in its `todo`, it must be in its queue.
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
  // A change that is under way has its own entry in the queue (`act`). When the change ends, the purchase may leave the queue.
  if (dueAt === null || ahead !== null || todo !== null || (token !== null && retiredBy === null)) return undefined;
  // A queue has an entry before its purchase is recorded. The next check removes the entry of a purchase that was not recorded, or was
  // replaced.
  if (Number(dueAt) < probe.now() + UNACKNOWLEDGED_MS + CLOCKS_DIFFER_MS) return undefined;
  return token === null ? lostPurchase(hash) : `The queue has an entry for the purchase ${hash}, which another purchase replaced.`;
}

async function wrongOfUnowned({ key, entry, member: hash }: Queued, probe: Probe): Promise<string | undefined> {
  const [dueAt, token] = await probe.together(['ZSCORE', key, entry], ['HGET', subscriptionKeys.purchase(hash), 'token']);
  // A queue has an entry before its purchase is recorded. Once the purchase has an owner, the next check removes the entry.
  if (dueAt === null || token !== null || Number(dueAt) < probe.now() + UNACKNOWLEDGED_MS + CLOCKS_DIFFER_MS) return undefined;
  return `The queue has an entry for the purchase ${hash}, which does not exist.`;
}

async function checkPurchase(hash: string, probe: Probe): Promise<Finding[]> {
  const record = new Map(pairsOf((await probe.ask('HGETALL', subscriptionKeys.purchase(hash))) as string[]));
  const damaged = damagedFields(record, subscriptionTexts);
  if (damaged.length === 0) return checkQueued(hash, probe);
  const text = `Fields of the purchase's record cannot be read: ${damaged.join(', ')}.`;
  return [{ kind: 'unreadable_record', subject: `purchase ${hash}`, text }];
}

function checkQueued(hash: string, probe: Probe): Promise<Finding[]> {
  const { purchase, due, unowned } = subscriptionKeys;
  const of = { member: hash, document: purchase(hash), queueOf: (owner: string | null) => (owner === null ? unowned : due) };
  const read: Command = ['HMGET', of.document, 'token', 'owner', 'retiredBy', 'state', 'expiresAt', 'todo', 'store'];
  return checkWithDue(of, [read], probe, async ([facts], isDue, queue) => {
    const [token, owner, retiredBy, state, expiresAt, todo, store] = facts as (string | null)[];
    if ((token === null && owner === null) || isDue) return [];
    // After the queue was read, an account has become the owner of the purchase, so the purchase belongs to another queue now.
    if (of.queueOf(owner!) !== queue) return [];
    const find = (text: string): Promise<Finding[]> => notQueued({ queue, member: hash, subject: `purchase ${hash}`, text }, probe);
    if (owner === null)
      return find(`No account owns it, but the queue ${queue} has no entry for it, so no service searches for its owner.`);
    if (todo !== null) return find(`A change of it has steps left (${todo}), but the queue ${queue} has no entry for it.`);
    // `retire-purchase.lua` also writes records of purchases that no account recorded. Such a record has an owner and no state.
    const ends = expiresAt === '-' || expiresAt == null ? Infinity : Number(expiresAt);
    const forgottenAt = ends + forgottenAfterMs(store ?? FIRST_STORE);
    if (retiredBy !== null || !mayChange(state!, ends, forgottenAt, probe.now() + CLOCKS_DIFFER_MS)) return [];
    return find(`The purchase's state is ${state}, but the queue ${queue} has no entry for it, so it is never checked again.`);
  });
}

/**
 * Whether `nextCheckAt` and `checkPurchase` always schedule another check.
 * @param forgottenAt when the store no longer knows the purchase
 */
function mayChange(state: string, expiresAt: number, forgottenAt: number, now: number): boolean {
  return state !== 'expired' && !(state === 'canceled' && expiresAt <= now) && forgottenAt > now;
}
