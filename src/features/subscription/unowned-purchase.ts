import type { ScriptServices } from '../../declare.ts';
import { refuse, Refusal } from '../../errors.ts';
import { backoffMs } from '../../journal/backoff.ts';
import { Journal } from '../../journal/journal.ts';
import type { DueQueue } from '../../redis/due-queue.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import type { StorePurchase } from '../../stores/store.ts';
import { nextCheckAt, refundAt, UNACKNOWLEDGED_MS } from './check-schedule.ts';
import { finishPurchase } from './finish-purchase.ts';
import { subscriptionKeys } from './model.ts';
import { LEASE_MS, schedulePurchase, type CheckServices } from './purchase-check.ts';
import { queued, readPurchase, todoPrelude, type PurchaseDocument } from './purchase-document.ts';
import { acknowledgeRecorded, firstCheckAt, purchaseArguments, stateArguments } from './purchase-record.ts';
import { followedBy, hasOwner, lineageOf, storeOwnerOf, type Lineage, type StoreOwner } from './store-owner.ts';

export const noticeScript = defineScript({
  file: new URL('notice-purchase.lua', import.meta.url),
  keys: ['purchase'],
  args: ['token', 'packageName', 'act'],
  answers: ['noticed', 'owned'],
  durable: true,
});

export const awaitScript = defineScript({
  file: new URL('await-owner.lua', import.meta.url),
  keys: ['purchase'],
  args: [...stateArguments, 'boughtAt', 'orderId', 'follows'],
  answers: ['waits', 'owned'],
  prelude: todoPrelude,
});

export const adoptScript = defineScript({
  file: new URL('adopt-purchase.lua', import.meta.url),
  keys: ['purchase'],
  args: ['accountId', 'token', 'packageName', ...stateArguments, 'bound', 'act'],
  answers: ['recorded', 'changed'],
  prelude: todoPrelude,
  durable: true,
});

export const forgetScript = defineScript({
  file: new URL('forget-purchase.lua', import.meta.url),
  keys: ['purchase'],
  args: ['askedAt'],
  answers: ['forgotten', 'kept'],
});

/** Answers of the app store that it does not know a token. Failed calls do not count. Google may name a purchase to us before its API answers for it. */
const UNKNOWN_TRIES = 4;

/** Time for the app store to refund a purchase. */
const AFTER_REFUND_MS = 60_000;

/** Waits until the purchases are read again that this one continues: notifications of both may arrive in any order. */
const FIRST_FOLLOWED_MS = 2000;
const LONGEST_FOLLOWED_MS = 10 * 60_000;

/** The journal of purchases that nobody owns yet. Its queue also holds the times of their checks. */
function unownedJournal({ scripts, now }: { readonly scripts: ScriptRunner; readonly now: () => number }): Journal {
  return new Journal({ scripts, now, name: subscriptionKeys.unowned, takeOverMs: UNACKNOWLEDGED_MS });
}

/**
 * Records a notification of a purchase that nobody owns, and makes its check due: one check, however many notifications come.
 * @returns false: an account has become its owner meanwhile
 */
export async function noteUnowned(
  hash: string,
  of: { readonly token: string; readonly packageName: string },
  services: ScriptServices,
): Promise<boolean> {
  const { decision, done } = await unownedJournal(services).begin(
    hash,
    (act) => services.scripts.run(noticeScript, { purchase: subscriptionKeys.purchase(hash) }, { ...of, act }),
    async ([word, dueAt]) => (word === 'noticed' ? Number(dueAt) : undefined),
  );
  await done;
  return decision[0] === 'noticed';
}

/** The queue of purchases that nobody owns. */
export function unownedChecks(services: CheckServices): DueQueue {
  return unownedJournal(services).takeOver((hash) => checkUnowned(hash, services), LEASE_MS, services.log);
}

/**
 * Asks the app store about a purchase that nobody owns, and makes the account its owner that the answer names.
 * @returns the time of the next check; undefined: it has an owner, or the app store waits for no acknowledgement
 */
