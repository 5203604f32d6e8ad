import { z } from 'zod';
import { isoTime, purchasesOf, RecordedPurchase, shownPurchase } from '../features/subscription/model.ts';
import { readPurchase } from '../features/subscription/purchase-document.ts';
import type { OperatorParts } from './operation.ts';

export const Purchase = z
  .object({
    purchase: z.string().meta({ description: 'A hash of its token. The token itself is a secret: it claims the purchase.' }),
    ...RecordedPurchase.omit({ isReplaced: true }).shape,
    nextCheckAt: z.iso.datetime().optional(),
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
      return {
        purchase,
        ...shownPurchase(known!),
        packageName: document?.packageName === '' ? undefined : document?.packageName,
        nextCheckAt: isoTime(document?.dueAt),
        failedChecks: document?.faults ?? 0,
      };
    }),
  );
}
