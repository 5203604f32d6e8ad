import { randomUUID } from 'node:crypto';
import { boundedFetch } from '../../stores/bounded-fetch.ts';
import { RENEWABLE } from '../../stores/apple/transactions.ts';
import { transactionOf, type Issued } from './issued-transaction.ts';
import { delivered, PUSH_DEADLINE_MS } from './push-notification.ts';
import type { SandboxServices } from './sandbox-services.ts';

/**
 * Notifies the service as Apple does (https://developer.apple.com/documentation/appstoreservernotifications), with the faults of
 * SANDBOX_CHAOS. Unlike Apple, the sandbox does not retry.
 * @returns whether the service answered with 2xx; with SANDBOX_CHAOS only whether a notification is scheduled
 */
export async function notifyAsApple(
  services: SandboxServices,
  issued: Issued,
  [notificationType, subtype]: readonly [type: string, subtype?: string],
): Promise<boolean> {
  const { sandbox, now, log } = services;
  const keys = sandbox.appleKeys;
  const signedDate = now();
  const { bundleId, environment, originalTransactionId, productId, renewal } = issued;
  const signedTransactionInfo = await keys.sign(transactionOf(issued, signedDate));
  const isRenewable = issued.type === RENEWABLE;
  const renewalInfo = { originalTransactionId, productId, autoRenewProductId: productId, environment, ...renewal, signedDate };
  const signedRenewalInfo = isRenewable ? await keys.sign(renewalInfo) : undefined;
  const data = { bundleId, environment, signedTransactionInfo, signedRenewalInfo };
  const said = { notificationType, subtype, notificationUUID: randomUUID(), version: '2.0', signedDate, data };
  const body = JSON.stringify({ signedPayload: await keys.sign(said) });
  const headers = { 'content-type': 'application/json' };
  return delivered(services, async () => {
    try {
      const { status } = await boundedFetch(sandbox.appleNotificationsUrl, { method: 'POST', headers, body }, PUSH_DEADLINE_MS);
      return status >= 200 && status < 300;
    } catch (error) {
      log.warn({ reason: (error as Error).message }, 'the sandbox could not notify the service as Apple');
      return false;
    }
  });
}
