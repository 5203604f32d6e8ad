import type { CallerScripts } from '../../../accounts/caller-scripts.ts';
import { settled } from '../../../accounts/standing-reader.ts';
import { accountNamedBy } from './buyers.ts';

/**
 * The account that owns a purchase: the account with the id `owner` or, if that moved, the account into which it moved. Undefined if it was
 * deleted.
 */
export async function accountOf(owner: string, scripts: CallerScripts): Promise<string | undefined> {
  const { word, accountId } = await settled(owner, scripts);
  return word === 'deleted' ? undefined : accountId;
}

/**
 * Whether the account that presents a purchase is its owner. If a guest moved into the owner's account during the request to the app store,
 * a later script refuses the guest's session.
 */
export async function isOwnedBy(owner: string, presenter: string, scripts: CallerScripts): Promise<boolean> {
  return owner === presenter || owner === (await accountOf(presenter, scripts));
}

/**
 * The account that the app named to the store when its user bought, or the account into which that account moved. Undefined if the app
 * named no account, or an id that coinop did not make.
 */
export async function accountNamed(
  store: string,
  buyer: string | undefined,
  scripts: CallerScripts,
): Promise<string | 'deleted' | undefined> {
  const named = await accountNamedBy(store, buyer, scripts);
  return named === undefined ? undefined : ((await accountOf(named, scripts)) ?? 'deleted');
}
