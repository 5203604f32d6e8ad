import { z } from 'zod';
import { purchasesOf } from '../features/subscription/model.ts';
import { readPurchase } from '../features/subscription/purchase-document.ts';
import { timeText } from './account-facts.ts';
import type { OperatorParts } from './operation.ts';

const Time = z.iso.datetime();

export const Purchase = z
  .object({
    purchase: z.string().meta({ description: 'A hash of its token. The token itself is a secret: it claims the purchase.' }),
    productId: z.string(),
    packageName: z.string().optional(),
    state: z.string().meta({ description: "The app store's last answer." }),
    expiresAt: Time.optional(),
    willRenew: z.boolean().optional(),
    checkedAt: Time.meta({ description: 'When the app store was last asked.' }),
    nextCheckAt: Time.optional(),
    failedChecks: z.number().int().meta({ description: 'Checks in a row that failed.' }),
  })
  .meta({
    id: 'OperatorPurchase',
    example: { purchase: 'k3Jx9QmZ2bTw', productId: 'premium', state: 'active', checkedAt: '2026-11-22T12:00:00.000Z', failedChecks: 0 },
  });

/** @param field the account's field `purchases` */
export function purchasesWith(field: string, { scripts }: Pick<OperatorParts, 'scripts'>): Promise<z.input<typeof Purchase>[]> {
  const lines = field.split('\n').filter((line) => line !== '');
  return Promise.all(
    lines.map(async (line) => {
      const [purchase = ''] = line.split(' ');
      const [known] = purchasesOf(line);
      const document = await readPurchase(purchase, scripts);
      const { productId, state, expiresAt, willRenew, checkedAt } = known!;
      return {
        purchase,
        productId,
        packageName: document?.packageName === '' ? undefined : document?.packageName,
        state,
        expiresAt: timeText(expiresAt),
        willRenew,
        checkedAt: timeText(checkedAt)!,
        nextCheckAt: timeText(document?.dueAt),
        failedChecks: document?.faults ?? 0,
      };
    }),
  );
}
