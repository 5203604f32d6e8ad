import { setTimeout as pause } from 'node:timers/promises';
import { standingLibrary } from '../../../accounts/standing.ts';
import { settled } from '../../../accounts/standing-reader.ts';
import { accountKey, standingKey } from '../../../accounts/account-keys.ts';
import type { CallerScripts } from '../../../accounts/caller-scripts.ts';
import { refuse } from '../../../errors.ts';
import { Journal } from '../../../journal/journal.ts';
import { timeOf } from '../../../accounts/fields.ts';
import { pairsOf } from '../../../redis/pairs.ts';
import { defineLibrary, defineScript } from '../../../redis/script.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import { UNACKNOWLEDGED_MS } from './check-schedule.ts';
import { subscriptionKeys } from './model.ts';

/** Lua functions for every script that changes a purchase. */
export const todoPrelude = defineLibrary(new URL('purchase-todo.lua', import.meta.url));

export const readPurchaseScript = defineScript({
  file: new URL('read-purchase.lua', import.meta.url),
  keys: ['purchase'],
  args: [],
  answers: ['found', 'unknown'],
  readOnly: true,
});

export const readOwnerScript = defineScript({
  file: new URL('read-owner.lua', import.meta.url),
  keys: ['account', 'standing'],
  args: [],
  answers: ['guest', 'store_account', 'moved', 'moving', 'deleted'],
  readOnly: true,
  library: standingLibrary,
});

/** The record of a purchase. A field that Redis does not have is ''. */
export interface PurchaseDocument {
  /**
   * The id of the account that owns the purchase. After a guest moved it is still the guest's id: `ownerOf` gives the account. '' while no
   * account owns the purchase.
   */
  readonly owner: string;
  /** Whether an id that the app gave to the store names the owner. No other account can then claim the purchase. */
  readonly isBound: boolean;
  readonly revision: string;
  /** The steps that still have to follow a change of this purchase (`purchase-todo.lua`). */
  readonly todo: readonly string[];
  readonly retiredBy: string;
  /** The purchase token, a secret. '' for a purchase that was replaced before any account recorded it. */
  readonly token: string;
  readonly packageName: string;
  readonly state: string;
  readonly expiresAt: string;
  readonly willRenew: string;
  readonly checkedAt: string;
  readonly productId: string;
  readonly faults: number;
  /** The number of answers in a row of the store that it does not know the purchase. Only for a purchase without an owner. */
  readonly unknowns: number;
  /** When the next check is due, in milliseconds since 1970. Undefined: never. */
  readonly dueAt: number | undefined;
  /** When a notification first named the purchase. Undefined if an app sent the purchase before any notification. */
  readonly noticedAt: number | undefined;
  /** When the purchase was bought, in milliseconds since 1970. Only of a purchase that had no owner when it was checked. */
  readonly boughtAt: number | undefined;
  readonly orderId: string;
  /**
   * The earlier purchases that this purchase continues, by `purchaseHash`. If an earlier purchase gets an owner, the owner gets this
   * purchase too.
   */
  readonly follows: readonly string[];
}

export async function readPurchase(hash: string, scripts: ScriptRunner): Promise<PurchaseDocument | undefined> {
  const [word, ...words] = await scripts.run(readPurchaseScript, { purchase: subscriptionKeys.purchase(hash) }, {});
  if (word === 'unknown') return undefined;
  const fields = new Map(pairsOf(words));
  const text = (name: string): string => fields.get(name) ?? '';
  const list = (name: string): string[] => (text(name) === '' ? [] : text(name).split(' '));
  return {
    owner: text('owner'),
    isBound: fields.has('bound'),
    revision: fields.get('revision') ?? '0',
    todo: list('todo'),
    retiredBy: text('retiredBy'),
    token: text('token'),
    packageName: text('packageName'),
    state: text('state'),
    expiresAt: text('expiresAt'),
    willRenew: text('willRenew'),
    checkedAt: text('checkedAt'),
    productId: text('productId'),
    faults: Number(text('faults')),
    unknowns: Number(text('unknowns')),
    dueAt: timeOf(text('dueAt')),
    noticedAt: timeOf(text('noticedAt')),
    boughtAt: timeOf(text('boughtAt')),
    orderId: text('orderId'),
    follows: list('follows'),
  };
}

