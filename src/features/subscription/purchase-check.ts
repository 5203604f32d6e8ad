import { Refusal } from '../../errors.ts';
import { DueQueue } from '../../redis/due-queue.ts';
import { defineScript } from '../../redis/script.ts';
import type { Services } from '../../declare.ts';
import { backoffMs, FORGOTTEN_AFTER_MS, LONGEST_WAIT_MS } from './check-schedule.ts';
import { acknowledge, fetchPurchase, needsAcknowledgement } from './google-play.ts';
import { subscriptionKeys } from './model.ts';
import { updatePurchase } from './purchase-record.ts';
import { purchaseHash } from './purchase-token.ts';

export const startCheckScript = defineScript({
  file: new URL('start-check.lua', import.meta.url),
  keys: ['purchase', 'due'],
  args: ['hash'],
  answers: ['started', 'retired'],
});

export const schedulePurchase = defineScript({
  file: new URL('schedule-purchase.lua', import.meta.url),
  keys: ['purchase', 'due'],
  args: ['hash', 'dueAt', 'faults', 'hintedAt'],
  answers: ['scheduled', 'unknown'],
});

/**
 * Makes the check of a purchase due now, because a notification says that the purchase may have changed. False: the token has
 * no record here, or another purchase replaced its purchase.
 */
export async function checkSoon(token: string, { scripts, now }: Pick<Services, 'scripts' | 'now'>): Promise<boolean> {
  const purchase = purchaseHash(token);
  const keys = { purchase: subscriptionKeys.purchase(purchase), due: subscriptionKeys.due };
  const [word] = await scripts.run(schedulePurchase, keys, { hash: purchase, dueAt: now(), faults: 0, hintedAt: now() });
  return word === 'scheduled';
}

type CheckParts = Pick<Services, 'scripts' | 'log' | 'now'> & { store: NonNullable<Services['store']> };

/**
 * Fetches a purchase from the app store again, records its state, and acknowledges it where that is still to do. A temporary
 * outage of the app store changes nothing but the time of the next check.
 * @returns the time of the next check; undefined: there is none, or another call has set it
 */
export async function checkPurchase(hash: string, parts: CheckParts): Promise<number | undefined> {
  const { scripts, now, log } = parts;
  const keys = { purchase: subscriptionKeys.purchase(hash), due: subscriptionKeys.due };
  const [word, token = '', packageName = '', , expiresAt, willRenew, productId = '', faultsBefore] = await scripts.run(
    startCheckScript,
    keys,
    { hash },
  );
  if (word === 'retired') return undefined;
  const expiredAt = expiresAt === '-' ? undefined : Number(expiresAt);
  const reschedule = async (dueAt: number | undefined, faults: number): Promise<number | undefined> => {
    await scripts.run(schedulePurchase, keys, { hash, dueAt: dueAt ?? '', faults, hintedAt: '' });
    return dueAt;
  };
  const fetchedAt = now();
  let answer: Awaited<ReturnType<typeof fetchPurchase>>;
  try {
    answer = await fetchPurchase(packageName, token, parts);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const faults = Number(faultsBefore) + 1;
    return reschedule(now() + backoffMs(faults), faults);
  }
  if (answer === 'unknown') {
    // The app store confirmed this purchase before: a wrong setting, here or there, must not take access away.
    log.warn({ purchase: hash.slice(0, 6) }, 'the app store does not know a purchase that it confirmed before');
    const isForgotten = expiredAt !== undefined && expiredAt + FORGOTTEN_AFTER_MS < now();
    return reschedule(isForgotten ? undefined : now() + LONGEST_WAIT_MS, 0);
  }
  if (answer === 'gone') {
    const expired = {
      state: 'expired' as const,
      expiresAt: expiredAt === undefined ? undefined : Math.min(expiredAt, fetchedAt),
      productId,
      checkedAt: fetchedAt,
      linkedToken: undefined,
      retires: false,
      acknowledged: true,
    };
    return updatePurchase(hash, { ...expired, willRenew: willRenew === '-' ? undefined : false }, 0, parts);
  }
  const isUnacknowledged = needsAcknowledgement(answer, now());
  const acknowledged = isUnacknowledged
    ? await acknowledge({ packageName, productId: answer.productId, token }, parts)
    : answer.acknowledged;
  return updatePurchase(hash, { ...answer, acknowledged }, isUnacknowledged && !acknowledged ? Number(faultsBefore) + 1 : 0, parts);
}

/** A check makes two calls to the app store, of 8 s and 4 s at most, and runs a few scripts. */
const LEASE_MS = 30_000;

/** The queue of checks that are due: when a purchase ends, while it is unacknowledged, twice a day, and after a notification. */
export function purchaseChecks(parts: CheckParts): DueQueue {
  return new DueQueue({ ...parts, name: subscriptionKeys.due, leaseMs: LEASE_MS, work: (hash) => checkPurchase(hash, parts) });
}
