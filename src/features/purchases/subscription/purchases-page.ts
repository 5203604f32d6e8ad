import type { z } from 'zod';
import { purchaseLine } from '../../../accounts/purchase-lines.ts';
import { accountKey } from '../../../accounts/account-keys.ts';
import { pageOfSets, type SetPart } from '../../../redis/set-pages.ts';
import { defineScript } from '../../../redis/script.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import { shownPurchase, subscriptionKeys, type RecordedPurchase } from './model.ts';
import { readPurchase } from './purchase-document.ts';

const listPurchases = defineScript({
  file: new URL('list-purchases.lua', import.meta.url),
  keys: ['account', 'owned'],
  args: ['cursor', 'count'],
  answers: ['purchases'],
  formats: [purchaseLine],
  readOnly: true,
});

/**
 * Counts the purchases that an account recorded. If the account has purchase lines, one is added, because a guest that moved in may have
 * brought lines whose purchases are not in the account's set. Answers count(number).
 */
const countPurchases = defineScript({
  name: 'subscription/count-purchases',
  lua: `return {'count', string.format('%d', redis.call('SCARD', owned) + redis.call('HEXISTS', account, 'purchases'))}`,
  keys: ['account', 'owned'],
  args: [],
  answers: ['count'],
  readOnly: true,
});

/** Tells whether an account's set of purchases lists a purchase. */
const listsPurchase = defineScript({
  name: 'subscription/lists-purchase',
  lua: `return {redis.call('SISMEMBER', owned, hash) == 1 and 'listed' or 'not_listed'}`,
  keys: ['owned'],
  args: ['hash'],
  answers: ['listed', 'not_listed'],
  readOnly: true,
});

/** The number of purchases that one page reads. */
const AT_ONCE = 20;

/** Some of the purchases that an account recorded, as `purchaseHash`. Another account may own such a purchase now. */
export async function purchasesRecordedBy(accountId: string, cursor: string, scripts: ScriptRunner): Promise<SetPart> {
  const [, next, ...members] = await scripts.run(listPurchases, keysOf(accountId), { cursor, count: AT_ONCE });
  return { cursor: next!, members };
}

function keysOf(accountId: string): { account: string; owned: string } {
  return { account: accountKey(accountId), owned: subscriptionKeys.ofAccount(accountId) };
}

/**
 * Some of the purchases of an account and of the guests that moved into it. A purchase may be on two pages.
 * @param owners the account, then its guests
 * @param cursor the cursor that the page before returned, as `pageOfSets` has it
 * @returns `reads`: the cost of the page, as the number of sets and purchases that were read
 */
export async function purchasesPage(
  owners: readonly string[],
  cursor: string,
  scripts: ScriptRunner,
): Promise<{ purchases: z.input<typeof RecordedPurchase>[]; cursor: string | undefined; reads: number }> {
  const page = await pageOfSets(owners, cursor, AT_ONCE, {
    size: async (owner) => Number((await scripts.run(countPurchases, keysOf(owner), {}))[1]),
    part: (owner, inSet) => purchasesRecordedBy(owner, inSet, scripts),
  });
  const isOwner = new Set(owners);
  let { reads } = page;
  const shown = async (listedBy: string, hash: string) => {
    reads++;
    const document = await readPurchase(hash, scripts);
    if (document === undefined || document.id === '' || !isOwner.has(document.owner)) return [];
    // The account has lines of purchases that are also in the sets of its guests. A purchase that is in both is listed only once, when the
    // guest's set is read.
    if (document.owner !== listedBy) {
      reads++;
      const [word] = await scripts.run(listsPurchase, { owned: subscriptionKeys.ofAccount(document.owner) }, { hash });
      if (word === 'listed') return [];
    }
    const { packageName, retiredBy } = document;
    return [
      {
        ...shownPurchase(document),
        packageName: packageName === '' ? undefined : packageName,
        isReplaced: retiredBy === '' ? undefined : true,
      },
    ];
  };
  const purchases = await Promise.all(page.found.flatMap(([owner, members]) => members.map((hash) => shown(owner, hash))));
  return { purchases: purchases.flat(), cursor: page.cursor, reads };
}
