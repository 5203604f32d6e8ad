import { accountKey, standingKey } from '../accounts/account-keys.ts';
import { runWhereItIs } from '../accounts/standing-reader.ts';
import { standingLibrary } from '../accounts/standing.ts';
import { refuse, type Refusal } from '../errors.ts';
import { defineScript } from '../redis/script.ts';
import type { OperatorServices } from './operation.ts';

const giveScript = defineScript({
  file: new URL('give-fields.lua', import.meta.url),
  keys: ['account', 'standing'],
  args: ['names', 'values'],
  answers: ['changed', 'moving', 'moved', 'deleted', 'not_found'],
  durable: true,
  library: standingLibrary,
});

/**
 * Writes fields that operators give an account, or removes them.
 * @param values as many as names. Undefined: the fields are removed
 * @returns the account that has the fields, which may be the one into which the account moved, and the first field before
 */
export async function giveFields(
  account: string,
  names: readonly string[],
  values: readonly (string | number)[] | undefined,
  { scripts }: OperatorServices,
): Promise<{ readonly accountId: string; readonly before: string } | Refusal<'account_deleted' | 'account_not_found'>> {
  const args = { names: JSON.stringify(names), values: values === undefined ? '' : JSON.stringify(values.map(String)) };
  const { word, figures, accountId } = await runWhereItIs(account, scripts, (id) =>
    scripts.run(giveScript, { account: accountKey(id), standing: standingKey(id) }, args),
  );
  if (word === 'deleted') return refuse('account_deleted');
  return word === 'not_found' ? refuse('account_not_found') : { accountId, before: figures[0]! };
}
