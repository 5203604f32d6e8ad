import { checksCaller } from '../../accounts/prologues.ts';
import { standingLibrary } from '../../accounts/standing.ts';
import type { Services } from '../../declare.ts';
import { defineScript } from '../../redis/script.ts';
import { uncheckedOperatorFor } from '../../server/identity/caller.ts';
import { coinKeys, ledgerLibrary } from './model.ts';

const findKey = defineScript({
  file: new URL('find-key.lua', import.meta.url),
  keys: ['ledger'],
  args: ['operation', 'key', 'keyHash'],
  shared: ['secret'],
  answers: ['used', 'reused', 'free', 'other_data'],
  prologue: checksCaller,
  library: [standingLibrary, ledgerLibrary],
  readOnly: true,
});

/**
 * Whether an idempotency key was used in an account: `used` for this operation, `reused` for another operation, or `free` if it was not
 * used. A concurrent call may use the key right after the check.
 * @param operation the letter of the entry's type and the signed coins: `a-30`
 * @throws Refusal `store_unavailable` while the secret of the hashes is not known
 */
export async function usedKey(
  accountId: string,
  { operation, key }: { readonly operation: string; readonly key: string },
  { scripts, keySecret }: Pick<Services, 'scripts' | 'keySecret'>,
): Promise<'used' | 'reused' | 'free'> {
  // In the operator's tool the secret is not read yet, because the tool does not read it at its start.
  if (!keySecret.isKnown) await keySecret.read();
  const asked = { operation, key, keyHash: keySecret.hashOf(key), secret: keySecret.text };
  const [word] = await scripts.runAs(uncheckedOperatorFor(accountId), findKey, { ledger: coinKeys.ledger(accountId) }, asked);
  if (word === 'other_data') throw keySecret.otherData();
  return word;
}
