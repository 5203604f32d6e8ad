import { setTimeout as pause } from 'node:timers/promises';
import { standingLibrary } from '../../accounts/standing.ts';
import { settled } from '../../accounts/standing-reader.ts';
import { accountKey, standingKey } from '../../accounts/account-keys.ts';
import type { CallerScripts } from '../../accounts/caller-scripts.ts';
import { refuse } from '../../errors.ts';
import { Journal } from '../../journal/journal.ts';
import { timeOf } from '../../accounts/fields.ts';
import { pairsOf } from '../../redis/pairs.ts';
import { defineLibrary, defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
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

/** A purchase as Redis keeps it: '' for a field that it does not have. */
export interface PurchaseDocument {
  /** An account id. After a move it is still the guest's: `ownerOf` has the account. '' while nobody owns the purchase. */
  readonly owner: string;
  /** An id that the app gave to the store names the owner: nobody else can claim the purchase. */
  readonly isBound: boolean;
  readonly revision: string;
  /** The changes that other keys still have to follow (`purchase-todo.lua`). */
  readonly todo: readonly string[];
  readonly retiredBy: string;
  /** '' for a purchase that was replaced before anybody recorded it. */
  readonly token: string;
  readonly packageName: string;
  readonly state: string;
  readonly expiresAt: string;
  readonly willRenew: string;
  readonly checkedAt: string;
  readonly productId: string;
  readonly faults: number;
  /** Answers in a row of the store that it does not know the purchase. Only of a purchase that nobody owns. */
  readonly unknowns: number;
  /** The time of the next check. Undefined: there is none. */
  readonly dueAt: number | undefined;
  /** When a notification named it first. Undefined: an app sent it before. */
  readonly noticedAt: number | undefined;
  /** Only of a purchase that nobody owned. */
  readonly boughtAt: number | undefined;
  readonly orderId: string;
  /** The purchases that it continues. Such a purchase may get an owner later. */
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

/** A purchase as a line of its account, which `purchasesOf` parses. */
export function lineOf(hash: string, document: PurchaseDocument): string {
  return `${hash} ${wordsOf(document)}`;
}

/** The text of a line after the hash. */
export function wordsOf({ state, expiresAt, willRenew, checkedAt, productId }: PurchaseDocument): string {
  return [state, expiresAt, willRenew, checkedAt, productId].join(' ');
}

/**
 * The account id of a purchase's owner; after a move, the id of the account that the owner moved into. Undefined: the owner was deleted.
 */
export async function accountOf(owner: string, scripts: CallerScripts): Promise<string | undefined> {
  const { word, accountId } = await settled(owner, scripts);
  return word === 'deleted' ? undefined : accountId;
}

/** `accountOf`, and whether it is a store account. */
export async function ownerOf(owner: string, scripts: CallerScripts): Promise<{ accountId: string | undefined; isStoreAccount: boolean }> {
  const accountId = await accountOf(owner, scripts);
  if (accountId === undefined) return { accountId, isStoreAccount: false };
  const [word] = await scripts.run(readOwnerScript, { account: accountKey(accountId), standing: standingKey(accountId) }, {});
  return { accountId, isStoreAccount: word === 'store_account' };
}

/** Whether the paid time has ended. Access may last longer: purchase-expiry.ts adds leeway for a renewal. */
export function hasEnded({ state, expiresAt }: Pick<PurchaseDocument, 'state' | 'expiresAt'>, now: number): boolean {
  return state === 'expired' || (state !== 'pending' && /^\d+$/.test(expiresAt) && Number(expiresAt) <= now);
}

/** Concurrent changes of one purchase that a call follows. */
const TRIES = 30;

/** The longest pause before a try grows by this much each time: random pauses let hundreds of calls for one purchase each have its turn. */
const PAUSE_GROWS_MS = 20;

/**
 * Repeats `act` until it gives an answer: another call changed the purchase meanwhile.
 * @throws Refusal `store_unavailable` after TRIES
 */
export async function untilSettled<Answer>(act: () => Promise<Answer | undefined>): Promise<Answer> {
  for (let tries = 0; tries < TRIES; tries++) {
    const answer = await act();
    if (answer !== undefined) return answer;
    await pause(Math.random() * tries * PAUSE_GROWS_MS);
  }
  throw refuse('store_unavailable', { message: 'Other calls keep changing the purchase: try again.' });
}

/** The journal of purchases. Its queue also holds the times of their checks. */
export function purchaseJournal({ scripts, now }: { readonly scripts: ScriptRunner; readonly now: () => number }): Journal {
  return new Journal({ scripts, now, name: subscriptionKeys.due, takeOverMs: UNACKNOWLEDGED_MS });
}

/**
 * Runs an act that changes a purchase, with an entry in the queue written ahead: after a crash the queue checks the purchase
 * within UNACKNOWLEDGED_MS, and finishes the later steps.
 * @param act gets the name of the act, which the purchase keeps for the audit; resolves with the time of the next check
 */
export async function queued(
  hash: string,
  { scripts, now }: { readonly scripts: ScriptRunner; readonly now: () => number },
  act: (name: string) => Promise<number | undefined>,
): Promise<void> {
  const { done } = await purchaseJournal({ scripts, now }).begin(hash, act, async (nextAt) => nextAt);
  await done;
}
