import { z } from 'zod';
import { endpoint, type ScriptServices, type Services } from '../../declare.ts';
import type { NotificationEndpoint, PurchaseHint, StoreDeclaration } from '../../stores/store.ts';
import { storeUnconfigured } from '../../stores/store-refusals.ts';
import type { StoreName } from '../../stores/stores.ts';
import { table } from '../../stores/store-table.ts';
import { checkSoon, subscriptionNoticed } from './subscription/notices.ts';

type Declared = Extract<(typeof table)[number], { readonly notifications: unknown }>['notifications'];

/** The endpoints at which the stores notify the service of purchases. */
export const storeNotifications = (table as readonly StoreDeclaration[]).flatMap(({ name, notifications }) =>
  notifications === undefined ? [] : [notificationEndpoint(name, notifications as Declared)],
);

function notificationEndpoint<const Intake extends NotificationEndpoint>(name: string, intake: Intake) {
  const { answersFirst = false, ...declared } = intake;
  return endpoint({
    method: 'POST',
    caller: 'none',
    ...declared,
    reply: z.object({
      checks: z.boolean().meta({
        description:
          'True if the service has a record of the purchase, which it then checks, or if it keeps the notification until it has a record.',
      }),
    }),
    async handle({ body, meta }, services: NotifiedServices) {
      const notifications = services.stores.named(name)?.notifications;
      if (notifications === undefined) return storeUnconfigured();
      let checks = false;
      for (const hint of await notifications.read(body as object, meta.authorization)) {
        checks = (await noticed(name as StoreName, hint, answersFirst, services)) || checks;
      }
      return { checks };
    },
  });
}

type NotifiedServices = ScriptServices & Pick<Services, 'stores' | 'keptNotices'>;

/**
 * Handles the part of a notification about one purchase.
 * @returns whether the service has a record of the purchase, or keeps the notification until it has one
 * @throws Refusal `app_store_unavailable`, `store_unavailable`: the store has to send the notification again
 */
async function noticed(
  store: StoreName,
  { kind, mayBeNew, asksForUse = false, ...named }: PurchaseHint,
  answersFirst: boolean,
  services: NotifiedServices,
): Promise<boolean> {
  const of = { store, ...named };
  if (kind !== 'product' && (await (mayBeNew ? subscriptionNoticed(of, services) : checkSoon(of, services)))) return true;
  return kind !== 'subscription' && services.keptNotices.noticed(of, { mayBeNew, answersFirst, asksForUse });
}
