import { heldFields } from '../../accounts/merge-rules.ts';
import { read } from '../../redis/reads.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';

/**
 * The account's fields about a name that an operator gave it: the time, the name, the operator and the reason. These fields are
 * authoritative. The index GIVEN_NAMES has copies of the names.
 */
export const nameFields = heldFields('later', 'nameGivenAt', 'nameGiven', 'nameGivenBy', 'nameGivenReason');

/**
 * The Redis key of the index of given names. The index is a hash of account id → given name, with a field `version` that rises with each
 * change. Each change is published on a channel of the same name. Each process has the whole index in memory, so that a submitted score
 * needs no read of Redis.
 */
export const GIVEN_NAMES = '{given-names}';

/** The most names in the index of given names, because each process keeps the whole index in memory. */
const MOST_GIVEN = 10_000;

const indexName = defineScript({
  file: new URL('index-name.lua', import.meta.url),
  keys: ['index'],
  args: ['accountId', 'name', 'most'],
  answers: ['noted', 'unchanged', 'full'],
  durable: true,
});

/** Whether the index has no room for a name of this account. */
export async function isIndexFull(accountId: string, scripts: ScriptRunner): Promise<boolean> {
  const [[has], [fields]] = await Promise.all([read(scripts, 'HEXISTS', GIVEN_NAMES, accountId), read(scripts, 'HLEN', GIVEN_NAMES)]);
  // The index has the field `version` too.
  return has === '0' && Number(fields) > MOST_GIVEN;
}

/**
 * Writes an account's given name into the index.
 * @param name '' removes the account from the index
 * @returns false if the index is full
 */
export async function noteGivenName(accountId: string, name: string, scripts: ScriptRunner): Promise<boolean> {
  const [word] = await scripts.run(indexName, { index: GIVEN_NAMES }, { accountId, name, most: MOST_GIVEN });
  return word !== 'full';
}
