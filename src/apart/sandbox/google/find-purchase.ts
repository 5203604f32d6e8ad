import { Reply, type Encoded } from '../../../server/http/endpoint.ts';
import { googleError } from './google-reply.ts';
import { issuedTo } from './issued-record.ts';
import { subscriptionAt } from './subscription-lifecycle.ts';
import { readSubscription, type KeptSubscription } from './subscription-record.ts';
import type { SandboxServices } from '../sandbox-services.ts';

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
  const found = await issuedTo(packageName, token, now(), (of) => readSubscription(scripts, of));
  if (found instanceof Reply) return found;
  const { state, expiresAt } = subscriptionAt(found.issued, now());
  if (state === 'expired' && now() >= expiresAt! + QUERYABLE_MS) {
    const message = 'The subscription purchase is no longer available for query because it has been expired for too long.';
    return googleError(410, { reason: 'subscriptionPurchaseNoLongerAvailable', message });
  }
  return found;
}
