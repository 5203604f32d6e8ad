import type { Config } from '../../../config.ts';
import type { StorePurchase } from '../../../stores/store.ts';
import { isPaid } from './purchase-expiry.ts';

/** The longest access of a test purchase with TEST_PURCHASES=capped, in milliseconds: a day from the moment at which its user bought. */
const LONGEST_MS = 86_400_000;

/**
 * The store's answer about a subscription within the bounds that TEST_PURCHASES sets for purchases that nobody paid for.
 * @returns `test`: the service takes no test purchases. Otherwise the answer, with `capped` as one that ends after LONGEST_MS at the latest,
 * however often it is renewed
 */
export function withinTestBounds<Other extends string>(
  answer: StorePurchase | Other,
  { TEST_PURCHASES: mode }: Pick<Config, 'TEST_PURCHASES'>,
): StorePurchase | Other | 'test' {
  if (typeof answer === 'string' || !answer.isTest || mode === 'on') return answer;
  if (mode === 'off') return 'test';
  const { state, expiresAt, willRenew, boughtAt = 0 } = answer;
  const last = boughtAt + LONGEST_MS;
  // A purchase that is known to renew gives access for some time after its end, while its renewal is awaited (RENEWAL_LEEWAY_MS).
  if (expiresAt === undefined || expiresAt < last) return { ...answer, willRenew: willRenew === true ? undefined : willRenew };
  return { ...answer, state: isPaid(state) ? 'canceled' : state, expiresAt: last, willRenew: false };
}
