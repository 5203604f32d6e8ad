import { queueKeyOf } from '../redis/queue.ts';
import { CLUSTER_QUEUE_TAGS } from '../redis/slots.ts';
import type { Reply } from '../redis/resp.ts';
import type { Command, Finding, KeyCheck, Look } from './auditor.ts';
import { pages } from './pages.ts';

/** Members that the findings of a sorted set list one by one. */
const LISTED = 100;

/** A member of a queue, and the sorted set that holds it: `redis/queue.ts` has its names. */
export interface Queued {
  readonly key: string;
  readonly member: string;
}

/**
 * Checks each member of a queue: texts by the time at which they are due.
 * @param wrongOf returns a sentence that says what is wrong with a member; undefined if nothing is
 */
export function queueCheck(name: string, wrongOf: (queued: Queued, look: Look) => Promise<string | undefined>): KeyCheck {
  return {
    pattern: new RegExp(`^(${name}|\\{${name}:\\d+\\})$`),
    check: ([key], look) => checkQueue(key!, look, (member) => wrongOf({ key: key!, member }, look)),
  };
}

async function checkQueue(
  queue: string,
  look: Look,
  wrongOf: (member: string) => Promise<string | undefined>,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  let more = 0;
  const find = (text: string): void => void findings.push({ kind: 'queue_without_document', subject: `queue ${queue}`, text });
  for await (const page of pages(look, 'ZSCAN', queue)) {
    const members = page.filter((_, index) => index % 2 === 0);
    look.count('queue entries', members.length);
    for (const text of await Promise.all(members.map(wrongOf))) {
      if (text === undefined) continue;
      if (findings.length < LISTED) find(text);
      else more++;
    }
  }
  if (more > 0) find(`The same holds for ${more} more.`);
  return findings;
}

/** Commands whose replies tell when a member is due, in data of one Redis or of a Cluster. */
export function dueCommands(name: string, member: string): Command[] {
  return [name, queueKeyOf(name, member, CLUSTER_QUEUE_TAGS)].map((key): Command => ['ZSCORE', key, member]);
}

/** When a member is due, by the replies to `dueCommands`; undefined: it is not in the queue. */
export function dueAtOf(replies: readonly Reply[]): number | undefined {
  const times = replies.filter((reply) => reply !== null).map(Number);
  return times.length === 0 ? undefined : Math.min(...times);
}
