import { z } from 'zod';
import { checkCaller } from '../../../accounts/account.ts';
import { OptionalInstallId } from '../../../accounts/ids.ts';
import { refuse } from '../../../errors.ts';
import { endpoint, type Services } from '../../../declare.ts';
import { afterWrites } from '../../../redis/script-runner.ts';
import { Unchecked } from '../../../server/http/endpoint.ts';
import { BalanceCoins, DebtCoins, shownBalance } from '../../coins/model.ts';
import { storeUnconfigured } from '../../../stores/store-refusals.ts';
import { readSold } from '../core/ask-store.ts';
import { proofIn, proofShape } from '../core/proof.ts';
import { CoinPurchase, shownCoinPurchase } from './shown-coin-purchase.ts';

export const claimPurchase = endpoint({
  method: 'POST',
  path: '/v1/purchases',
  operationId: 'purchaseProduct',
  caller: 'required',
  summary: 'Books coins that were bought in an app store, once the store confirms it.',
  description:
    'Asks the store, records the purchase for the caller, books its coins as an entry of type `topup`, and tells the store, which lets the ' +
    'user buy the product again. Product, quantity, state and owner come from the store; the catalogue says what a unit gives ' +
    '(`GET /v1/products`). It is safe to repeat at any time: the coins are booked once, and a later call says `replayed: true`. A `pending` ' +
    'purchase books nothing. It is booked when the store says that it is paid for, without the client. Refunds are taken back without the ' +
    'client too, as entries of type `refund`.\n\n' +
    'A purchase belongs to the account whose id of `GET /v1/account/store-ids` the app gave to the store. Without one it belongs to the first ' +
    'account that shows it; then others get 409 `purchase_owned`. It moves with a guest. Nobody can claim the purchases of a deleted account. ' +
    'A purchase that the store does not know, or that another app sold, is 401 `bad_token`. A product that the catalogue does not have is ' +
    '404 `product_not_found`: nothing is recorded, and the purchase may be sent again later. A test purchase is 403 `test_purchase` in ' +
    'production, unless `TEST_PURCHASES` is `on` or `capped`; over the cap of a day nothing is recorded either, and the purchase may be sent ' +
    'again on the next day (UTC). While the store does not answer, the reply is 503 `app_store_unavailable`, and without a configured ' +
    'store 503 `store_unconfigured`.',
  body: z.object({
    installId: OptionalInstallId,
    ...proofShape,
  }),
  reply: z.object({
    purchase: CoinPurchase,
    balanceAfterCoins: BalanceCoins.meta({
      description: 'The balance right after the purchase was granted. Before the grant: the current balance.',
    }),
    replayed: z.literal(true).optional().meta({ description: 'True if the purchase was granted before this call.' }),
    balanceCoins: BalanceCoins.optional().meta({ description: 'In a replay, the balance now.' }),
    debtCoins: DebtCoins,
  }),
  errors: [
    'bad_token',
    'purchase_owned',
    'product_not_found',
    'test_purchase',
    'balance_limit',
    'store_unconfigured',
    'app_store_unavailable',
  ],
  // With `creates`, the calls of an address are limited, because each call uses the app store's quota, which all callers share.
  creates: true,
  misses: ['bad_token'],
  // How long the request may take, in milliseconds. The request makes a call to the app store with retries (8 s), a call to consume the
  // purchase (4 s), and calls to Redis.
  deadlineMs: 17_000,
  example: `curl -s $base/v1/purchases -H 'content-type: application/json' -d '{"installId":"install-0001","store":"google","purchaseToken":"token-from-the-store"}'`,
  async handle(
    { caller, body, meta: { traceparent } },
    { scripts, purchases, bookings }: Pick<Services, 'scripts' | 'purchases' | 'bookings'>,
  ) {
    const { store, field, text, isOpen } = proofIn(body);
    const seller = purchases.sellerOf(store);
    if (seller === undefined) return new Unchecked(storeUnconfigured());
    // Refuses an ended session or a moved account before the purchase is recorded.
    await scripts.runAs(caller, checkCaller, {}, {});
    const purchase = await readSold(seller, text, undefined, traceparent);
    if (typeof purchase === 'string') return refuse('bad_token', { message: 'The store knows no such purchase of this app.', field });
    const claimed = await afterWrites(purchases.claim(store, purchase, { accountId: caller.accountId, isOpen }, traceparent));
    switch (claimed.word) {
      case 'recorded':
        break;
      case 'unbound':
        return refuse('bad_token', { message: 'The store does not say that this account bought the purchase.', field });
      case 'test_purchase':
        return refuse('test_purchase', { message: claimed.message, field });
      case 'purchase_owned':
        return refuse('purchase_owned', { field });
      case 'product_not_found':
        return refuse('product_not_found', { message: `No product of the catalogue has the id ${purchase.sku} of ${store}.`, field });
      case 'balance_limit':
        return refuse('balance_limit', {
          message: 'The balance would be too high. The coins are booked once the balance is low enough.',
          ...shownBalance(await bookings.balanceOf(caller)),
        });
    }
    const { purchaseId, document, isGranting } = claimed;
    const balance = claimed.balance ?? (await afterWrites(bookings.balanceOf(caller)));
    const isReplay = document.grantedAt !== undefined && !isGranting;
    const { balanceCoins, debtCoins } = shownBalance(balance);
    return {
      purchase: shownCoinPurchase(purchaseId, document),
      balanceAfterCoins: document.grantedAt === undefined ? balanceCoins : shownBalance(document.balanceAfter).balanceCoins,
      ...(isReplay ? { replayed: true as const, balanceCoins } : {}),
      debtCoins,
    };
  },
});
