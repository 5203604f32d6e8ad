import { randomInt } from 'node:crypto';
import { boundedFetch } from '../../../stores/bounded-fetch.ts';
import { subscriptionAt, type IssuedSubscription } from './subscription-lifecycle.ts';
import type { SandboxServices } from '../sandbox-services.ts';

/** The types of SubscriptionNotification: https://developer.android.com/google/play/billing/rtdn-reference#sub */
const notificationTypes = {
  recovered: 1,
  renewed: 2,
  canceled: 3,
  purchased: 4,
  on_hold: 5,
  in_grace_period: 6,
  restarted: 7,
  paused: 10,
  revoked: 12,
  expired: 13,
} as const;

type Change = keyof typeof notificationTypes;

/**
 * The kinds of changes about which Google would notify the service. @param before the subscription before the change; undefined: a new one
 */
export function changeOf(issued: IssuedSubscription, before: IssuedSubscription | undefined, at: number): Change {
  const { state } = issued;
  if (state === 'grace') return 'in_grace_period';
  if (state === 'expired') return before === undefined ? 'expired' : 'revoked';
  if (state === 'on_hold' || state === 'paused' || state === 'canceled') return state;
  if (before === undefined) return 'purchased';
  const was = subscriptionAt(before, at).state;
  if (was === 'pending') return 'purchased';
  if (was === 'canceled') return 'restarted';
  return was === 'on_hold' || was === 'paused' ? 'recovered' : 'renewed';
}

/** The JSON that Google Play publishes about a subscription: https://developer.android.com/google/play/billing/rtdn-reference#encoding */
export function notificationOf(issued: IssuedSubscription, purchaseToken: string, change: Change): object {
  return {
    version: '1.0',
    packageName: issued.packageName,
    eventTimeMillis: String(issued.issuedAt),
    subscriptionNotification: {
      version: '1.0',
      notificationType: notificationTypes[change],
      purchaseToken,
      subscriptionId: issued.productId,
    },
  };
}

/** The most milliseconds that the receiver of a push may take: half of Pub/Sub's default acknowledgement deadline. */
export const PUSH_DEADLINE_MS = 5000;

/** Pushes a notification, with the faults of SANDBOX_CHAOS. @returns as `delivered` */
export function deliverNotification(services: SandboxServices, notification: object): Promise<boolean> {
  return delivered(services, () => pushNotification(services, notification));
}

/**
 * Delivers a notification, with the faults of SANDBOX_CHAOS.
 * @param push resolves with whether the receiver answered with 2xx
 * @returns the same; with SANDBOX_CHAOS only whether a push is scheduled
 */
export async function delivered({ sandbox: { chaos } }: SandboxServices, push: () => Promise<boolean>): Promise<boolean> {
  if (chaos === undefined) return push();
  const deliveries = chaos.deliveries();
  for (const delayMs of deliveries) setTimeout(() => void push(), delayMs).unref();
  return deliveries.length > 0;
}

/**
 * Pushes a notification as Pub/Sub does, authenticated by an OIDC token: https://cloud.google.com/pubsub/docs/push and
 * https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions. Unlike Pub/Sub, the sandbox does not retry.
 * @returns whether the receiver answered with 2xx
 */
export async function pushNotification(services: SandboxServices, notification: object): Promise<boolean> {
  const now = services.now();
  const notified = services.sandbox.settings.notifications!;
  try {
    const token = await services.sandbox.pushTokens.of(notified, now);
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    const body = JSON.stringify(envelopeOf(notification, now));
    const { status } = await boundedFetch(notified.audience, { method: 'POST', headers, body }, PUSH_DEADLINE_MS);
    return status >= 200 && status < 300;
  } catch (error) {
    services.log.warn({ reason: (error as Error).message }, 'the sandbox could not push a notification');
    return false;
  }
}

/** The body of a push. Like a message from Pub/Sub, it has the message id and the publish time both in camelCase and in snake_case. */
function envelopeOf(notification: object, now: number): object {
  const messageId = String(randomInt(2 ** 47));
  const publishTime = new Date(now).toISOString();
  return {
    message: {
      attributes: {},
      data: Buffer.from(JSON.stringify(notification)).toString('base64'),
      messageId,
      message_id: messageId,
      publishTime,
      publish_time: publishTime,
    },
    subscription: 'projects/sandbox/subscriptions/coinop',
  };
}
