import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import { settled } from '../../accounts/standing-look.ts';
import type { StorePurchase } from '../../stores/store.ts';
import { boundAccountOf } from '../purchases/model.ts';
import { accountOf, readPurchase, type PurchaseDocument } from './purchase-document.ts';
import { purchaseHash } from './purchase-token.ts';

/** Whose purchase it is by the app store's answer, before anybody has sent its token. */
export type StoreOwner =
  /** The app gave the store the id of an account that was deleted since: nobody can claim the purchase. */
  | { readonly word: 'deleted' }
  | { readonly word: 'nobody' }
  | {
      readonly word: 'account';
      /** For a guest that moved, the account into which it moved. */
      readonly accountId: string;
      /** The app gave an account id to the store, for this purchase or for the one that it continues. */
      readonly isBound: boolean;
      /** The purchase that it replaces. Undefined: it replaces none, or no recorded one. */
      readonly replaced: PurchaseDocument | undefined;
    };

/**
 * The account that the app named to the store when its user bought; else the owner of the purchase that this one replaces; else, for a
 * purchase outside the app, the owner of the expired purchase, or the account that the app named then. The record of the expired purchase
 * comes first because an operator may have given it to another account.
 */
export async function storeOwnerOf(purchase: StorePurchase, scripts: CallerScripts): Promise<StoreOwner> {
  const { linkedToken, renewed } = purchase;
  const named = await accountNamed(purchase.buyer, scripts);
  if (named === 'deleted') return { word: 'deleted' };
  if (named !== undefined) return { word: 'account', accountId: named, isBound: true, replaced: undefined };
  const replaced = await ownedBy(linkedToken, scripts);
  if (replaced !== undefined) return { ...replaced, replaced: replaced.document };
  const expired = await ownedBy(renewed?.token, scripts);
  if (expired !== undefined) return { ...expired, replaced: undefined };
  const namedBefore = await accountNamed(renewed?.buyer, scripts);
  if (namedBefore === undefined || namedBefore === 'deleted') return { word: 'nobody' };
  return { word: 'account', accountId: namedBefore, isBound: true, replaced: undefined };
}

/** The purchases that this one continues, by `purchaseHash`. */
export function followedBy({ linkedToken, renewed }: StorePurchase): string[] {
  return [linkedToken, renewed?.token].flatMap((token) => (token === undefined ? [] : [purchaseHash(token)]));
}

async function accountNamed(buyer: string | undefined, scripts: CallerScripts): Promise<string | 'deleted' | undefined> {
  const named = boundAccountOf({ buyer });
  if (named === undefined) return undefined;
  const { word, accountId } = await settled(named, scripts);
  return word === 'deleted' ? 'deleted' : accountId;
}

async function ownedBy(token: string | undefined, scripts: CallerScripts) {
  const document = token === undefined ? undefined : await readPurchase(purchaseHash(token), scripts);
  if (document === undefined || !hasOwner(document)) return undefined;
  const accountId = await accountOf(document.owner, scripts);
  return accountId === undefined ? undefined : { word: 'account' as const, accountId, isBound: document.isBound, document };
}

/** Whether an account owns the purchase, or did before it was deleted. */
export function hasOwner({ owner }: PurchaseDocument): boolean {
  return owner !== '' && owner !== '-';
}