export async function checkUnowned(hash: string, services: CheckServices): Promise<number | undefined> {
  const { scripts, now, log, store } = services;
  const document = await readPurchase(hash, scripts);
  if (document === undefined || document.owner !== '') return undefined;
  const { token, packageName, dueAt, faults, unknowns } = document;
  if (dueAt !== undefined && dueAt > now() && !(await mayFollow(document, scripts))) return followedAt(document, dueAt, now());

  const askedAt = now();
  let answer: StorePurchase | 'gone' | 'unknown';
  let lineage: Lineage = new Map();
  try {
    if (store.subscriptions === undefined) throw refuse('store_unconfigured');
    answer = await store.subscriptions.read(token, packageName);
    if (typeof answer !== 'string') lineage = await lineageOf(answer, store.subscriptions, scripts);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return repeatLater(hash, { faults: faults + 1, unknowns }, services);
  }
  if (answer === 'unknown' && unknowns + 1 < UNKNOWN_TRIES)
    return repeatLater(hash, { faults: unknowns + 1, unknowns: unknowns + 1 }, services);
  if (typeof answer === 'string' || isNeverPaid(answer)) return forget(hash, askedAt, services);

  const owner = await storeOwnerOf(answer, lineage, scripts);
  if (owner.word === 'account') return adopt(hash, { token, purchase: answer, owner }, services);
  const next = nextCheckAt(answer, now());
  if (owner.word === 'deleted' || answer.acknowledged || next === undefined) {
    const reason = owner.word === 'deleted' ? 'its account was deleted' : `it is ${answer.acknowledged ? 'acknowledged' : answer.state}`;
    log.info({ purchase: hash.slice(0, 6), reason }, 'a notification named a purchase that belongs to nobody');
    return forget(hash, askedAt, services);
  }
  const follows = followedBy(answer, lineage);
  const refundedAt = (refundAt(answer) ?? -Infinity) + AFTER_REFUND_MS;
  const [word, nextAt] = await scripts.run(
    awaitScript,
    { purchase: subscriptionKeys.purchase(hash) },
    {
      ...purchaseArguments(answer, refundedAt > now() ? Math.min(next, refundedAt) : next),
      boughtAt: answer.boughtAt ?? '',
      orderId: answer.orderId ?? '',
      follows: follows.join(' '),
    },
  );
  return word === 'owned' ? undefined : followedAt({ ...document, follows }, Number(nextAt), now());
}

/** Expired without an end: it was canceled before it was paid for. */
function isNeverPaid({ state, expiresAt }: StorePurchase): boolean {
  return state === 'expired' && expiresAt === undefined;
}

/** Whether a purchase that this one continues has an owner now. After a failed check the wait until the next one counts. */
async function mayFollow({ follows, faults }: PurchaseDocument, scripts: ScriptRunner): Promise<boolean> {
  if (faults > 0) return false;
  const followed = await Promise.all(follows.map((hash) => readPurchase(hash, scripts)));
  return followed.some((document) => document !== undefined && hasOwner(document));
}

function followedAt({ follows, noticedAt = 0 }: PurchaseDocument, dueAt: number, now: number): number {
  if (follows.length === 0) return dueAt;
  const waitMs = Math.min(Math.max((now - noticedAt) / 4, FIRST_FOLLOWED_MS), LONGEST_FOLLOWED_MS);
  return Math.min(dueAt, Math.round(now + waitMs));
}

async function repeatLater(
  hash: string,
  counts: { readonly faults: number; readonly unknowns: number },
  { scripts, now }: CheckServices,
): Promise<number | undefined> {
  const dueAt = now() + backoffMs(counts.faults);
  const args = { dueAt, ...counts, hintedAt: '', act: '' };
  await scripts.run(schedulePurchase, { purchase: subscriptionKeys.purchase(hash) }, args);
  return dueAt;
}

/** @returns when the purchase is due again, because a notification arrived meanwhile */
async function forget(hash: string, askedAt: number, { scripts, now }: CheckServices): Promise<number | undefined> {
  const [word] = await scripts.run(forgetScript, { purchase: subscriptionKeys.purchase(hash) }, { askedAt });
  return word === 'kept' ? now() : undefined;
}

interface Adoption {
  readonly token: string;
  readonly purchase: StorePurchase;
  readonly owner: Extract<StoreOwner, { word: 'account' }>;
}

/** Records the purchase for its owner, and acknowledges it. After a crash in between the queue of checks finishes both. */
async function adopt(hash: string, { token, purchase, owner }: Adoption, services: CheckServices): Promise<undefined> {
  const { scripts, now, store } = services;
  await queued(hash, services, async (act) => {
    const [word] = await scripts.run(
      adoptScript,
      { purchase: subscriptionKeys.purchase(hash) },
      {
        accountId: owner.accountId,
        token,
        packageName: purchase.packageName,
        ...purchaseArguments(purchase, firstCheckAt(purchase, now())),
        bound: Number(owner.isBound),
        act,
      },
    );
    // An app sent the token meanwhile.
    if (word === 'changed') return (await finishPurchase(hash, services))?.dueAt;
    return acknowledgeRecorded({ hash, token, purchase, act }, { ...services, subscriptions: store.subscriptions! });
  });
}