/** The line of a purchase in its owner's account, which `purchasesOf` parses. */
export function lineOf(hash: string, document: PurchaseDocument): string {
  return `${hash} ${wordsOf(document)}`;
}

/** The text of a purchase's line after the hash. */
export function wordsOf({ state, expiresAt, willRenew, checkedAt, productId }: PurchaseDocument): string {
  return [state, expiresAt, willRenew, checkedAt, productId].join(' ');
}

/**
 * The account that owns a purchase: the account with the id `owner`, or, if it moved, the account into which it moved. Undefined: deleted.
 */
export async function accountOf(owner: string, scripts: CallerScripts): Promise<string | undefined> {
  const { word, accountId } = await settled(owner, scripts);
  return word === 'deleted' ? undefined : accountId;
}

/** The account that `accountOf` gives, and whether it is a store account. */
export async function ownerOf(owner: string, scripts: CallerScripts): Promise<{ accountId: string | undefined; isStoreAccount: boolean }> {
  const accountId = await accountOf(owner, scripts);
  if (accountId === undefined) return { accountId, isStoreAccount: false };
  const [word] = await scripts.run(readOwnerScript, { account: accountKey(accountId), standing: standingKey(accountId) }, {});
  return { accountId, isStoreAccount: word === 'store_account' };
}

/** Whether the paid time of a purchase has ended. Access may last longer: purchase-expiry.ts adds leeway for a renewal. */
export function hasEnded({ state, expiresAt }: Pick<PurchaseDocument, 'state' | 'expiresAt'>, now: number): boolean {
  return state === 'expired' || (state !== 'pending' && /^\d+$/.test(expiresAt) && Number(expiresAt) <= now);
}

/** The most attempts of a call. An attempt fails if another call changed the purchase meanwhile. */
const TRIES = 30;

/**
 * How much the longest pause before an attempt grows from attempt to attempt, in milliseconds. Pauses are random, so that hundreds of calls
 * for one purchase all succeed.
 */
const PAUSE_GROWS_MS = 20;

/**
 * Repeats `act` until it gives an answer. `act` gives none if another call has changed the purchase meanwhile.
 * @throws Refusal `store_unavailable` after TRIES attempts
 */
export async function untilSettled<Answer>(act: () => Promise<Answer | undefined>): Promise<Answer> {
  for (let tries = 0; tries < TRIES; tries++) {
    const answer = await act();
    if (answer !== undefined) return answer;
    await pause(Math.random() * tries * PAUSE_GROWS_MS);
  }
  throw refuse('store_unavailable', { message: 'Other calls keep changing the purchase: try again.' });
}

/** The journal of changes of purchases. Its queue also has the times at which purchases are checked. */
export function purchaseJournal({ scripts, now }: { readonly scripts: ScriptRunner; readonly now: () => number }): Journal {
  return new Journal({ scripts, now, name: subscriptionKeys.due, takeOverMs: UNACKNOWLEDGED_MS });
}

/**
 * Runs an act that changes a purchase, after the queue has an entry for it: after a crash the queue checks the purchase within
 * UNACKNOWLEDGED_MS, and finishes the steps that are left.
 * @param act gets the name of the act, which the record of the purchase keeps for the audit; resolves with the time at which the next check
 * is due
 */
export async function queued(
  hash: string,
  { scripts, now }: { readonly scripts: ScriptRunner; readonly now: () => number },
  act: (name: string) => Promise<number | undefined>,
): Promise<void> {
  const { done } = await purchaseJournal({ scripts, now }).begin(hash, act, async (nextAt) => nextAt);
  await done;
}
