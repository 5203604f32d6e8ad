import type { ScriptServices } from '../../../declare.ts';
import type { DueQueue } from '../../../redis/due-queue.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import type { StorePurchase } from '../../../stores/store.ts';
import type { StoreName } from '../../../stores/stores.ts';
import { askStore, orFailed } from '../core/ask-store.ts';
import { purchaseScript } from '../core/purchase-script.ts';
import { UNKNOWN_TRIES, WaitingPurchases, type NamedPurchase } from '../core/waiting-purchases.ts';
import { LEASE_MS, nextCheckAt, refundAt, UNACKNOWLEDGED_MS } from '../core/check-schedule.ts';
import { finishPurchase } from './finish-purchase.ts';
import { subscriptionKeys } from './model.ts';
import type { CheckServices } from './purchase-check.ts';
import { queued, readPurchase, todoPrelude, type PurchaseDocument } from './purchase-document.ts';
import {
  acknowledgeRecorded,
  firstCheckAt,
  namedArguments,
  namedIn,
  purchaseArguments,
  stateArguments,
  type Answered,
} from './purchase-record.ts';
import { followedBy, hasOwner, lineageOf, storeOwnerOf, type StoreOwner } from './store-owner.ts';
import { withinTestBounds } from './test-access.ts';

export const noticeScript = purchaseScript(
  new URL('notice-purchase.lua', import.meta.url),
  [...namedArguments, 'act'],
  ['noticed', 'owned'],
);

export const awaitScript = purchaseScript(
  new URL('await-owner.lua', import.meta.url),
  [...stateArguments, 'boughtAt', 'orderId', 'follows'],
  ['waits', 'owned'],
  { prelude: todoPrelude, durable: false },
);

export const adoptScript = purchaseScript(
  new URL('adopt-purchase.lua', import.meta.url),
  ['accountId', ...namedArguments, ...stateArguments, 'bound', 'act'],
  ['recorded', 'changed'],
  { prelude: todoPrelude },
);

/**
 * An unacknowledged purchase is checked this long after its refund time, in milliseconds, so that the app store has refunded it by then.
 */
const AFTER_REFUND_MS = 60_000;

/**
 * A purchase may continue an earlier one. The queue checks whether the earlier purchase has an owner. This constant is the shortest wait
 * between two of these checks, in milliseconds. The notifications of both purchases may arrive in any order.
 */
const LEAST_FOLLOWED_MS = 2000;

/** The longest such wait, in milliseconds. */
const LONGEST_FOLLOWED_MS = 10 * 60_000;

/** Purchases without an owner. */
function waitingIn({ scripts, now }: { readonly scripts: ScriptRunner; readonly now: () => number }): WaitingPurchases {
  return new WaitingPurchases({
    name: subscriptionKeys.unowned,
    keyOf: subscriptionKeys.purchase,
    takeOverMs: UNACKNOWLEDGED_MS,
    scripts,
    now,
  });
}

/**
 * Records a notification of a purchase without an owner, and makes the purchase's check due. Several notifications of a purchase make only
 * one check due.
 * @param isNew whether the purchase has no record yet
 * @returns false if an account has become the owner meanwhile
 * @throws Refusal `store_unavailable` if too many new purchases wait
 */
export async function noteUnowned(
  hash: string,
  { store, ...purchase }: NamedPurchase,
  isNew: boolean,
  services: ScriptServices,
): Promise<boolean> {
  const waiting = waitingIn(services);
  if (isNew) await waiting.refuseIfFull(hash);
  let isNoted = false;
  await waiting.keep(hash, async (act) => {
    const args = { ...namedIn({ store, purchase }), act };
    const [word, dueAt] = await services.scripts.run(noticeScript, { purchase: subscriptionKeys.purchase(hash) }, args);
    isNoted = word === 'noticed';
    return isNoted ? Number(dueAt) : undefined;
  });
  return isNoted;
}

/** Checks purchases without an owner when they are due, until the returned queue is closed. */
export function unownedChecks(services: CheckServices): DueQueue {
  return waitingIn(services).takeOver((hash) => checkUnowned(hash, services), LEASE_MS, services.log);
}

/**
 * Asks the app store about a purchase without an owner. If the answer names an account, makes this account the owner.
 * @returns when the next check is due, in milliseconds since 1970; undefined: the purchase has an owner, or the store waits for no
 * acknowledgement
 */
