import type { CallerScripts } from '../../../accounts/caller-scripts.ts';
import type { StorePurchase, Subscriptions } from '../../../stores/store.ts';
import type { StoreName } from '../../../stores/stores.ts';
import { accountNamedBy } from '../core/buyers.ts';
import { accountNamed, accountOf } from '../core/owner.ts';
import { readSold } from '../core/ask-store.ts';
import { purchaseHash } from '../core/purchase-ids.ts';
import { readPurchase, type PurchaseDocument } from './purchase-document.ts';
import type { Answered } from './purchase-record.ts';

/** The owner of a purchase by the app store's answer, without regard to the account that sends its token. */
export type StoreOwner =
  /** The app gave the store the id of an account that has been deleted since then, so no account can claim the purchase. */
  | { readonly word: 'deleted' }
  | { readonly word: 'nobody' }
  | {
      readonly word: 'account';
      /** The id of the owner. For a guest that moved, the account into which it moved. */
      readonly accountId: string;
      /** Whether the app gave the owner's id to the store, for this purchase or for a purchase that it continues. */
      readonly isBound: boolean;
      /** The recorded purchase that this one replaces, directly or through purchases without an owner. Undefined if there is none. */
      readonly replaced: PurchaseDocument | undefined;
    };

/**
 * Finds the owner of a purchase. The owner is the account that the app named to the store when its user bought. If the app named none, it
 * is the owner of the purchase that this one replaces. If there is none either, and the purchase was made outside the app, it is the owner
 * of the expired purchase that this one renews, or else the account that the app named for the expired purchase. The owner in the record of
 * the expired purchase comes first, because an operator may have given that purchase to another account.
 */
export async function storeOwnerOf({ store, purchase }: Answered, lineage: Lineage, scripts: CallerScripts): Promise<StoreOwner> {
  const { linkedId, renewed } = purchase;
  const named = await accountNamed(store, purchase.buyer, scripts);
  if (named === 'deleted') return { word: 'deleted' };
  if (named !== undefined) return { word: 'account', accountId: named, isBound: true, replaced: undefined };
  const replaced = await ownedBy(store, linkedId, lineage, scripts);
  if (replaced !== undefined) return replaced;
  const expired = await ownedBy(store, renewed?.id, lineage, scripts);
  if (expired !== undefined) return { ...expired, replaced: undefined };
  const namedBefore = await accountNamed(store, renewed?.buyer, scripts);
  if (namedBefore === undefined || namedBefore === 'deleted') return { word: 'nobody' };
  return { word: 'account', accountId: namedBefore, isBound: true, replaced: undefined };
}

/**
 * The store's answers about earlier purchases that a purchase continues and that have no owner in Redis, by the store's own id. The
 * notifications of these earlier purchases may be lost or late, and no app sent their tokens.
 */
export type Lineage = ReadonlyMap<string, StorePurchase>;

/** For one purchase, the store is asked about at most this many earlier purchases. */
const LONGEST_LINEAGE = 10;

/**
 * Asks the store about the purchases that this one continues, and about the purchases before those, until a purchase has an owner or names
 * an account.
 * @throws Refusal `app_store_unavailable`
 */
export async function lineageOf({ store, purchase }: Answered, subscriptions: Subscriptions, scripts: CallerScripts): Promise<Lineage> {
  const lineage = new Map<string, StorePurchase>();
  const open = [purchase];
  const seen = new Set<string>();
  for (let continued = open.shift(); continued !== undefined; continued = open.shift()) {
    if ((await accountNamedBy(store, continued.buyer, scripts)) !== undefined) continue;
    for (const id of idsBefore(continued)) {
      if (seen.has(id) || seen.size === LONGEST_LINEAGE) continue;
      seen.add(id);
      const document = await readPurchase(purchaseHash(id, store), scripts);
      if (document !== undefined && hasOwner(document)) continue;
      const answer = await readSold(subscriptions, id, purchase.packageName);
      if (typeof answer === 'string') continue;
      lineage.set(id, answer);
      open.push(answer);
    }
  }
  return lineage;
}

/** The purchases that this one continues, as `purchaseHash`. */
export function followedBy({ store, purchase }: Answered, lineage: Lineage): string[] {
  return [...new Set([purchase, ...lineage.values()].flatMap(idsBefore))].map((id) => purchaseHash(id, store));
}

function idsBefore({ linkedId, renewed }: StorePurchase): string[] {
  return [linkedId, renewed?.id].filter((id) => id !== undefined);
}

async function ownedBy(store: StoreName, id: string | undefined, lineage: Lineage, scripts: CallerScripts) {
  if (id === undefined) return undefined;
  const document = await readPurchase(purchaseHash(id, store), scripts);
  if (document !== undefined && hasOwner(document)) {
    const accountId = await accountOf(document.owner, scripts);
    return accountId === undefined ? undefined : { word: 'account' as const, accountId, isBound: document.isBound, replaced: document };
  }
  const before = lineage.get(id);
  if (before === undefined) return undefined;
  // The search goes on without this purchase, because two purchases that name each other would lead in circles.
  const further = new Map([...lineage].filter(([other]) => other !== id));
  const owner = await storeOwnerOf({ store, purchase: before }, further, scripts);
  return owner.word === 'account' ? owner : undefined;
}

/** Whether a purchase has an owner. The owner may have been deleted. */
export function hasOwner({ owner }: PurchaseDocument): boolean {
  return owner !== '' && owner !== '-';
}
