import { z } from 'zod';
import { Environment, SANDBOX } from './transactions.ts';

const text = z.string().optional();
const number = z.number().optional();

const App = { bundleId: z.string(), appAppleId: number };

/**
 * What a notification says: https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2decodedpayload. Fields that
 * the service does not read have Apple's types, as Apple's own library demands.
 */
export const NotificationPayload = z.object({
  notificationType: z.string().max(64),
  subtype: z.string().max(64).optional(),
  notificationUUID: z.string().max(64),
  signedDate: z.int(),
  version: text,
  data: z
    .object({
      ...App,
      environment: Environment,
      signedTransactionInfo: text,
      signedRenewalInfo: text,
      bundleVersion: text,
      status: number,
      consumptionRequestReason: text,
    })
    .optional(),
  summary: z
    .object({
      ...App,
      environment: Environment,
      productId: text,
      requestIdentifier: text,
      succeededCount: number,
      failedCount: number,
    })
    .optional(),
  externalPurchaseToken: z.object({ ...App, externalPurchaseId: text, tokenCreationDate: number }).optional(),
  appData: z.object({ ...App, environment: Environment, signedAppTransactionInfo: text }).optional(),
});

export type NotificationPayload = z.output<typeof NotificationPayload>;

export interface NamedApp {
  readonly bundleId: string;
  readonly environment: Environment;
  /** The app's id in App Store Connect. Apple's sandbox does not always say it. */
  readonly appAppleId?: number | undefined;
}

/** The app that a notification is about, as each of its parts names it. Empty: it names none. */
export function appsIn({ data, summary, externalPurchaseToken: external, appData }: NotificationPayload): NamedApp[] {
  // Apple marks the tokens of its sandbox by the beginning of their ids.
  const environment: Environment = external?.externalPurchaseId?.startsWith('SANDBOX') === true ? SANDBOX : 'Production';
  return [data, summary, external && { ...external, environment }, appData].filter((named) => named !== undefined);
}
