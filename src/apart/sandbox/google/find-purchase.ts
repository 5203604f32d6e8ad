import { Reply, type Encoded } from '../../../server/http/endpoint.ts';
import { googleError, invalidValue } from './google-reply.ts';
import type { KeptRecord } from '../issued-record.ts';
import { isUnknown, mayBePurchaseToken } from '../model.ts';
import { subscriptionAt } from './subscription-lifecycle.ts';
import { readSubscription, type KeptSubscription } from './subscription-record.ts';
import type { SandboxServices } from '../sandbox-services.ts';

/**
 * Milliseconds after its end for which Google still answers for a purchase:
 * https://developer.android.com/google/play/billing/lifecycle/subscriptions
 */
const QUERYABLE_MS = 60 * 86_400_000;

/** What was issued for a purchase token to an app, or Google's error. @param read reads the record of the token */
export async function issuedTo<Kept extends KeptRecord<{ readonly packageName: string; readonly knownAt?: number | undefined }>>(
  packageName: string,
  token: string,
  now: number,
  read: (token: string) => Promise<Kept | undefined>,
): Promise<Kept | Reply<Encoded>> {
  if (!mayBePurchaseToken(token)) return invalidValue();
  const found = await read(token);
  const place = ['token', 'parameter'] as const;
  if (found === undefined || isUnknown(found.issued, now))
    return googleError(404, { reason: 'purchaseTokenNotFound', message: 'The purchase token was not found.', place });
  if (found.issued.packageName === packageName) return found;
  const message = 'The purchase token does not match the package name.';
  return googleError(400, { reason: 'purchaseTokenDoesNotMatchPackageName', message, place });
}

/** The subscription of a purchase token, or Google's error if the token has none. */
export async function findSubscription(
  packageName: string,
  token: string,
  { scripts, now }: SandboxServices,
): Promise<KeptSubscription | Reply<Encoded>> {
  const found = await issuedTo(packageName, token, now(), (of) => readSubscription(scripts, of));
  if (found instanceof Reply) return found;
  const { state, expiresAt } = subscriptionAt(found.issued, now());
  if (state === 'expired' && now() >= expiresAt! + QUERYABLE_MS) {
    const message = 'The subscription purchase is no longer available for query because it has been expired for too long.';
    return googleError(410, { reason: 'subscriptionPurchaseNoLongerAvailable', message });
  }
  return found;
}
