import { Refusal } from '../../errors.ts';
import { DueQueue } from '../../redis/due-queue.ts';
import { defineScript } from '../../redis/script.ts';
import type { Services } from '../../declare.ts';
import { entitles, purchaseHash, schedulePurchase, subscriptionKeys, type StoreState } from './model.ts';
import { acknowledge, askStore, type StorePurchase } from './play.ts';

export const openCheckScript = defineScript({
  file: new URL('open-check.lua', import.meta.url),
  keys: ['purchase', 'due'],
  args: ['hash'],
  answers: ['open', 'over'],
});

export const updateScript = defineScript({
  file: new URL('update-purchase.lua', import.meta.url),
  keys: ['purchase', 'linked', 'due'],
  args: [
    'hash',
    'now',
    'state',
    'expiresAt',
    'willRenew',
    'productId',
    'checkedAt',
    'acknowledged',
    'faults',
    'dueAt',
    'linkedHash',
    'retires',
  ],
  answers: ['updated', 'stale', 'retired'],
  prelude: new URL('purchases.lua', import.meta.url),
});

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Said to be active past its end: asked again this soon, then ever less often. */
const RENEWING_WAIT_MS = 10_000;

/** What was revoked or refunded is known this soon without a notification. */
const LONGEST_WAIT_MS = 12 * HOUR_MS;

/** On hold or paused: whoever pays or resumes waits for it to show. */
const HELD_WAIT_MS = HOUR_MS;

/** Pending: somebody is about to pay in a shop, and waits too. */
const PENDING_WAIT_MS = 10 * MINUTE_MS;

/** Long enough for the store to renew and for checks of one moment to spread, short enough that nobody sees the gap. */
const AFTER_EXPIRY_MS = 500;
const EXPIRY_JITTER_MS = 1000;

/** A purchase that was not acknowledged is looked at again this soon after it was recorded, a crash in between or none. */
export const UNACKNOWLEDGED_MS = MINUTE_MS;

/** Checks in vain: a minute apart, then twice as long each time, up to this. */
const LONGEST_BACKOFF_MS = 30 * MINUTE_MS;

/** The store knows a token for 60 days past its end (https://developer.android.com/google/play/billing/lifecycle/subscriptions). */
const FORGOTTEN_AFTER_MS = 60 * 24 * HOUR_MS;

/** When to ask for a purchase again; undefined: never, it is over for good. */
export function nextCheckAt({ state, expiresAt }: Pick<StorePurchase, 'state' | 'expiresAt'>, now: number): number | undefined {
  const longest = now + LONGEST_WAIT_MS;
  if (state === 'expired') return undefined;
  if (state === 'pending') return now + PENDING_WAIT_MS;
  if (state === 'on_hold' || state === 'paused' || expiresAt === undefined) return now + HELD_WAIT_MS;
  if (now < expiresAt) return Math.min(longest, Math.ceil(expiresAt + AFTER_EXPIRY_MS + Math.random() * EXPIRY_JITTER_MS));
  // A canceled one may be taken up again until it ends, and not later.
  if (state === 'canceled') return undefined;
  // The store says active, and that it ended: it is about to renew, or clocks differ.
  return Math.min(longest, now + Math.max(RENEWING_WAIT_MS, now - expiresAt));
}

/** After so many checks in vain in a row. Spread, for whatever made them fail makes many fail. */
function backoffMs(faults: number): number {
  return Math.round(Math.min(MINUTE_MS * 2 ** (faults - 1), LONGEST_BACKOFF_MS) * (0.75 + Math.random() / 4));
}

/** What the scripts keep of a purchase, in their spelling. */
export function purchaseWords(purchase: StorePurchase) {
  const { state, expiresAt, willRenew, productId, checkedAt, acknowledged, linkedToken, retires } = purchase;
  return {
    state,
    expiresAt: expiresAt ?? '-',
    willRenew: willRenew === undefined ? '-' : Number(willRenew),
    productId,
    checkedAt,
    acknowledged: Number(acknowledged),
    linkedHash: linkedToken === undefined ? '' : purchaseHash(linkedToken),
    retires: Number(retires),
  };
}

