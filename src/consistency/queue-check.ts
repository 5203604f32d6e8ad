import { pairsOf } from '../redis/reply-pairs.ts';
import { entryOf, memberOf, queueKeyOf, queueKeys } from '../redis/queue.ts';
import { CLUSTER_QUEUE_TAGS } from '../redis/slots.ts';
import type { Reply } from '../redis/resp.ts';
import type { Command, Finding, KeyCheck, Probe } from './auditor.ts';
import { pages } from './scan-pages.ts';

/** An entry that is due after this time, in milliseconds, is damaged: nothing is planned ten years ahead, and nobody would ever do it. */
const NEVER_MS = 10 * 365 * 86_400_000;

/** The most findings that the check reports for one sorted set. */
const LISTED = 100;

/** An entry of a queue, its member, and the Redis key of its sorted set (`redis/queue.ts`). */
export interface Queued {
  readonly key: string;
  readonly entry: string;
  readonly member: string;
}

/**
 * A check of all entries of a queue.
 * @param wrongOf describes the fault of an entry in a sentence, or returns the finding about the entry's missing document; undefined for an
 * entry without a fault
 */
export function queueCheck(name: string, wrongOf: (queued: Queued, probe: Probe) => Promise<string | Finding | undefined>): KeyCheck {
  return {
    pattern: new RegExp(`^(${name}|\\{${name}:\\d+\\})$`),
    type: 'zset',
    life: 'lasts',
    check: ([key], probe) => checkQueue(key!, probe, (entry) => wrongOf({ key: key!, entry, member: memberOf(entry) }, probe)),
  };
}

async function checkQueue(
  queue: string,
  probe: Probe,
  wrongOf: (entry: string) => Promise<string | Finding | undefined>,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  let more = 0;
  const find = (text: string, commands: readonly Command[] = []): void =>
    void findings.push({ kind: 'queue_without_document', subject: `queue ${queue}`, text, commands });
  for await (const page of pages(probe, 'ZSCAN', queue)) {
    const entries = pairsOf(page).map(([entry]) => entry);
    probe.count('queue entries', entries.length);
    for (const [index, wrong] of (await Promise.all(entries.map(wrongOf))).entries()) {
      if (wrong === undefined) continue;
      if (findings.length >= LISTED) more++;
      else if (typeof wrong === 'object') findings.push(wrong);
      // The due time 0 makes the entry due at once, and the service removes a due entry that has no document.
      else find(wrong, [['ZADD', queue, 'XX', 0, entries[index]!]]);
    }
  }
  if (more > 0) find(`The same holds for ${more} more.`);
  return findings;
}

/**
 * The finding about a document whose queue has no entry for it. If the queue is empty, the queue is lost: all its documents then have the
 * same finding, with the commands for each.
 */
export async function notQueued(
  { queue, member, subject, text }: { readonly queue: string; readonly member: string; readonly subject: string; readonly text: string },
  probe: Probe,
): Promise<Finding[]> {
  const commands: Command[] = [['ZADD', queue, 0, member]];
  const keys = [queue, queueKeyOf(queue, member, CLUSTER_QUEUE_TAGS)];
  const areThere = await probe.together(...keys.map((key): Command => ['EXISTS', key]));
  if (areThere.includes(1)) return [{ kind: 'document_without_queue', subject, text, commands }];
  return [
    {
      kind: 'lost_queue',
      subject: `queue ${queue}`,
      text: 'The queue is empty, but there is work that only an entry of this queue starts.',
      commands,
    },
  ];
}

/**
 * Whether the queue has an entry of a member. An entry also contains the name of a change, which is not known here, so the whole queue is
 * read.
 */
export async function holds(queue: string, isWanted: (member: string) => boolean, probe: Probe): Promise<boolean> {
  for (const key of queueKeys(queue, CLUSTER_QUEUE_TAGS))
    for await (const page of pages(probe, 'ZSCAN', key)) if (pairsOf(page).some(([entry]) => isWanted(memberOf(entry)))) return true;
  return false;
}

/**
 * The time at which an entry without a document is due, in milliseconds since 1970. Undefined if the document exists, if the entry is not
 * in the queue, or if the entry is due within `soonMs`, because the service will soon remove it.
 */
export async function dueWithoutDocument(
  { key, entry }: Queued,
  document: string,
  soonMs: number,
  probe: Probe,
): Promise<number | undefined> {
  const [dueAt, exists] = await probe.together(['ZSCORE', key, entry], ['EXISTS', document]);
  return dueAt === null || exists === 1 || Number(dueAt) < probe.now() + soonMs ? undefined : Number(dueAt);
}

/**
 * Checks a document, and whether its member is in the queue. If the primary of the member's own sorted set was down, the member's entry may
 * have been written to any other sorted set of the queue. So a finding counts only if it remains after all these sorted sets were read.
 * @param queueOf the queue of the document, by the field `owner`
 * @param read the commands that read the document
 */
export async function checkWithDue(
  { member, document, queueOf }: { readonly member: string; readonly document: string; readonly queueOf: (owner: string | null) => string },
  read: readonly Command[],
  probe: Probe,
  check: (replies: readonly Reply[], isDue: boolean, queue: string) => Promise<Finding[]>,
): Promise<Finding[]> {
  let findings: Finding[] = [];
  for (const whenDue of [dueCommands, dueAnywhereCommands]) {
    const [act = null, owner = null] = (await probe.ask('HMGET', document, 'act', 'owner')) as (string | null)[];
    const queue = queueOf(owner);
    const replies = await probe.together(...read, ...whenDue(queue, member, act === null ? [] : [act]));
    const dueAt = dueAtOf(replies.slice(read.length));
    findings = await check(replies, dueAt !== undefined && dueAt < probe.now() + NEVER_MS, queue);
    if (findings.length === 0) return [];
  }
  return findings;
}

/**
 * Commands whose replies show when a member is due. The commands work on a single Redis and on a Cluster.
 * @param acts names of changes: an entry that `Queue.ahead` wrote before one of these changes also makes the member due
 */
export function dueCommands(name: string, member: string, acts: readonly string[] = []): Command[] {
  return dueIn([name, queueKeyOf(name, member, CLUSTER_QUEUE_TAGS)], member, acts);
}

/**
 * Like `dueCommands`, but for all sorted sets of a queue: if the primary of the member's own sorted set was down, the member's entry may
 * have been written to any other sorted set.
 */
export function dueAnywhereCommands(name: string, member: string, acts: readonly string[] = []): Command[] {
  return dueIn(queueKeys(name, CLUSTER_QUEUE_TAGS), member, acts);
}

function dueIn(keys: readonly string[], member: string, acts: readonly string[]): Command[] {
  const entries = [member, ...acts.map((act) => entryOf(member, act))];
  return keys.map((key): Command => ['ZMSCORE', key, ...entries]);
}

/** When a member is due, from the replies to `dueCommands`, in milliseconds since 1970. Undefined: the member is not in the queue. */
export function dueAtOf(replies: readonly Reply[]): number | undefined {
  const times = (replies as (string | null)[][]).flat().filter((time) => time !== null);
  return times.length === 0 ? undefined : Math.min(...times.map(Number));
}
