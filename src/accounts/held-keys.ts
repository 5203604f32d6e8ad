import { partsOf, type Part } from '../redis/reads.ts';
import { defineScript } from '../redis/script.ts';
import type { ScriptRunner } from '../redis/script-runner.ts';
import { keyOfAccount, standingKey } from './account-keys.ts';
import { standingLibrary } from './standing.ts';

const joinHeld = defineScript({
  file: new URL('join-held.lua', import.meta.url),
  keys: ['held', 'standing'],
  args: ['words', 'kind'],
  answers: ['joined', 'account_deleted'],
  library: standingLibrary,
  durable: true,
});

/** Deletes a guest's set or hash after its content was added to the account that the guest moved into. */
const dropHeld = defineScript({
  name: 'accounts/drop-held',
  lua: `if standing_of(standing) ~= 'moved' then return {'not_moved'} end
    redis.call('UNLINK', held)
    return {'dropped'}`,
  keys: ['held', 'standing'],
  answers: ['dropped', 'not_moved'],
  library: standingLibrary,
  durable: true,
});

/** The members or fields that one script reads, roughly. */
const WORDS_A_PART = 10;

/** Reads a set, a sorted set or a hash of an account part by part, as `partsOf` does. @param name the name of the key, as in `HeldKey` */
export function heldParts(accountId: string, name: string, scripts: ScriptRunner): AsyncIterable<Part> {
  return partsOf(scripts, keyOfAccount(accountId, name), WORDS_A_PART);
}

/**
 * Adds a guest's set, sorted set or hash to that of the account that the guest moved into. The function may stop at any point, and may be
 * called again.
 */
export async function joinHeldKey(guestId: string, accountId: string, name: string, scripts: ScriptRunner): Promise<void> {
  const keys = { held: keyOfAccount(accountId, name), standing: standingKey(accountId) };
  for await (const { kind, words } of heldParts(guestId, name, scripts)) {
    if (words.length === 0) continue;
    const [word] = await scripts.run(joinHeld, keys, { words: JSON.stringify(words), kind });
    // The deletion of the account deletes the guest's data too.
    if (word === 'account_deleted') return;
  }
  await dropHeldKey(guestId, name, scripts);
}

/**
 * Deletes a guest's set, sorted set or hash after its content was added to the account that the guest moved into. Does nothing if the guest
 * has not moved.
 */
export async function dropHeldKey(guestId: string, name: string, scripts: ScriptRunner): Promise<void> {
  await scripts.run(dropHeld, { held: keyOfAccount(guestId, name), standing: standingKey(guestId) }, {});
}
