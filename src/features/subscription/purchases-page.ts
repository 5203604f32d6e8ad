import type { z } from 'zod';
import { accountKey } from '../../accounts/keys.ts';
import { pageOfSets } from '../../redis/set-pages.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { purchasesOf, shownPurchase, subscriptionKeys, type RecordedPurchase } from './model.ts';
import { lineOf, readPurchase } from './purchase-document.ts';

const listPurchases = defineScript({
  file: new URL('list-purchases.lua', import.meta.url),
  keys: ['account', 'owned'],
  args: ['cursor', 'count'],
  answers: ['purchases'],
  readOnly: true,
});

/** Purchases that are read at a time. */
const AT_ONCE = 20;

/** Some of the purchases that an account recorded, by `purchaseHash`. Another account may own them now. */
export async function purchasesRecordedBy(
  accountId: string,
  cursor: string,
  scripts: ScriptRunner,
): Promise<{ cursor: string; members: readonly string[] }> {
  const keys = { account: accountKey(accountId), owned: subscriptionKeys.ofAccount(accountId) };
  const [, next, ...members] = await scripts.run(listPurchases, keys, { cursor, count: AT_ONCE });
  return { cursor: next!, members };
}

/**
 * Some of the purchases of an account and of the guests that moved into it. One may come twice.
 * @param owners the account, then its guests
 * @param cursor of `pageOfSets`
 */
export async function purchasesPage(
  owners: readonly string[],
  cursor: string,
  scripts: ScriptRunner,
): Promise<{ purchases: z.input<typeof RecordedPurchase>[]; cursor: string | undefined }> {
  const { found, cursor: next } = await pageOfSets(owners, cursor, (owner, inSet) => purchasesRecordedBy(owner, inSet, scripts));
  const hashes = [...new Set(found.flatMap(([, members]) => members))];
  const purchases = await Promise.all(
    hashes.map(async (hash) => {
      const document = await readPurchase(hash, scripts);
      if (document === undefined || document.token === '' || !owners.includes(document.owner)) return [];
      const { packageName, retiredBy } = document;
      const [known] = purchasesOf(lineOf(hash, document));
      return [
        {
          ...shownPurchase(known!),
          packageName: packageName === '' ? undefined : packageName,
          isReplaced: retiredBy === '' ? undefined : true,
        },
      ];
    }),
  );
  return { purchases: purchases.flat(), cursor: next };
}
