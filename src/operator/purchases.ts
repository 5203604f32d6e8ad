import { z } from 'zod';
import { refuse } from '../errors.ts';
import { isoTime } from '../accounts/fields.ts';
import { findPurchase, lookSoon, stuckPurchases } from '../features/purchases/find-purchase.ts';
import { PurchaseId } from '../features/purchases/model.ts';
import { OperatorPurchase, operatorPurchase } from '../features/purchases/operator-purchase.ts';
import { operation, Reason } from './operation.ts';

const Named = z
  .string()
  .regex(/^[\w.-]{1,255}$/, "Must be a purchaseId or the store's order number")
  .meta({
    description: "A purchaseId, or the order number that the store's console and the buyer's receipt show.",
    example: 'GPA.3345-1234-5678-90123',
  });

export const showPurchase = operation({
  name: 'purchases show',
  method: 'GET',
  path: '/v1/admin/purchases/{purchase}',
  operationId: 'showPurchase',
  role: 'viewer',
  summary: 'A purchase of coins, by its id or the order number of the store.',
  description: 'The token of the purchase is a secret, and is not shown.',
  input: z.object({ purchase: Named }),
  reply: z.object({ purchase: OperatorPurchase }),
  errors: ['purchase_not_found'],
  example: `curl -s $base/v1/admin/purchases/GPA.3345-1234-5678-90123 -H "authorization: Bearer $COINOP_KEY"`,
  async prepare({ purchase }, { scripts }) {
    const found = await findPurchase(purchase, scripts);
    if (found === undefined) return refuse('purchase_not_found');
    return { reply: { purchase: operatorPurchase(found.purchaseId, found.document) } };
  },
});

export const listStuckPurchases = operation({
  name: 'purchases stuck',
  method: 'GET',
  path: '/v1/admin/purchases',
  operationId: 'listStuckPurchases',
  role: 'viewer',
  summary: 'Purchases of coins for which something is left to do, those first that are due first.',
  description:
    'Pending ones, those whose entry the ledger lacks, and those of which the store was not told yet. At most 50; the queue looks at each by itself.',
  input: z.object({}),
  reply: z.object({
    purchases: z.array(OperatorPurchase.extend({ nextLookAt: z.iso.datetime() }).meta({ id: 'StuckPurchase' })),
  }),
  example: `curl -s $base/v1/admin/purchases -H "authorization: Bearer $COINOP_KEY"`,
  async prepare(_, { scripts }) {
    const stuck = await stuckPurchases(scripts);
    const purchases = stuck.map(({ purchaseId, document, dueAt }) => ({
      ...operatorPurchase(purchaseId, document),
      nextLookAt: isoTime(dueAt)!,
    }));
    return { reply: { purchases } };
  },
});

export const lookAtPurchase = operation({
  name: 'purchases look',
  method: 'POST',
  path: '/v1/admin/purchases/{purchase}/look',
  operationId: 'lookAtPurchase',
  role: 'support',
  summary: 'Makes the service ask the store about a purchase of coins within a second, and do what follows.',
  description: 'It changes nothing by itself: what the store says decides.',
  input: z.object({ purchase: Named, reason: Reason }),
  reply: z.object({ purchaseId: PurchaseId }),
  errors: ['purchase_not_found'],
  example:
    `curl -s $base/v1/admin/purchases/GPA.3345-1234-5678-90123/look -H "authorization: Bearer $COINOP_KEY" ` +
    `-H 'content-type: application/json' -d '{"reason":"refunded in the console, ticket 4711"}'`,
  async prepare({ purchase, reason }, parts) {
    const found = await findPurchase(purchase, parts.scripts);
    if (found === undefined) return refuse('purchase_not_found');
    const { purchaseId, document } = found;
    return {
      question: `Ask the store about the purchase ${purchaseId} of ${document.productId}? Reason: ${reason}`,
      what: { purchase: purchaseId, ...(document.owner === '-' ? {} : { account: document.owner }) },
      why: reason,
      async act() {
        await lookSoon(purchaseId, parts);
        return { purchaseId };
      },
    };
  },
});
