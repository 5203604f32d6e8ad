import { standingIn } from '../../../accounts/account-auditor.ts';
import { parseStanding } from '../../../accounts/standing.ts';
import { standingKey } from '../../../accounts/account-keys.ts';
import type { Auditor, Command, Finding, Probe } from '../../../consistency/auditor.ts';
import { accountKeyPattern } from '../../../accounts/account-keys.ts';
import { pages } from '../../../consistency/scan-pages.ts';
import { checkWithDue, dueWithoutDocument, notQueued, queueCheck, type Queued } from '../../../consistency/queue-check.ts';
import { checkBookings, isReadable, lostPurchase, ofOwner, subjectOf, type FindBookings } from './booking-check.ts';
import { documentOf, LISTED, purchaseKeys } from './model.ts';
import { coinPurchaseTexts, damagedFields } from '../core/record-texts.ts';
import { orderKey } from './find-purchase.ts';
import { stuckIn } from './operator-purchase.ts';
import { pairsOf } from '../../../redis/reply-pairs.ts';

/**
 * If an entry of the queue has no record of its purchase yet, it may be due at most this many milliseconds from now: the time until
 * takeover, and a minute for clocks that differ.
 */
const AHEAD_MS = 30_000 + 60_000;

/**
 * Checks that each purchase of coins agrees with the ledgers, and that only its own account lists it. Also checks that each purchase with
 * work left is in the queue, and that each entry of a queue has its record.
 */
export function productPurchaseAuditor(find: FindBookings): Auditor {
  return {
    keys: [
      queueCheck(purchaseKeys.due, wrongOf),
      queueCheck(purchaseKeys.noticesDue, wrongOfNotice),
      {
        pattern: /^\{product-notice:([\w-]+)\}$/,
        type: 'hash',
        life: 'lasts',
        check: ([purchaseId], probe) => checkNotice(purchaseId!, probe),
      },
      {
        pattern: /^\{product-purchase:([\w-]+)\}$/,
        counted: 'purchases of coins',
        type: 'hash',
        life: 'lasts',
        readsKey: true,
        check: ([purchaseId], probe) => checkPurchase(purchaseId!, probe, find),
      },
      { pattern: accountKeyPattern(LISTED), check: ([id], probe) => checkListed(id!, probe) },
      { pattern: /^(\{product-order:[\w-]+\})$/, type: 'string', life: 'lasts', check: ([key], probe) => checkOrder(key!, probe) },
      { pattern: new RegExp(`^${purchaseKeys.asked('')}\\w+$`), life: 'lasts', type: 'hash' },
      { pattern: /^\{test-coins:[\d-]{10}\}$/, life: 'ends', type: 'hash' },
      { pattern: /^\{store-buyer:\w+:.*\}$/, life: 'lasts', type: 'string' },
    ],
  };
}

async function wrongOf(queued: Queued, probe: Probe): Promise<Finding | undefined> {
  const dueAt = await dueWithoutDocument(queued, purchaseKeys.purchase(queued.member), AHEAD_MS, probe);
  return dueAt === undefined ? undefined : lostPurchase(queued.member);
}

async function wrongOfNotice(queued: Queued, probe: Probe): Promise<string | undefined> {
  const { member } = queued;
  if ((await dueWithoutDocument(queued, purchaseKeys.notice(member), AHEAD_MS, probe)) === undefined) return undefined;
  return `The queue has an entry for a notification of the purchase ${member}, but this notification does not exist.`;
}

async function checkNotice(purchaseId: string, probe: Probe): Promise<Finding[]> {
  const { noticesDue, notice } = purchaseKeys;
  const of = { member: purchaseId, document: notice(purchaseId), queueOf: () => noticesDue };
  return checkWithDue(of, [['HEXISTS', notice(purchaseId), 'id']], probe, async ([exists], isDue, queue) => {
    if (exists === 0 || isDue) return [];
    const text = `A notification of this purchase is kept, but the queue ${queue} has no entry for the notification, so the app store is never asked again.`;
    return notQueued({ queue, member: purchaseId, subject: subjectOf(purchaseId), text }, probe);
  });
}

/** Checks that the purchase to which an order number leads has a record. */
async function checkOrder(key: string, probe: Probe): Promise<Finding[]> {
  const purchaseId = (await probe.ask('GET', key)) as string | null;
  if (purchaseId === null || (await probe.ask('EXISTS', purchaseKeys.purchase(purchaseId))) === 1) return [];
  return [lostPurchase(purchaseId)];
}

/** Checks that each purchase in an account's list has a record that names the account. */
async function checkListed(id: string, probe: Probe): Promise<Finding[]> {
  const findings: Finding[] = [];
  for await (const page of pages(probe, 'ZSCAN', purchaseKeys.listed(id))) {
    const listed = pairsOf(page).map(([purchaseId]) => purchaseId);
    const owners = await probe.together(
      ...listed.map((id): Command => ['HMGET', purchaseKeys.purchase(id), 'owner', 'store', 'grantedAt']),
    );
    for (const [index, purchaseId] of listed.entries()) {
      const [owner, store, grantedAt] = owners[index] as (string | null)[];
      if (owner == null && store == null) findings.push(lostPurchase(purchaseId));
      if (owner == null || owner === id || owner === '-' || (await standingIn(owner, probe)).target === id) continue;
      findings.push(...(await checkForeign({ id, purchaseId, owner, isGranted: grantedAt !== null }, probe)));
    }
  }
  return findings;
}

