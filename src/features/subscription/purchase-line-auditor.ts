import { accountPatterns, lostAccount, standingIn } from '../../accounts/account-auditor.ts';
import { accountKey, standingKey } from '../../accounts/account-keys.ts';
import { leadsTo, parseStanding } from '../../accounts/standing.ts';
import type { Auditor, Command, Finding, Probe } from '../../consistency/auditor.ts';
import { subscriptionKeys } from './model.ts';

/**
 * With at most this many lines, no line was dropped. An account has ten lines at most: `put-line.lua` drops further ones, and a replaced
 * purchase removes another line.
 */
const MOST_LINES_WITHOUT_DROPS = 5;

/**
 * Checks that the purchase lines of each account and the purchases agree. A purchase with work to do counts as agreeing: the queue makes
 * the lines follow, and `purchaseAuditor` checks that it holds the purchase.
 */
export const purchaseLineAuditor: Auditor = {
  keys: [
    { pattern: accountPatterns.account, check: ([id], probe) => checkLines(id!, probe) },
    { pattern: /^\{purchase:(.*)\}$/, check: ([hash], probe) => checkHasLine(hash!, probe) },
  ],
};

function linesOf(field: string | null): Map<string, string> {
  const lines = field === null || field === '' ? [] : field.split('\n');
  return new Map(lines.map((line) => [line.split(' ', 1)[0]!, line]));
}

/** Checks that each line of an account agrees with a purchase of the account. */
async function checkLines(id: string, probe: Probe): Promise<Finding[]> {
  const [text = null] = await probe.fields(accountKey(id), 'purchases');
  const hashes = [...linesOf(text).keys()];
  if (hashes.length === 0) return [];
  // A deletion releases the purchases, and then deletes the lines.
  if ((await standingIn(id, probe)).deleted !== undefined) return [];
  const purchases = hashes.map((hash): Command => [
    'HMGET',
    subscriptionKeys.purchase(hash),
    ...['token', 'owner', 'retiredBy', 'todo', 'state', 'expiresAt', 'willRenew', 'checkedAt', 'productId'],
  ]);
  // The lines once more: a purchase may have left the account before the second read.
  const lines: Command = ['HGET', accountKey(id), 'purchases'];
  const [field, ...records] = (await probe.together(lines, ...purchases)) as [string | null, ...(string | null)[][]];
  const held = linesOf(field);
  const findings: Finding[] = [];
  for (const [index, hash] of hashes.entries()) {
    const line = held.get(hash);
    if (line === undefined) continue;
    const [token = null, owner = null, retiredBy = null, todo = null, ...words] = records[index]!;
    if (todo !== null) continue;
    const find = (kind: string, text: string, commands: readonly Command[] = []): void =>
      void findings.push({ kind, subject: `account ${id}`, text, commands });
    if (token === null) findings.push(lostPurchase(hash));
    else if (retiredBy !== null) find('line_without_purchase', `It has a line of the purchase ${hash}, which was replaced by another.`);
    // The record of a guest's purchase still names the guest after a move.
    else if (owner !== id && !leadsTo(await standingIn(owner ?? '', probe), id))
      findings.push(await foreignLine(id, hash, owner ?? '', probe));
    else if (line !== [hash, ...words].join(' '))
      find(
        'line_differs',
        `Its line of the purchase ${hash} says "${line.slice(hash.length + 1)}", the purchase "${words.join(' ')}".`,
        requeue(hash),
      );
  }
  return findings;
}

/** The finding is the same wherever the purchase is named, so that the audit reports it once. */
export function lostPurchase(hash: string): Finding {
  const text = 'Its record is lost, and other keys name it: nothing follows the subscription any more.';
  return { kind: 'lost_purchase', subject: `purchase ${hash}`, text };
}

/** The service checks a purchase that is due, and writes the line of its account. */
function requeue(hash: string): Command[] {
  return [
    ['HSET', subscriptionKeys.purchase(hash), 'todo', 'line'],
    ['ZADD', subscriptionKeys.due, 0, hash],
  ];
}

/** An account has the line of a purchase that names another account. The set of the owner has each purchase that it ever recorded. */
async function foreignLine(id: string, hash: string, owner: string, probe: Probe): Promise<Finding> {
  const areOwned = await probe.together(
    ...[id, owner].map((accountId): Command => ['SISMEMBER', subscriptionKeys.ofAccount(accountId), hash]),
  );
  if (areOwned[0] !== 1 || areOwned[1] === 1) {
    const text = `It has a line of the purchase ${hash}, which belongs to account ${owner}.`;
    return { kind: 'line_without_purchase', subject: `account ${id}`, text };
  }
  const text = `Its record names account ${owner}, which has never had it, and account ${id} has its line.`;
  const commands: Command[] = [['HSET', subscriptionKeys.purchase(hash), 'owner', id]];
  return { kind: 'wrong_owner', subject: `purchase ${hash}`, text, commands };
}

/** Checks that the account to which a purchase belongs has a line of it. */
async function checkHasLine(hash: string, probe: Probe): Promise<Finding[]> {
  const purchase: Command = ['HMGET', subscriptionKeys.purchase(hash), 'owner', 'token', 'retiredBy', 'todo'];
  const [owner = null, token = null, retiredBy = null, todo = null] = (await probe.ask(...purchase)) as (string | null)[];
  if (owner === null || token === null || retiredBy !== null || todo !== null) return [];
  const standing: Command = ['GET', standingKey(owner)];
  const record = (await probe.ask(...standing)) as string | null;
  const { deleted, target } = parseStanding(record);
  // The next check releases a purchase of a deleted account, or the next account that sends its token.
  if (deleted !== undefined) return [];
  const id = target ?? owner;
  const [now, recordNow, field, isAccount] = (await probe.together(
    purchase,
    standing,
    ['HGET', accountKey(id), 'purchases'],
    ['EXISTS', accountKey(id)],
  )) as [(string | null)[], string | null, string | null, number];
  // The purchase or its owner has just moved, or another purchase has replaced it.
  if (now[0] !== owner || now[2] !== null || now[3] !== null || recordNow !== record) return [];
  const lines = linesOf(field);
  if (lines.has(hash) || lines.size > MOST_LINES_WITHOUT_DROPS) return [];
  if (isAccount === 0) return [lostAccount(id)];
  const isField = field !== null;
  const text = isField ? `It has no line of its purchase ${hash}.` : 'It has none of the lines of its purchases.';
  // If another account has the line, the owner was changed.
  return [{ kind: 'purchase_without_line', subject: `account ${id}`, text, commands: requeue(hash), explainedBy: [`purchase ${hash}`] }];
}
