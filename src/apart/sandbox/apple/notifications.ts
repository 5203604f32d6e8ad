import { randomUUID } from 'node:crypto';
import { boundedFetch } from '../../../stores/bounded-fetch.ts';
import { RENEWABLE } from '../../../stores/apple/transactions.ts';
import { renewalOf, transactionOf, type Issued } from './issued-transaction.ts';
import { delivered, PUSH_DEADLINE_MS } from '../google/push-notification.ts';
import type { SandboxServices } from '../sandbox-services.ts';

/** The type and the subtype of a notification. */
export type Change = readonly [type: string, subtype?: string];

/** A notification as Apple signs it: https://developer.apple.com/documentation/appstoreservernotifications */
export async function signedNotification(
  { sandbox: { appleKeys }, now }: SandboxServices,
  issued: Issued,
  [notificationType, subtype]: Change,
  { notificationUUID = randomUUID() as string, signedDate = now() } = {},
): Promise<string> {
  const { bundleId, environment } = issued;
  const signedTransactionInfo = await appleKeys.sign(transactionOf(issued, signedDate));
  const signedRenewalInfo = issued.type === RENEWABLE ? await appleKeys.sign(renewalOf(issued, signedDate)) : undefined;
  const data = { bundleId, environment, signedTransactionInfo, signedRenewalInfo };
  return appleKeys.sign({ notificationType, subtype, notificationUUID, version: '2.0', signedDate, data });
}

/**
 * Sends a notification to the service as Apple does, with the faults of SANDBOX_CHAOS. Unlike Apple, the sandbox does not retry.
 * @returns whether the service answered with 2xx; with SANDBOX_CHAOS only whether a notification is scheduled
 */
export async function notifyAsApple(services: SandboxServices, issued: Issued, change: Change): Promise<boolean> {
  const { sandbox, log } = services;
  const body = JSON.stringify({ signedPayload: await signedNotification(services, issued, change) });
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
