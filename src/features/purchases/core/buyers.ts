import { ACCOUNT_ID } from '../../../accounts/ids.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import type { StoreDeclaration } from '../../../stores/store.ts';
import { rowOf } from '../../../stores/stores.ts';
import { table } from '../../../stores/store-table.ts';
import { forgetName, idNamed, keepName } from './ids-by-name.ts';

/** The stores for which an account has another id, derived from the account id. The account id cannot be computed from the derived id. */
const deriving: readonly StoreDeclaration[] = (table as readonly StoreDeclaration[]).filter(
  ({ accountIds }) => accountIds.derive !== undefined,
);

/** The Redis key of a string: the account for which `AccountIds.derive` made this id. */
const buyerKey = (store: string, id: string): string => `{store-buyer:${store}:${id}}`;

/** The account's id for a store. */
export function idForStore({ accountIds }: StoreDeclaration, accountId: string): string {
  return accountIds.derive?.(accountId) ?? accountId;
}

/** Records the ids that an account has for the stores that are open, so that the account of a purchase can be found by them. */
export async function keepBuyers(accountId: string, isOpen: (store: string) => boolean, scripts: ScriptRunner): Promise<void> {
  const kept = deriving.filter(({ name }) => isOpen(name));
  await Promise.all(kept.map((row) => keepName(buyerKey(row.name, idForStore(row, accountId)), accountId, scripts)));
}

export async function forgetBuyers(accountId: string, scripts: ScriptRunner): Promise<void> {
  await Promise.all(deriving.map((row) => forgetName(buyerKey(row.name, idForStore(row, accountId)), scripts)));
}

/**
 * The account that the app named to the store when its user bought. Undefined if the app named no account, or an id that coinop did not
 * make.
 */
export async function accountNamedBy(store: string, buyer: string | undefined, scripts: ScriptRunner): Promise<string | undefined> {
  if (buyer === undefined) return undefined;
  if (rowOf(store).accountIds.derive === undefined) return ACCOUNT_ID.test(buyer) ? buyer : undefined;
  return idNamed(buyerKey(store, buyer), scripts);
}
