import { z } from 'zod';
import { isoTime } from '../../accounts/fields.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { purchasesOf, RecordedPurchase, shownPurchase } from './model.ts';
import { lineOf, readPurchase } from './purchase-document.ts';
import { purchasesRecordedBy } from './purchases-page.ts';

export const OperatorPurchase = z
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
export const MOST_SHOWN = 50;
const MOST_GUESTS = 10;

/**
 * The purchases of an account: those of its ten lines first, then others that it and its guests recorded.
 * @param field the account's field `purchases`
 * @param owners the account, then its guests
 */
export async function purchasesForOperator(
  field: string,
  owners: readonly string[],
  scripts: ScriptRunner,
): Promise<z.input<typeof OperatorPurchase>[]> {
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
  const asked = [...lines.keys(), ...others].slice(0, MOST_SHOWN);
  return (await Promise.all(asked.map((hash) => shown(hash, lines.get(hash))))).flat();
}
