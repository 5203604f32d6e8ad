import { expect } from 'vitest';
import { GIVEN_NAMES } from '../src/features/names/model.ts';
import { DATA_ID_KEY } from '../src/redis/data/data-id.ts';
import type { TestReply, TestService } from './harness.ts';
import { monitored } from './monitor.ts';

/** A request, and the names of the commands that Redis has to receive for it. */
export type Ask = [ask: () => Promise<TestReply>, commands: string[]];

/**
 * Makes the requests one after the other, and compares the commands that Redis receives.
 * @param service on a Redis that only this test uses
 */
export async function expectCommands(service: TestService, asks: readonly Ask[]): Promise<void> {
  const { redis } = service.service;
  const commands: string[] = [];
  // Commands inside a script cost no round trip.
  using _ = await monitored(redis, (words, isOfScript) => {
    if (!isOfScript && !words.some(isOfBackground)) commands.push(words[0]!.toLowerCase());
  });
  const expected: string[] = [];
  for (const [ask, asked] of asks) {
    await ask();
    expected.push(...asked);
    await expect.poll(() => commands).toEqual(expected);
  }
  // No command may follow the last reply.
  await redis.echo('the end');
  await expect.poll(() => commands).toEqual([...expected, 'echo']);
}

/**
 * Whether a word of a command tells that the service's background sent it. The background asks whether Redis answers and what its user may
 * do, notes that it serves, polls queues, server keys, given names and the data id, and asks its store, the sandbox, for refunds.
 */
function isOfBackground(word: string): boolean {
  if (word === GIVEN_NAMES || word === DATA_ID_KEY || word.includes('redis.acl_check_cmd')) return true;
  return /^ping$/i.test(word) || /:due$|^(\{served:|\{server-keys\}|product-purchases:asked:|purchases:unowned|\{sandbox:)/.test(word);
}
