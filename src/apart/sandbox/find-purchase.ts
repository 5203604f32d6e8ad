import type { Encoded, Reply } from '../../server/http/endpoint.ts';
import { googleError, invalidValue } from './google-reply.ts';
import { subscriptionAt } from './subscription-lifecycle.ts';
import { isUnknown, mayBePurchaseToken } from './model.ts';
import { readSubscription, type KeptSubscription } from './subscription-record.ts';
import type { SandboxServices } from './sandbox-services.ts';

/**
 * Milliseconds after its end for which Google still answers for a purchase:
 * https://developer.android.com/google/play/billing/lifecycle/subscriptions
 */
const QUERYABLE_MS = 60 * 86_400_000;

/** The subscription of a purchase token, or Google's error if the token has none. */
export async function findPurchase(
  packageName: string,
  token: string,
  { scripts, now }: SandboxServices,
): Promise<KeptSubscription | Reply<Encoded>> {
  if (!mayBePurchaseToken(token)) return invalidValue();
  const found = await readSubscription(scripts, token);
  if (found === undefined || isUnknown(found.issued, now())) {
    return googleError(404, { reason: 'purchaseTokenNotFound', message: 'The purchase token was not found.', place: TOKEN });
  }
  if (found.issued.packageName !== packageName) {
    const message = 'The purchase token does not match the package name.';
    return googleError(400, { reason: 'purchaseTokenDoesNotMatchPackageName', message, place: TOKEN });
  }
  const { state, expiresAt } = subscriptionAt(found.issued, now());
  if (state === 'expired' && now() >= expiresAt! + QUERYABLE_MS) {
    const message = 'The subscription purchase is no longer available for query because it has been expired for too long.';
    return googleError(410, { reason: 'subscriptionPurchaseNoLongerAvailable', message });
  }
  return found;
}

const TOKEN = ['token', 'parameter'] as const;