/** The keys of a purchase and of the one whose place it took; the same twice where it took none. */
export function purchaseKeysOf(hash: string, { linkedToken }: Pick<StorePurchase, 'linkedToken'>) {
  const { purchase, due } = subscriptionKeys;
  return { purchase: purchase(hash), linked: purchase(linkedToken === undefined ? hash : purchaseHash(linkedToken)), due };
}

/** Whether the store wants to be told that this purchase arrived: once access was given for it, and not before. */
export function wantsAcknowledgement(purchase: StorePurchase, now: number): boolean {
  return !purchase.acknowledged && entitles(purchase, now);
}

type RecheckParts = Pick<Services, 'scripts' | 'log' | 'now'> & { store: NonNullable<Services['store']> };

/**
 * Keeps what the store says, and sets the next check. @param faults checks in a row that were in vain or left the
 * purchase unacknowledged
 */
export async function updatePurchase(hash: string, purchase: StorePurchase, faults: number, { scripts, now }: RecheckParts): Promise<void> {
  const soon = faults > 0 ? now() + backoffMs(faults) : Infinity;
  const next = Math.min(nextCheckAt(purchase, now()) ?? Infinity, soon);
  const args = { hash, now: now(), ...purchaseWords(purchase), faults, dueAt: next === Infinity ? '' : next };
  await scripts.run(updateScript, purchaseKeysOf(hash, purchase), args);
}

/** Asks the store for a purchase again. What it cannot say in passing changes nothing but when it is asked next. */
export async function recheckPurchase(hash: string, parts: RecheckParts): Promise<void> {
  const { scripts, now, log } = parts;
  const keys = { purchase: subscriptionKeys.purchase(hash), due: subscriptionKeys.due };
  const [word, token = '', packageName = '', state, expiresAt, willRenew, productId = '', faultsBefore] = await scripts.run(
    openCheckScript,
    keys,
    { hash },
  );
  if (word === 'over') return;
  const kept = { state: state as StoreState, expiresAt: expiresAt === '-' ? undefined : Number(expiresAt) };
  const later = (dueAt: number | '', faults: number) => scripts.run(schedulePurchase, keys, { hash, dueAt, faults, hintedAt: '' });
  const askedAt = now();
  let answer: Awaited<ReturnType<typeof askStore>>;
  try {
    answer = await askStore(packageName, token, parts);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const faults = Number(faultsBefore) + 1;
    await later(now() + backoffMs(faults), faults);
    return;
  }
  if (answer === 'unknown') {
    // Once known, a purchase does not become unknown: a mistake in the settings, here or there, takes nothing away.
    log.warn({ purchase: hash.slice(0, 6) }, 'the app store does not know a purchase that it knew');
    const isForgotten = kept.expiresAt !== undefined && kept.expiresAt + FORGOTTEN_AFTER_MS < now();
    await later(isForgotten ? '' : now() + LONGEST_WAIT_MS, 0);
    return;
  }
  if (answer === 'gone') {
    const ended = kept.expiresAt === undefined ? undefined : Math.min(kept.expiresAt, askedAt);
    const over = {
      state: 'expired' as const,
      expiresAt: ended,
      productId,
      checkedAt: askedAt,
      linkedToken: undefined,
      retires: false,
      acknowledged: true,
    };
    await updatePurchase(hash, { ...over, willRenew: willRenew === '-' ? undefined : false }, 0, parts);
    return;
  }
  const wants = wantsAcknowledgement(answer, now());
  const acknowledged = wants ? await acknowledge({ packageName, productId: answer.productId, token }, parts) : answer.acknowledged;
  await updatePurchase(hash, { ...answer, acknowledged }, wants && !acknowledged ? Number(faultsBefore) + 1 : 0, parts);
}

/** A check is two calls to the store of 8 and 4 s at most, and a few scripts. */
const LEASE_MS = 30_000;

/** Asks the store again for purchases when that is due: where they end, where they were not acknowledged, and twice a day. */
export function purchaseRechecks(parts: RecheckParts): DueQueue {
  return new DueQueue({ ...parts, key: subscriptionKeys.due, leaseMs: LEASE_MS, work: (hash) => recheckPurchase(hash, parts) });
}
