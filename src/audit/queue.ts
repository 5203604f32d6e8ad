import type { Finding, Look } from './auditor.ts';
import { pages } from './pages.ts';

/** Members that the findings list one by one. */
const LISTED = 100;

/**
 * Checks each member of a queue: a sorted set of members by the time at which they are due.
 * @param wrongOf returns a sentence that says what is wrong with a member; undefined if nothing is
 */
export async function checkQueue(
  look: Look,
  queue: string,
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
