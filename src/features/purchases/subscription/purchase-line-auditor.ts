import { accountPatterns, lostAccount, standingIn } from '../../../accounts/account-auditor.ts';
import { accountKey, standingKey } from '../../../accounts/account-keys.ts';
import { leadsTo, parseStanding } from '../../../accounts/standing.ts';
import type { Auditor, Command, Finding, Probe } from '../../../consistency/auditor.ts';
import { damagedFields, subscriptionTexts } from '../core/record-texts.ts';
import { subscriptionKeys } from './model.ts';

/**
 * If an account has at most this many lines, it has certainly not lost a line because there were too many. An account has ten lines at
 * most. `put-line.lua` drops further lines, and after that lines of replaced purchases may disappear too.
 */
const MOST_LINES_WITHOUT_DROPS = 5;

/**
 * Checks that the purchase lines of each account agree with the records of its purchases. A purchase with steps in its `todo` is left out,
 * because the queue will still write its lines. `purchaseAuditor` checks that the queue has the purchase.
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

/** The fields of a purchase that its line repeats. */
const IN_LINE = ['state', 'expiresAt', 'willRenew', 'checkedAt', 'productId'];

function isDamaged(words: readonly (string | null)[]): boolean {
  return damagedFields(new Map(IN_LINE.map((name, index) => [name, words[index] ?? ''])), subscriptionTexts).length > 0;
}

/** Checks that each line of an account agrees with a purchase of the account. */
async function checkLines(id: string, probe: Probe): Promise<Finding[]> {
  const [text = null] = await probe.fields(accountKey(id), 'purchases');
  const hashes = [...linesOf(text).keys()];
  if (hashes.length === 0) return [];
  // If the account was deleted, lines without purchases are no finding, because a deletion forgets the purchases before it deletes the
  // lines.
  if ((await standingIn(id, probe)).deleted !== undefined) return [];
  const purchases = hashes.map((hash): Command => [
    'HMGET',
    subscriptionKeys.purchase(hash),
    ...['token', 'owner', 'retiredBy', 'todo', ...IN_LINE],
  ]);
  // The lines are read again together with the purchases, because a purchase may have left the account since the first read.
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
    else if (retiredBy !== null)
      find('line_without_purchase', `The account has a line of the purchase ${hash}, which another purchase replaced.`);
    // After a move the record of a guest's purchase still has the guest's id.
    else if (owner !== id && !leadsTo(await standingIn(owner ?? '', probe), id))
      findings.push(await foreignLine(id, hash, owner ?? '', probe));
    // Another check reports a damaged record. The line stays, because it may be the only copy of the right values.
    else if (isDamaged(words)) continue;
    else if (line !== [hash, ...words].join(' '))
      find(
        'line_differs',
        `The account's line of the purchase ${hash} says "${line.slice(hash.length + 1)}", the purchase "${words.join(' ')}".`,
        requeue(hash),
      );
  }
  return findings;
}

/**
 * The finding about a purchase without a record. Every check that misses the record makes the same finding, so that the audit reports it
 * once.
 */
export function lostPurchase(hash: string): Finding {
  const text =
    "The purchase's record is lost, although other Redis keys name the purchase, so the service no longer checks the subscription.";
  return { kind: 'lost_purchase', subject: `purchase ${hash}`, text };
}

/** Commands that make a purchase due. The service then checks the purchase, and writes its line in the owner's account. */
function requeue(hash: string): Command[] {
  return [
    ['HSET', subscriptionKeys.purchase(hash), 'todo', 'line'],
    ['ZADD', subscriptionKeys.due, 0, hash],
  ];
}

/**
 * The finding about an account's line of a purchase whose record names another owner. An account's set has each purchase that the account
 * ever recorded. So the set shows whether the purchase belongs to this account or to the owner in the record.
 */
async function foreignLine(id: string, hash: string, owner: string, probe: Probe): Promise<Finding> {
  const areOwned = await probe.together(
    ...[id, owner].map((accountId): Command => ['SISMEMBER', subscriptionKeys.ofAccount(accountId), hash]),
  );
  if (areOwned[0] !== 1 || areOwned[1] === 1) {
    const text = `The account has a line of the purchase ${hash}, which belongs to account ${owner}.`;
    return { kind: 'line_without_purchase', subject: `account ${id}`, text };
  }
  const text = `The purchase's record names account ${owner}, which has never had the purchase, but account ${id} has the purchase's line.`;
  const commands: Command[] = [['HSET', subscriptionKeys.purchase(hash), 'owner', id]];
  return { kind: 'wrong_owner', subject: `purchase ${hash}`, text, commands };
}

/** Checks that the account that owns a purchase has a line of it. */
async function checkHasLine(hash: string, probe: Probe): Promise<Finding[]> {
  const purchase: Command = ['HMGET', subscriptionKeys.purchase(hash), 'owner', 'token', 'retiredBy', 'todo'];
  const [owner = null, token = null, retiredBy = null, todo = null] = (await probe.ask(...purchase)) as (string | null)[];
  if (owner === null || token === null || retiredBy !== null || todo !== null) return [];
  const standing: Command = ['GET', standingKey(owner)];
  const record = (await probe.ask(...standing)) as string | null;
  const { deleted, target } = parseStanding(record);
  // If the owner was deleted, the purchase is forgotten by its next check, or when an account sends its token.
  if (deleted !== undefined) return [];
  const id = target ?? owner;
  const [now, recordNow, field, isAccount] = (await probe.together(
    purchase,
    standing,
    ['HGET', accountKey(id), 'purchases'],
    ['EXISTS', accountKey(id)],
  )) as [(string | null)[], string | null, string | null, number];
  // Since the first read, the purchase or its owner has moved, or another purchase has replaced the purchase.
  if (now[0] !== owner || now[2] !== null || now[3] !== null || recordNow !== record) return [];
  const lines = linesOf(field);
  if (lines.has(hash) || lines.size > MOST_LINES_WITHOUT_DROPS) return [];
  if (isAccount === 0) return [lostAccount(id)];
  const isField = field !== null;
  const text = isField ? `The account has no line of its purchase ${hash}.` : 'The lines of its purchases are lost.';
  // If another account has the line, there is a finding that the purchase's owner is wrong. That finding explains this one.
  return [{ kind: 'purchase_without_line', subject: `account ${id}`, text, commands: requeue(hash), explainedBy: [`purchase ${hash}`] }];
}
