import type { ScriptServices } from '../../../declare.ts';
import { refuse, Refusal } from '../../../errors.ts';
import { backoffMs } from '../../../journal/backoff.ts';
import { Journal } from '../../../journal/journal.ts';
import type { DueQueue } from '../../../redis/due-queue.ts';
import { defineScript } from '../../../redis/script.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import type { StorePurchase } from '../../../stores/store.ts';
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

/**
 * The number of answers "unknown purchase" of the app store after which a purchase is forgotten. Failed calls are not counted. Google may
 * send a notification of a purchase before its API knows the purchase.
 */
const UNKNOWN_TRIES = 4;

/** How long after its refund time an unacknowledged purchase is checked, in milliseconds, so that the app store has refunded it. */
const AFTER_REFUND_MS = 60_000;

/**
 * The shortest and the longest wait, in milliseconds, before the queue checks again whether an earlier purchase that a purchase continues
 * has an owner. The notifications of both purchases may arrive in any order.
 */
const FIRST_FOLLOWED_MS = 2000;
const LONGEST_FOLLOWED_MS = 10 * 60_000;

/** The journal of purchases without an owner. Its queue also has the times at which these purchases are checked. */
function unownedJournal({ scripts, now }: { readonly scripts: ScriptRunner; readonly now: () => number }): Journal {
  return new Journal({ scripts, now, name: subscriptionKeys.unowned, takeOverMs: UNACKNOWLEDGED_MS });
}

/**
 * Records a notification of a purchase without an owner, and makes the purchase's check due. Several notifications make one check due.
 * @returns false if an account has become the owner meanwhile
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

/** Checks purchases without an owner when they are due, until the returned queue is closed. */
export function unownedChecks(services: CheckServices): DueQueue {
  return unownedJournal(services).takeOver((hash) => checkUnowned(hash, services), LEASE_MS, services.log);
}

/**
 * Asks the app store about a purchase without an owner, and makes the account that the answer names its owner.
 * @returns when the next check is due, in milliseconds since 1970; undefined: the purchase has an owner, or the store waits for no
 * acknowledgement
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

/** Whether the purchase was canceled before anybody paid for it: it is expired and has no end. */
function isNeverPaid({ state, expiresAt }: StorePurchase): boolean {
  return state === 'expired' && expiresAt === undefined;
}

/**
 * Whether an earlier purchase that this purchase continues has an owner now, so that a check can find the owner. After a failed check the
 * result is false, so that the wait stays.
 */
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

/**
 * Forgets a purchase without an owner. @returns the time now if a notification arrived meanwhile, so that the purchase is checked again at
 * once
 */
async function forget(hash: string, askedAt: number, { scripts, now }: CheckServices): Promise<number | undefined> {
  const [word] = await scripts.run(forgetScript, { purchase: subscriptionKeys.purchase(hash) }, { askedAt });
  return word === 'kept' ? now() : undefined;
}

interface Adoption {
  readonly token: string;
  readonly purchase: StorePurchase;
  readonly owner: Extract<StoreOwner, { word: 'account' }>;
}

/** Records the purchase for its owner, and acknowledges it. After a crash in between, the queue of purchases to check does the rest. */
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
    // An app has sent the token meanwhile, so the purchase has an owner.
    if (word === 'changed') return (await finishPurchase(hash, services))?.dueAt;
    return acknowledgeRecorded({ hash, token, purchase, act }, { ...services, subscriptions: store.subscriptions! });
  });
}
