import { heldFields } from '../../accounts/fields.ts';
import { standingLibrary } from '../../accounts/standing.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';

/** A name that operators gave an account in place of its own: its time, the name, the operator and the reason. The account is the truth. */
export const nameFields = heldFields('later', 'nameGivenAt', 'nameGiven', 'nameGivenBy', 'nameGivenReason');

/**
 * Hash: account id → the name that it was given, and `version`, which rises with each change. Changes are published on a channel of the same
 * name. Each process has all of it in memory, so that a submission costs no read.
 */
export const GIVEN_NAMES = '{given-names}';

/** Each process keeps all of them. */
const MOST_GIVEN = 10_000;

export const readIndex = defineScript({
  file: new URL('read-index.lua', import.meta.url),
  keys: ['index'],
  args: ['known'],
  answers: ['same', 'index'],
  readOnly: true,
});

const indexName = defineScript({
  file: new URL('index-name.lua', import.meta.url),
  keys: ['index'],
  args: ['accountId', 'name', 'most'],
  answers: ['noted', 'unchanged', 'full'],
  durable: true,
});

export const giveName = defineScript({
  file: new URL('give-name.lua', import.meta.url),
  keys: ['account', 'standing'],
  args: ['name', 'givenAt', 'by', 'reason'],
  answers: ['changed', 'moving', 'moved', 'deleted', 'not_found'],
  durable: true,
  library: standingLibrary,
});

export const readGiven = defineScript({
  file: new URL('read-given.lua', import.meta.url),
  keys: ['account'],
  args: [],
  answers: ['given'],
  readOnly: true,
});

/** @param name '' removes it. @returns false if the index is full */
export async function noteGivenName(accountId: string, name: string, scripts: ScriptRunner): Promise<boolean> {
  const [word] = await scripts.run(indexName, { index: GIVEN_NAMES }, { accountId, name, most: MOST_GIVEN });
  return word !== 'full';
}
