import { defineScript } from '../redis/script.ts';
import { checksCaller, opensAccount } from './prologues.ts';
import type { CallerScripts, ScriptCaller } from './caller-scripts.ts';

/** Creates the caller's account if this is its first write. Answers with the generation that a new session belongs to. */
export const openAccount = defineScript({
  file: new URL('open-account.lua', import.meta.url),
  keys: [],
  args: [],
  answers: ['created', 'found'],
  prologue: opensAccount,
});

/** Checks the caller's session or installId and nothing else. */
export const checkCaller = defineScript({
  file: new URL('check-caller.lua', import.meta.url),
  keys: [],
  args: [],
  answers: ['signed_in'],
  prologue: checksCaller,
  readOnly: true,
});

const fieldsScript = defineScript({
  file: new URL('read-fields.lua', import.meta.url),
  keys: ['account'],
  args: ['fields'],
  answers: ['fields'],
  prologue: checksCaller,
  readOnly: true,
});

/** Reads fields of the caller's account in one round trip. A field that was never set reads as ''. */
export async function readFields<const Field extends string>(
  caller: ScriptCaller,
  fields: readonly Field[],
  { scripts }: { readonly scripts: CallerScripts },
): Promise<Record<Field, string>> {
  const [, ...values] = await scripts.runAs(caller, fieldsScript, { account: caller.accountKey }, { fields: fields.join(' ') });
  return Object.fromEntries(fields.map((field, index) => [field, values[index]])) as Record<Field, string>;
}
