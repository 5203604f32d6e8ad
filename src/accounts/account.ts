import { defineScript } from '../redis/script.ts';
import { checksCaller, opensAccount } from './prologues.ts';
import { Refusal } from '../errors.ts';
import { SessionEnded, type CallerScripts, type ScriptCaller } from './caller-scripts.ts';

/**
 * Creates the caller's account if it does not exist yet, and answers with the generation to which a new session belongs. Answers
 * created(generation), found(generation).
 */
export const openAccount = defineScript({
  name: 'accounts/open-account',
  lua: `if not open_account(account, creation_barred) then return {'rate_limited'} end
    return answer(account_created and 'created' or 'found', generation)`,
  keys: [],
  answers: ['created', 'found'],
  prologue: opensAccount,
});

/** Checks that the caller's session or installId may still act for the account, and does nothing else. */
export const checkCaller = defineScript({
  name: 'accounts/check-caller',
  lua: `return {'signed_in'}`,
  keys: [],
  answers: ['signed_in'],
  prologue: checksCaller,
  readOnly: true,
});

/** The error codes for an account that no longer accepts its credentials. */
const CLOSED: ReadonlySet<string> = new Set(['sign_in_required', 'account_deleted', 'account_banned']);

/**
 * Asks Redis whether a session or installId may still act for its account.
 * @throws Refusal `store_unavailable` if the account is still moving
 */
export async function credentialWord(caller: ScriptCaller, scripts: CallerScripts): Promise<'open' | 'session_ended' | 'closed'> {
  try {
    await scripts.runAs(caller, checkCaller, {}, {});
    return 'open';
  } catch (error) {
    if (error instanceof SessionEnded) return 'session_ended';
    if (error instanceof Refusal && CLOSED.has(error.code)) return 'closed';
    throw error;
  }
}

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