export async function checkUnowned(hash: string, services: CheckServices): Promise<number | undefined> {
  const { scripts, now, log, stores, config } = services;
  const document = await readPurchase(hash, scripts);
  if (document === undefined || document.owner !== '') return undefined;
  const { store, dueAt, faults, unknowns } = document;
  if (dueAt !== undefined && dueAt > now() && !(await mayFollow(document, scripts))) return followedAt(document, dueAt, now());

  const waiting = waitingIn(services);
  const askedAt = now();
  const subscriptions = stores.salesOf(store, 'subscriptions');
  const answer = withinTestBounds(await askStore(subscriptions, document), config);
  const repeatFailed = () => waiting.repeat(hash, { faults: faults + 1, unknowns });
  if (answer === 'failed') return repeatFailed();
  if (answer === 'unknown' && unknowns + 1 < UNKNOWN_TRIES) return waiting.repeat(hash, { faults: unknowns + 1, unknowns: unknowns + 1 });
  if (typeof answer === 'string' || isNeverPaid(answer)) return waiting.forget(hash, askedAt);

  const answered = { store, purchase: answer };
  const lineage = await orFailed(lineageOf(answered, subscriptions!, scripts));
  if (lineage === 'failed') return repeatFailed();
  const owner = await storeOwnerOf(answered, lineage, scripts);
  if (owner.word === 'account') return adopt(hash, { ...answered, owner }, services);
  const next = nextCheckAt(answer, now());
  if (owner.word === 'deleted' || answer.acknowledged || next === undefined) {
    const reason = owner.word === 'deleted' ? 'its account was deleted' : `it is ${answer.acknowledged ? 'acknowledged' : answer.state}`;
    log.info({ purchase: hash.slice(0, 6), reason }, 'a notification named a purchase that belongs to nobody');
    return waiting.forget(hash, askedAt);
  }
  const follows = followedBy(answered, lineage);
  const refundedAt = (refundAt({ store, boughtAt: answer.boughtAt }) ?? -Infinity) + AFTER_REFUND_MS;
  const [word, nextAt] = await scripts.run(
    awaitScript,
    { purchase: subscriptionKeys.purchase(hash) },
    {
      ...purchaseArguments(store, answer, refundedAt > now() ? Math.min(next, refundedAt) : next),
      boughtAt: answer.boughtAt ?? '',
      orderId: answer.orderId ?? '',
      follows: follows.join(' '),
    },
  );
  return word === 'owned' ? undefined : followedAt({ ...document, follows }, Number(nextAt), now());
}

/** Whether the purchase was canceled before anybody paid for it. A purchase that was never paid is expired and has no end. */
function isNeverPaid({ state, expiresAt }: StorePurchase): boolean {
  return state === 'expired' && expiresAt === undefined;
}

/**
 * Whether an earlier purchase that this purchase continues has an owner now, so that a check can find the owner. After a failed check the
 * result is false, so that the wait before the next check stays as it is.
 */
async function mayFollow({ follows, faults }: PurchaseDocument, scripts: ScriptRunner): Promise<boolean> {
  if (faults > 0) return false;
  const followed = await Promise.all(follows.map((hash) => readPurchase(hash, scripts)));
  return followed.some((document) => document !== undefined && hasOwner(document));
}

function followedAt({ follows, noticedAt = 0 }: PurchaseDocument, dueAt: number, now: number): number {
  if (follows.length === 0) return dueAt;
  const waitMs = Math.min(Math.max((now - noticedAt) / 4, LEAST_FOLLOWED_MS), LONGEST_FOLLOWED_MS);
  return Math.min(dueAt, Math.round(now + waitMs));
}

interface Adoption extends Answered {
  readonly owner: Extract<StoreOwner, { word: 'account' }>;
}

/**
 * Records the purchase for its owner, and acknowledges it. After a crash in between, the queue of purchases to check finishes the steps.
 */
async function adopt(hash: string, { store, purchase, owner }: Adoption, services: CheckServices): Promise<undefined> {
  const { scripts, now, stores } = services;
  await queued(hash, services, async (act) => {
    const [word] = await scripts.run(
      adoptScript,
      { purchase: subscriptionKeys.purchase(hash) },
      {
        accountId: owner.accountId,
        ...namedIn({ store, purchase }),
        ...purchaseArguments(store, purchase, firstCheckAt(purchase, now())),
        bound: Number(owner.isBound),
        act,
      },
    );
    // `changed` means that an app has sent the token meanwhile, so that the purchase has an owner.
    if (word === 'changed') return (await finishPurchase(hash, services))?.dueAt;
    return acknowledgeRecorded({ hash, store, purchase, act }, { ...services, subscriptions: stores.named(store)!.subscriptions! });
  });
}