/**
 * Checks a purchase in an account's list whose record names another account as its owner. While an operator's move is under way, both
 * accounts may list the purchase.
 */
async function checkForeign(
  { id, purchaseId, owner, isGranted }: { id: string; purchaseId: string; owner: string; isGranted: boolean },
  probe: Probe,
): Promise<Finding[]> {
  const [own, others, recorded] = await probe.together(
    ['ZSCORE', purchaseKeys.listed(id), purchaseId],
    ['ZSCORE', purchaseKeys.listed(owner), purchaseId],
    ['HMGET', purchaseKeys.purchase(purchaseId), 'owner', 'transfer'],
  );
  const [ownerNow, transfer] = recorded as (string | null)[];
  if (own === null || ownerNow !== owner || transfer !== null) return [];
  // If the purchase was granted, `checkBought` finds the right owner from the ledgers.
  if (!isGranted && others === null)
    return [
      ofOwner(
        purchaseId,
        `The purchase's record names account ${owner}, which does not list the purchase, but account ${id} lists it.`,
        id,
      ),
    ];
  const text = `The account lists the purchase ${purchaseId}, which belongs to account ${owner}.`;
  const commands: Command[] = [['ZREM', purchaseKeys.listed(id), purchaseId]];
  return [{ kind: 'foreign_listed', subject: `account ${id}`, text, commands, explainedBy: [subjectOf(purchaseId)] }];
}

async function checkPurchase(purchaseId: string, probe: Probe, find: FindBookings): Promise<Finding[]> {
  const { due, purchase } = purchaseKeys;
  const of = { member: purchaseId, document: purchase(purchaseId), queueOf: () => due };
  const found = await checkWithDue(of, [['HGETALL', of.document]], probe, ([fields], isDue) =>
    findingsOf(purchaseId, new Map(pairsOf(fields as string[])), isDue, probe, find),
  );
  return found.length === 0 ? checkHasOrder(purchaseId, probe) : found;
}

/** Checks that the order number of a granted purchase leads to a purchase. The number is stored before the grant is recorded. */
async function checkHasOrder(purchaseId: string, probe: Probe): Promise<Finding[]> {
  const record: Command = ['HMGET', purchaseKeys.purchase(purchaseId), 'orderId', 'grantedAt'];
  const [orderId, grantedAt] = (await probe.ask(...record)) as (string | null)[];
  if (orderId == null || grantedAt == null) return [];
  const key = orderKey(orderId);
  const [found, again] = await probe.together(['GET', key], record);
  if (found !== null || (again as (string | null)[])[0] !== orderId) return [];
  const text = "The purchase's order number does not lead to it, so operators cannot find it by this number.";
  const commands: Command[] = [['SET', key, purchaseId]];
  return [{ kind: 'order_not_listed', subject: subjectOf(purchaseId), text, commands, explainedBy: [`key ${key}`] }];
}

async function findingsOf(
  purchaseId: string,
  record: ReadonlyMap<string, string>,
  isDue: boolean,
  probe: Probe,
  find: FindBookings,
): Promise<Finding[]> {
  const { due, purchase, listed } = purchaseKeys;
  const subject = subjectOf(purchaseId);
  if (record.size === 0) return [];
  if (!isReadable(record))
    return [{ kind: 'unreadable_record', subject, text: "The purchase's record lacks fields, or has fields that cannot be read." }];
  const damaged = damagedFields(record, coinPurchaseTexts);
  if (damaged.length > 0)
    return [{ kind: 'unreadable_record', subject, text: `Fields of the purchase's record cannot be read: ${damaged.join(', ')}.` }];
  const document = documentOf(record);
  const { owner, at } = document;
  const stuck = stuckIn(document);
  const differs = await checkBookings(purchaseId, record, probe, find);
  if (differs.length > 0) return differs;
  if (stuck !== undefined && !isDue) {
    const text = `The purchase is ${stuck}, but the queue ${due} has no entry for it, so no service checks it again.`;
    return notQueued({ queue: due, member: purchaseId, subject, text }, probe);
  }
  // While a purchase is in the queue, the service may not have added it to the account's list yet.
  if (owner === '-' || isDue) return [];
  const { deleted, target } = parseStanding((await probe.ask('GET', standingKey(owner))) as string | null);
  if (deleted !== undefined) return [];
  const id = target ?? owner;
  const standing = await standingIn(id, probe);
  if (standing.deleted !== undefined || standing.moving !== undefined) return [];
  const [score, recorded] = await probe.together(['ZSCORE', listed(id), purchaseId], ['HGET', purchase(purchaseId), 'owner']);
  if (score !== null || recorded !== owner) return [];
  // The guest has moved, and a step of the move will add its list to the account's list.
  if (target !== undefined && (await probe.ask('ZSCORE', listed(owner), purchaseId)) !== null) return [];
  const isLost = (await probe.ask('EXISTS', listed(id))) === 0;
  const text = isLost ? "The account's list of purchases is lost." : `The account does not list its purchase ${purchaseId}.`;
  const commands: Command[] = [['ZADD', listed(id), at, purchaseId]];
  return [{ kind: 'purchase_not_listed', subject: `account ${id}`, text, commands, explainedBy: [subject] }];
}
