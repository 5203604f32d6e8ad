import type { Config } from '../../../config.ts';
import type { StorePurchase } from '../../../stores/store.ts';
import { isPaid } from './purchase-expiry.ts';

/** With TEST_PURCHASES=capped, a test purchase gives access for at most this long after its user bought, in milliseconds: a day. */
const LONGEST_MS = 86_400_000;

/**
 * Limits the store's answer about a subscription if it is a test purchase, for which nobody paid, as TEST_PURCHASES says.
 * @returns `test`: the service takes no test purchases. Otherwise the answer. With `capped`, the purchase in it ends after LONGEST_MS at
 * the latest, however often it is renewed
 */
export function withinTestBounds<Other extends string>(
  answer: StorePurchase | Other,
  { TEST_PURCHASES: mode }: Pick<Config, 'TEST_PURCHASES'>,
): StorePurchase | Other | 'test' {
  if (typeof answer === 'string' || !answer.isTest || mode === 'on') return answer;
  if (mode === 'off') return 'test';
  const { state, expiresAt, willRenew, boughtAt = 0 } = answer;
  const last = boughtAt + LONGEST_MS;
  // If a purchase is known to renew, it gives access for some time after its end, while the service waits for the renewal
  // (RENEWAL_LEEWAY_MS). So `willRenew: true` is removed here: that time would exceed LONGEST_MS.
  if (expiresAt === undefined || expiresAt < last) return { ...answer, willRenew: willRenew === true ? undefined : willRenew };
  return { ...answer, state: isPaid(state) ? 'canceled' : state, expiresAt: last, willRenew: false };
}
