import { accountKey } from '../../accounts/account-keys.ts';
import type { CallerScripts, ScriptCaller } from '../../accounts/caller-scripts.ts';
import { refusesNobody } from '../../accounts/prologues.ts';
import { sessionsKey } from '../../accounts/session-list.ts';
import { pairsOf } from '../../redis/pairs.ts';
import { defineScript } from '../../redis/script.ts';
import { reading } from './model.ts';

const readForOperator = defineScript({ ...reading, prologue: refusesNobody });

/** The entries in an account's list of sign-ins, also of a banned or moving account. */
export async function readListed(
  operator: ScriptCaller & { readonly accountId: string },
  { scripts }: { readonly scripts: CallerScripts },
): Promise<[id: string, text: string][]> {
  const { accountId } = operator;
  const keys = { account: accountKey(accountId), sessions: sessionsKey(accountId) };
  const [, , ...words] = await scripts.runAs(operator, readForOperator, keys, { sessionId: '' });
  return pairsOf(words).map(([id, text]) => [id, text]);
}
