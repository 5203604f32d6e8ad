import { accountPatterns, standingIn } from '../../accounts/account-auditor.ts';
import { accountKey, standingKey } from '../../accounts/account-keys.ts';
import { leadsTo, parseStanding } from '../../accounts/standing.ts';
import type { Auditor, Command, Finding, Look } from '../../consistency/auditor.ts';
import { subscriptionKeys } from './model.ts';

/**
 * An account has ten lines at most: of more, `put-line.lua` drops some, and a replaced purchase takes another line away.
 * With so few lines none was dropped.
 */
const MOST_LINES_WITHOUT_DROPS = 5;

/**
 * Checks that the purchase lines of each account and the purchases agree. A purchase with work to do counts as agreeing: the queue makes
 * the lines follow, and `purchaseAuditor` checks that it holds the purchase.
 */
export const purchaseLineAuditor: Auditor = {
  keys: [
    { pattern: accountPatterns.account, check: ([id], look) => checkLines(id!, look) },
    { pattern: /^\{purchase:(.*)\}$/, check: ([hash], look) => checkHasLine(hash!, look) },
  ],
};

function linesOf(field: string | null): Map<string, string> {
  const lines = field === null || field === '' ? [] : field.split('\n');
  return new Map(lines.map((line) => [line.split(' ', 1)[0]!, line]));
}

/** Each line of an account has a purchase that belongs to the account, and says the same. */
async function checkLines(id: string, look: Look): Promise<Finding[]> {
  const lines: Command = ['HGET', accountKey(id), 'purchases'];
  const hashes = [...linesOf((await look.ask(...lines)) as string | null).keys()];
  if (hashes.length === 0) return [];
  // A deletion releases the purchases, and then deletes the lines.
  if ((await standingIn(id, look)).deleted !== undefined) return [];
  const purchases = hashes.map((hash): Command => [
    'HMGET',
    subscriptionKeys.purchase(hash),
    ...['token', 'owner', 'retiredBy', 'todo', 'state', 'expiresAt', 'willRenew', 'checkedAt', 'productId'],
  ]);
  // The lines once more: a purchase may have left the account before the second read.
  const [field, ...records] = (await look.together(lines, ...purchases)) as [string | null, ...(string | null)[][]];
  const held = linesOf(field);
  const findings: Finding[] = [];
  for (const [index, hash] of hashes.entries()) {
    const line = held.get(hash);
    if (line === undefined) continue;
    const [token = null, owner = null, retiredBy = null, todo = null, ...words] = records[index]!;
    if (todo !== null) continue;
    const find = (kind: string, text: string): void => void findings.push({ kind, subject: `account ${id}`, text });
    if (token === null) find('line_without_purchase', `It has a line of the purchase ${hash}, which does not exist.`);
    else if (retiredBy !== null) find('line_without_purchase', `It has a line of the purchase ${hash}, which was replaced by another.`);
    // The record of a guest's purchase still names the guest after a move.
    else if (owner !== id && !leadsTo(await standingIn(owner ?? '', look), id))
      find('line_without_purchase', `It has a line of the purchase ${hash}, which belongs to account ${owner}.`);
    else if (line !== [hash, ...words].join(' '))
      find('line_differs', `Its line of the purchase ${hash} says "${line.slice(hash.length + 1)}", the purchase "${words.join(' ')}".`);
  }
  return findings;
}

/** The account that a purchase belongs to has a line of it. */
async function checkHasLine(hash: string, look: Look): Promise<Finding[]> {
  const purchase: Command = ['HMGET', subscriptionKeys.purchase(hash), 'owner', 'token', 'retiredBy', 'todo'];
  const [owner = null, token = null, retiredBy = null, todo = null] = (await look.ask(...purchase)) as (string | null)[];
  if (owner === null || token === null || retiredBy !== null || todo !== null) return [];
  const standing: Command = ['GET', standingKey(owner)];
  const record = (await look.ask(...standing)) as string | null;
  const { deleted, target } = parseStanding(record);
  // Whoever meets a purchase of a deleted account next releases it: a check, or the account that sends its token.
  if (deleted !== undefined) return [];
  const id = target ?? owner;
  const [now, recordNow, field, isAccount] = (await look.together(
    purchase,
    standing,
    ['HGET', accountKey(id), 'purchases'],
    ['EXISTS', accountKey(id)],
  )) as [(string | null)[], string | null, string | null, number];
  // The purchase or its owner has just moved, or another purchase has replaced it.
  if (now[0] !== owner || now[2] !== null || now[3] !== null || recordNow !== record) return [];
  const lines = linesOf(field);
  if (lines.has(hash) || lines.size > MOST_LINES_WITHOUT_DROPS) return [];
  const text = isAccount === 1 ? `It has no line of its purchase ${hash}.` : `It has the purchase ${hash}, but is no account.`;
  return [{ kind: 'purchase_without_line', subject: `account ${id}`, text }];
}
