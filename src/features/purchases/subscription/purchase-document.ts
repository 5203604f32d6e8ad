import { purchaseLine } from '../../../accounts/purchase-lines.ts';
import { timeOf } from '../../../accounts/merge-rules.ts';
import { Journal } from '../../../journal/journal.ts';
import { defineLibrary } from '../../../redis/script.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import type { StoreState } from '../../../stores/store.ts';
import { FIRST_STORE, type StoreName } from '../../../stores/stores.ts';
import { readFields, type PurchaseFields } from '../core/purchase-fields.ts';
import { UNACKNOWLEDGED_MS } from '../core/check-schedule.ts';
import { subscriptionKeys } from './model.ts';

/** Lua functions for every script that changes a purchase. */
export const todoPrelude = defineLibrary(new URL('purchase-todo.lua', import.meta.url));

/** The record of a purchase. A field that Redis does not have is ''. */
export type PurchaseDocument = Readonly<ReturnType<typeof documentOf>>;

export async function readPurchase(hash: string, scripts: ScriptRunner): Promise<PurchaseDocument | undefined> {
  const fields = await readFields(subscriptionKeys.purchase(hash), scripts);
  return fields && documentOf(fields);
}

function documentOf(fields: PurchaseFields) {
  const text = (name: string): string => fields.text(name);
  return {
    /**
     * The id of the account that owns the purchase. If a guest recorded the purchase and then moved, the owner is still the guest's id, and
     * `accountOf` gives the account into which the guest moved. '' while no account owns the purchase.
     */
    owner: text('owner'),
    /** Whether an id that the app gave to the store names the owner. No other account can then claim the purchase. */
    isBound: fields.has('bound'),
    revision: fields.has('revision') ? text('revision') : '0',
    /** The steps that still have to follow a change of this purchase (`purchase-todo.lua`). */
    todo: fields.words('todo'),
    retiredBy: text('retiredBy'),
    moved: text('moved'),
    store: fields.has('store') ? (text('store') as StoreName) : FIRST_STORE,
    /**
     * The store's own id of the purchase, which at Google is a secret. '' for a purchase that was replaced before any account recorded it.
     */
    id: text('token'),
    packageName: text('packageName'),
    /** Whether nobody paid for it. */
    isTest: fields.has('test'),
    /** '' until the store has answered. */
    state: text('state') as StoreState | '',
    expiresAt: timeOf(text('expiresAt').replace('-', '')),
    willRenew: /[01]/.test(text('willRenew')) ? text('willRenew') === '1' : undefined,
    checkedAt: fields.number('checkedAt'),
    productId: text('productId'),
    faults: fields.number('faults'),
    /** How many times in a row the store has answered that it does not know the purchase. Only for a purchase without an owner. */
    unknowns: fields.number('unknowns'),
    /** The time at which the next check is due, in milliseconds since 1970. Undefined if no check is due. */
    dueAt: timeOf(text('dueAt')),
    /** The time at which a notification first named the purchase. Undefined if an app sent the purchase before any notification. */
    noticedAt: timeOf(text('noticedAt')),
    /**
     * The time at which the purchase was bought, in milliseconds since 1970. Known only if the purchase had no owner when it was checked.
     */
    boughtAt: timeOf(text('boughtAt')),
    orderId: text('orderId'),
    /**
     * The earlier purchases that this purchase continues, by `purchaseHash`. If such an earlier purchase gets an owner, that owner gets
     * this purchase too.
     */
    follows: fields.words('follows'),
  };
}

/** The line of a purchase in its owner's account, which `purchasesOf` parses. */
export function lineOf(hash: string, { state, expiresAt, willRenew, checkedAt, productId }: PurchaseDocument): string {
  const renews = willRenew === undefined ? '-' : String(Number(willRenew));
  return purchaseLine.write({ hash, state, ends: expiresAt ?? '-', renews, checked: checkedAt, product: productId });
}

/** Whether the paid time of a purchase has ended. Access may last longer: purchase-expiry.ts adds leeway for a renewal. */
export function hasEnded({ state, expiresAt }: Pick<PurchaseDocument, 'state' | 'expiresAt'>, now: number): boolean {
  return state === 'expired' || (state !== 'pending' && expiresAt !== undefined && expiresAt <= now);
}

/** The journal of changes of purchases. The journal's queue also has the times at which purchases are checked. */
export function purchaseJournal({ scripts, now }: { readonly scripts: ScriptRunner; readonly now: () => number }): Journal {
  return new Journal({ scripts, now, name: subscriptionKeys.due, takeOverMs: UNACKNOWLEDGED_MS });
}

/**
 * Changes a purchase, after an entry for the purchase was put into the queue. So after a crash the queue checks the purchase within
 * UNACKNOWLEDGED_MS, and finishes the steps that are left.
 * @param act makes the change. It gets the name of the change, which the record of the purchase keeps for the audit, and resolves with the
 * time at which the next check is due
 */
export function queued(
  hash: string,
  services: { readonly scripts: ScriptRunner; readonly now: () => number },
  act: (name: string) => Promise<number | undefined>,
): Promise<void> {
  return purchaseJournal(services).run(hash, act);
}
