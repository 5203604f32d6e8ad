import type { Auditor, Finding, Look } from '../../audit/auditor.ts';
import { dueAtOf, dueCommands, queueCheck, type Queued } from '../../audit/queue.ts';
import { FORGOTTEN_AFTER_MS } from './check-schedule.ts';
import { subscriptionKeys } from './model.ts';

/** The clocks of the audit and the service may differ by this much. */
const CLOCKS_DIFFER_MS = 60_000;

/** Checks the queue of purchases to check: each member has a purchase, and each purchase that may change is in the queue. */
export const purchaseAuditor: Auditor = {
  keys: [
    queueCheck(subscriptionKeys.due, wrongOf),
    { pattern: /^\{purchase:(.*)\}$/, counted: 'purchases', check: ([hash], look) => checkPurchase(hash!, look) },
  ],
};

async function wrongOf({ key, entry, member: hash }: Queued, look: Look): Promise<string | undefined> {
  const { purchase } = subscriptionKeys;
  const [isQueued, facts] = await look.together(['ZSCORE', key, entry], ['HMGET', purchase(hash), 'token', 'retiredBy']);
  const [token, retiredBy] = facts as (string | null)[];
  if (isQueued === null || (token !== null && retiredBy === null)) return undefined;
  return `It holds the purchase ${hash}, which ${token === null ? 'does not exist' : 'was replaced by another'}.`;
}

async function checkPurchase(hash: string, look: Look): Promise<Finding[]> {
  const { due, purchase } = subscriptionKeys;
  const [facts, ...times] = await look.together(
    ['HMGET', purchase(hash), 'token', 'owner', 'retiredBy', 'state', 'expiresAt'],
    ...dueCommands(due, hash),
  );
  const [token, owner, retiredBy, state, expiresAt] = facts as (string | null)[];
  const subject = `purchase ${hash}`;
  // `retire` also marks purchases that were never recorded: these have an owner and nothing else.
  if (token === null && retiredBy !== null) return [];
  if (token === null && owner === null) return [];
  const ends = expiresAt === '-' || expiresAt === null ? Infinity : Number(expiresAt);
  if (dueAtOf(times) !== undefined || retiredBy !== null || !mayChange(state!, ends, Date.now() + CLOCKS_DIFFER_MS)) return [];
  return [
    { kind: 'document_without_queue', subject, text: `Its state is ${state}, but ${due} does not hold it, so it is never checked again.` },
  ];
}

/** Whether `nextCheckAt` and `checkPurchase` always schedule another check. */
function mayChange(state: string, expiresAt: number, now: number): boolean {
  if (state === 'expired' || (state === 'canceled' && expiresAt <= now)) return false;
  return expiresAt === Infinity || expiresAt + FORGOTTEN_AFTER_MS > now;
}
