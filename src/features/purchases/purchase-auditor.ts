import { standingIn } from '../../accounts/account-auditor.ts';
import { parseStanding } from '../../accounts/standing.ts';
import { standingKey } from '../../accounts/account-keys.ts';
import type { Auditor, Finding, Look } from '../../consistency/auditor.ts';
import { dueAnywhereCommands, dueAtOf, dueCommands, queueCheck, type Queued } from '../../consistency/queue-check.ts';
import { documentOf, purchaseKeys } from './model.ts';
import { stuckIn } from './operator-purchase.ts';
import { refundsAskedKey } from './refunds-asked.ts';

/** How far an entry of the queue may be ahead of its purchase: the time until takeover, plus a difference of clocks. */
const AHEAD_MS = 30_000 + 60_000;

/**
 * Checks that each purchase of coins with work left is in the queue, that each entry of the queue has a purchase, and that each purchase is
 * listed by its account.
 */
export const productPurchaseAuditor: Auditor = {
  keys: [
    queueCheck(purchaseKeys.due, wrongOf),
    {
      pattern: /^\{product-purchase:([\w-]+)\}$/,
      counted: 'purchases of coins',
      life: 'lasts',
      check: ([purchaseId], look) => checkPurchase(purchaseId!, look),
    },
    // Not checked: a purchase may lack an order number, and only operators search by it.
    { pattern: /^\{product-order:[\w-]+\}$/, life: 'lasts' },
    { pattern: new RegExp(`^${refundsAskedKey('')}\\w+$`), life: 'lasts' },
  ],
};

async function wrongOf({ key, entry, member }: Queued, look: Look): Promise<string | undefined> {
  const [dueAt, exists] = await look.together(['ZSCORE', key, entry], ['EXISTS', purchaseKeys.purchase(member)]);
  if (dueAt === null || exists === 1 || Number(dueAt) < Date.now() + AHEAD_MS) return undefined;
  return `It holds the purchase ${member}, which does not exist.`;
}

async function checkPurchase(purchaseId: string, look: Look): Promise<Finding[]> {
  const found = await findingsOf(purchaseId, look, dueCommands);
  return found.length === 0 ? found : findingsOf(purchaseId, look, dueAnywhereCommands);
}

async function findingsOf(purchaseId: string, look: Look, whenDue: typeof dueCommands): Promise<Finding[]> {
  const { due, purchase, listed } = purchaseKeys;
  const act = (await look.ask('HGET', purchase(purchaseId), 'act')) as string | null;
  const [fields, ...times] = await look.together(['HGETALL', purchase(purchaseId)], ...whenDue(due, purchaseId, act === null ? [] : [act]));
  const words = fields as string[];
  const record = new Map(words.flatMap((word, index) => (index % 2 === 0 ? [[word, words[index + 1]!] as const] : [])));
  if (record.size === 0) return [];
  const document = documentOf(record);
  const { owner } = document;
  const stuck = stuckIn(document);
  // A purchase in the queue may still have to be listed.
  const isDue = dueAtOf(times) !== undefined;
  const subject = `coin-purchase ${purchaseId}`;
  if (stuck !== undefined && !isDue)
    return [
      { kind: 'document_without_queue', subject, text: `It is ${stuck}, but ${due} does not hold it, so no service checks it again.` },
    ];
  if (owner === '-' || isDue) return [];
  const { deleted, target } = parseStanding((await look.ask('GET', standingKey(owner))) as string | null);
  if (deleted !== undefined) return [];
  const id = target ?? owner;
  const standing = await standingIn(id, look);
  if (standing.deleted !== undefined || standing.moving !== undefined) return [];
  const [score, recorded] = await look.together(['ZSCORE', listed(id), purchaseId], ['HGET', purchase(purchaseId), 'owner']);
  if (score !== null || recorded !== owner) return [];
  // The guest has moved, and its list is joined to the account's soon.
  if (target !== undefined && (await look.ask('ZSCORE', listed(owner), purchaseId)) !== null) return [];
  return [{ kind: 'purchase_not_listed', subject: `account ${id}`, text: `It does not list its purchase ${purchaseId}.` }];
}
