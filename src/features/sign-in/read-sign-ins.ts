import { accountKey } from '../../accounts/account-keys.ts';
import type { CallerScripts, ScriptCaller } from '../../accounts/caller-scripts.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { sessionLibrary, sessionsKey } from '../../accounts/session-list.ts';
import { signInEntry, signInLibrary } from '../../accounts/sign-ins.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { defineScript } from '../../redis/script.ts';

const readScript = defineScript({
  file: new URL('read-sign-ins.lua', import.meta.url),
  keys: ['account', 'sessions'],
  args: ['sessionId'],
  answers: ['sign_ins'],
  prologue: checksCaller,
  library: [signInLibrary, sessionLibrary],
  readOnly: true,
});

/**
 * The entries in the list of the account's sign-ins.
 * @returns `current`: the id of the sign-in with which the session began, or ''
 * @throws as `runAs`
 */
export async function readListed(
  caller: ScriptCaller & { readonly accountId: string; readonly session: { readonly id: string } | undefined },
  { scripts }: { readonly scripts: CallerScripts },
) {
  const { accountId, session } = caller;
  const keys = { account: accountKey(accountId), sessions: sessionsKey(accountId) };
  const [, current = '', ...words] = await scripts.runAs(caller, readScript, keys, { sessionId: session?.id ?? '' });
  const listed = pairsOf(words).flatMap(([id, text]) => {
    const entry = signInEntry.parse(text);
    return entry === undefined ? [] : [{ id, ...entry }];
  });
  return { current, listed };
}
