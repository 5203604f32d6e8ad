import { z } from 'zod';
import { OptionalInstallId } from '../../../accounts/ids.ts';
import { checksCaller } from '../../../accounts/prologues.ts';
import { invalid } from '../../../errors.ts';
import { endpoint, type Services } from '../../../declare.ts';
import { defineScript } from '../../../redis/script.ts';
import { limitParameter } from '../../../server/http/endpoint.ts';
import { purchaseKeys } from './model.ts';
import { CoinPurchase, PurchaseId, shownCoinPurchase } from './shown-coin-purchase.ts';
import { Parts } from '../../../redis/unreadable.ts';
import { readPurchases } from './purchase-record.ts';

export const pageScript = defineScript({
  file: new URL('read-list-page.lua', import.meta.url),
  keys: ['listed'],
  args: ['after', 'count'],
  answers: ['page', 'unknown_place'],
  prologue: checksCaller,
  readOnly: true,
});

const MOST_A_PAGE = 100;
const DEFAULT_A_PAGE = 50;

export const listPurchases = endpoint({
  method: 'GET',
  path: '/v1/purchases',
  operationId: 'listPurchases',
  caller: 'required',
  summary: "The caller's purchases of coins, newest first.",
  description:
    'Without a session, `?installId=` or the header `x-install-id` names the install. Purchases of guests that moved into the account are ' +
    'among them.',
  query: z.object({
    installId: OptionalInstallId,
    limit: limitParameter(MOST_A_PAGE, `Purchases a page, 1 to ${MOST_A_PAGE}. ${DEFAULT_A_PAGE} if left out.`),
    cursor: z
      .string()
      .regex(/^[\w-]{22}$/, 'Must be the nextCursor of an earlier page')
      .optional()
      .meta({ description: 'The `nextCursor` of the page before.' }),
  }),
  reply: z.object({
    purchases: z.array(CoinPurchase),
    nextCursor: PurchaseId.optional().meta({ description: 'Cursor of the next page. Missing on the last page.' }),
  }),
  example: `curl -s $base/v1/purchases -H 'x-install-id: install-0001'`,
  async handle({ caller, query }, { scripts }: Pick<Services, 'scripts'>) {
    const { cursor } = query;
    const limit = Number(query.limit ?? DEFAULT_A_PAGE);
    const keys = { listed: purchaseKeys.listed(caller.accountId) };
    // Reads one purchase more than the page has, to learn whether another page follows.
    const [word, ...found] = await scripts.runAs(caller, pageScript, keys, { after: cursor ?? '', count: limit + 1 });
    if (word === 'unknown_place') throw invalid('cursor', 'Must be the nextCursor of an earlier page');
    const listed = found.slice(0, limit);
    const known = await readPurchases(listed, scripts, new Parts());
    // The list may name a purchase whose owner was deleted.
    const purchases = known.flatMap(({ purchaseId, document }) => (document.owner === '-' ? [] : shownCoinPurchase(purchaseId, document)));
    return { purchases, nextCursor: found.length > limit ? listed.at(-1) : undefined };
  },
});
