import { z } from 'zod';
import type { Holding, HoldingServices } from '../../../accounts/holdings.ts';
import { Parts } from '../../../redis/unreadable.ts';
import { forgetBuyers } from '../core/buyers.ts';
import { listedPart, listedParts } from './purchases-of-account.ts';
import { LISTED, type PurchaseDocument } from './model.ts';
import { CoinPurchase, shownCoinPurchase } from './shown-coin-purchase.ts';
import { OperatorPurchase, operatorPurchase } from './operator-purchase.ts';
import { readPurchase, readPurchases, releasePurchase } from './purchase-record.ts';

/** The number of purchases on a page of the export. */
const AT_ONCE = 20;

/** An operator sees at most this many purchases with the account. */
const MOST_SHOWN = 50;

/**
 * Coins that the account bought in an app store. The account has only a list of purchases. Each purchase has its own record, which names
 * the account, even after the account moved. If a guest has moved, `list-purchase.lua` says so, and a new purchase goes into the list of
 * the account that the guest moved into.
 */
export const purchaseHolding = {
  name: 'purchases of coins',
  keys: [{ name: LISTED, type: 'zset', life: 'lasts', whenMoved: 'joins', whenDeleted: 'goes' }],
  async erase({ accountId, owners, guests }, { scripts }) {
    const all = [...owners, ...guests];
    await forgetBuyers(accountId, scripts);
    for (const owner of owners) {
      for await (const listed of listedParts(owner, scripts)) await Promise.all(listed.map(([id]) => release(id, all, scripts)));
    }
  },
  exported: {
    shape: { coinPurchases: z.array(CoinPurchase).optional().meta({ description: 'Coins bought in an app store, oldest first.' }) },
    pages: {
      letter: 'b',
      firstPlace: '0',
      isPlace: (text) => /^\d{1,9}$/.test(text),
      async read({ accountId }, place, { scripts }) {
        const from = Number(place);
        const { size, listed } = await listedPart(accountId, from, scripts, AT_ONCE);
        const next = from + AT_ONCE < size ? String(from + AT_ONCE) : undefined;
        const coinPurchases = await shown(listed, scripts, shownCoinPurchase, new Parts());
        return { lists: { coinPurchases }, next, reads: 1 + listed.length };
      },
    },
  },
  shown: {
    shape: {
      coinPurchases: z
        .array(OperatorPurchase)
        .meta({ description: `Coins bought in an app store: the newest ${MOST_SHOWN}, oldest first.` }),
    },
    async show({ accountId }, { scripts }, parts) {
      const { size } = await listedPart(accountId, 0, scripts, 0);
      const { listed } = await listedPart(accountId, Math.max(0, size - MOST_SHOWN), scripts, MOST_SHOWN);
      return { coinPurchases: await shown(listed, scripts, operatorPurchase, parts) };
    },
  },
} satisfies Holding;

async function release(purchaseId: string, owners: readonly string[], scripts: HoldingServices['scripts']): Promise<void> {
  const document = await readPurchase(purchaseId, scripts);
  // An operator may have given the purchase to another account, which must keep it.
  if (document !== undefined && owners.includes(document.owner)) await releasePurchase(purchaseId, document.owner, scripts);
}

async function shown<Shown>(
  listed: readonly (readonly [purchaseId: string, at: string])[],
  scripts: HoldingServices['scripts'],
  show: (purchaseId: string, document: PurchaseDocument) => Shown,
  parts: Parts,
): Promise<Shown[]> {
  const ids = listed.map(([purchaseId]) => purchaseId);
  return (await readPurchases(ids, scripts, parts)).map(({ purchaseId, document }) => show(purchaseId, document));
}
