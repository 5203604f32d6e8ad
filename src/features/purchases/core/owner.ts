import { accountKey, standingKey } from '../../../accounts/account-keys.ts';
import type { CallerScripts } from '../../../accounts/caller-scripts.ts';
import { standingLibrary } from '../../../accounts/standing.ts';
import { runWhereItIs, settled } from '../../../accounts/standing-reader.ts';
import { defineScript } from '../../../redis/script.ts';
import { accountNamedBy } from './buyers.ts';

/**
 * Tells whether an account is a guest or a store account. Answers guest, store_account, moved(account that it moved into), moving,
 * deleted(time).
 */
export const readOwnerScript = defineScript({
  name: 'purchases/read-owner',
  lua: `
    local state, detail = standing_of(standing)
    if state ~= 'open' and state ~= 'banned' then return {state, detail} end
    return {redis.call('HEXISTS', account, 'store') == 1 and 'store_account' or 'guest'}`,
  keys: ['account', 'standing'],
  answers: ['guest', 'store_account', 'moved', 'moving', 'deleted'],
  readOnly: true,
  library: standingLibrary,
});

/**
 * The account that owns a purchase: the account with the id `owner`, or, if it moved, the account into which it moved. Undefined: deleted.
 */
export async function accountOf(owner: string, scripts: CallerScripts): Promise<string | undefined> {
  const { word, accountId } = await settled(owner, scripts);
  return word === 'deleted' ? undefined : accountId;
}

/**
 * Whether the account that presents a purchase is its owner. A guest may have moved into the owner's account during the request to the app
 * store: a script then refuses the guest's session.
 */
export async function isOwnedBy(owner: string, presenter: string, scripts: CallerScripts): Promise<boolean> {
  return owner === presenter || owner === (await accountOf(presenter, scripts));
}

/** The account that `accountOf` gives, and whether it is a store account. */
export async function ownerOf(owner: string, scripts: CallerScripts): Promise<{ accountId: string | undefined; isStoreAccount: boolean }> {
  const { word, accountId } = await runWhereItIs(owner, scripts, (id) =>
    scripts.run(readOwnerScript, { account: accountKey(id), standing: standingKey(id) }, {}),
  );
  return { accountId: word === 'deleted' ? undefined : accountId, isStoreAccount: word === 'store_account' };
}

/**
 * The account that the app named to the store when its user bought, or the account into which that account moved. Undefined: the app named
 * none, or an id that coinop did not make.
 */
export async function accountNamed(
  store: string,
  buyer: string | undefined,
  scripts: CallerScripts,
): Promise<string | 'deleted' | undefined> {
  const named = await accountNamedBy(store, buyer, scripts);
  return named === undefined ? undefined : ((await accountOf(named, scripts)) ?? 'deleted');
}
