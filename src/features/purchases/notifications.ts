import { z } from 'zod';
import { endpoint, type Services } from '../../declare.ts';
import type { NotificationEndpoint, StoreDeclaration } from '../../stores/store.ts';
import { storeUnconfigured } from '../../stores/store-token.ts';
import { table } from '../../stores/table.ts';

type Declared = Extract<(typeof table)[number], { readonly notifications: unknown }>['notifications'];

/** The endpoints at which the stores notify the service of purchases. */
export const storeNotifications = (table as readonly StoreDeclaration[]).flatMap(({ name, notifications }) =>
  notifications === undefined ? [] : [notificationEndpoint(name, notifications as Declared)],
);

function notificationEndpoint<const Intake extends NotificationEndpoint>(name: string, intake: Intake) {
  return endpoint({
    method: 'POST',
    caller: 'none',
    ...intake,
    reply: z.object({
      checks: z.boolean().meta({
        description: 'Whether the service has a record of the purchase, which it then checks, or keeps the notification until it has one.',
      }),
    }),
    errors: ['bad_token', 'forbidden', 'store_unconfigured', 'app_store_unavailable'],
    async handle({ body, meta }, { stores, purchaseNoticed }: Pick<Services, 'stores' | 'purchaseNoticed'>) {
      const notifications = stores.named(name)?.notifications;
      if (notifications === undefined) return storeUnconfigured();
      let checks = false;
      for (const hint of await notifications.read(body as object, meta.authorization)) {
        checks = (await purchaseNoticed(name, hint)) || checks;
      }
      return { checks };
    },
  });
}
