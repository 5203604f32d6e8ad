import { z } from 'zod';
import { isoTime, purchasesOf, RecordedPurchase, shownPurchase } from '../features/subscription/model.ts';
import { lineOf, readPurchase } from '../features/subscription/purchase-document.ts';
import { purchasesRecordedBy } from '../features/subscription/purchases-page.ts';
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

/** Purchases that are shown of an account, and guests of it whose lists are read for them. */
export const MOST_PURCHASES = 50;
const MOST_GUESTS = 10;

/**
 * The purchases of an account: those of its ten lines first, then others that it and its guests recorded.
 * @param field the account's field `purchases`
 * @param owners the account, then its guests
 */
export async function purchasesWith(
  field: string,
  owners: readonly string[],
  { scripts }: Pick<OperatorParts, 'scripts'>,
): Promise<z.input<typeof Purchase>[]> {
  const lines = new Map(field.split('\n').flatMap((line) => (line === '' ? [] : [[line.split(' ', 1)[0]!, line]])));
  const recorded = await Promise.all(owners.slice(0, MOST_GUESTS + 1).map((owner) => purchasesRecordedBy(owner, '0', scripts)));
  const others = new Set(recorded.flatMap(({ members }) => members.filter((hash) => !lines.has(hash))));
  const shown = async (purchase: string, line: string | undefined) => {
    const document = await readPurchase(purchase, scripts);
    // Another account may own it now, or another purchase may have replaced it.
    const isOwn = document !== undefined && document.token !== '' && document.retiredBy === '' && owners.includes(document.owner);
    if (line === undefined && !isOwn) return [];
    const [known] = purchasesOf(line ?? lineOf(purchase, document!));
    return [
      {
        purchase,
        ...shownPurchase(known!),
        packageName: document?.packageName === '' ? undefined : document?.packageName,
        nextCheckAt: isoTime(document?.dueAt),
        failedChecks: document?.faults ?? 0,
      },
    ];
  };
  const asked = [...lines.keys(), ...others].slice(0, MOST_PURCHASES);
  return (await Promise.all(asked.map((hash) => shown(hash, lines.get(hash))))).flat();
}
