import { z } from 'zod';
import { Environment, SANDBOX } from './transactions.ts';

const text = z.string().optional();
const number = z.number().optional();

const App = { bundleId: z.string(), appAppleId: number };

/**
 * The content of a notification: https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2decodedpayload. Even
 * the fields that the service does not read must have Apple's types, as in Apple's own library.
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

/** The apps that the parts of a notification name. Empty: it names none. */
export function appsIn({ data, summary, externalPurchaseToken: external, appData }: NotificationPayload): NamedApp[] {
  // The ids of tokens from Apple's sandbox have a beginning of their own.
  const environment: Environment = external?.externalPurchaseId?.startsWith('SANDBOX') === true ? SANDBOX : 'Production';
  return [data, summary, external && { ...external, environment }, appData].filter((named) => named !== undefined);
}
