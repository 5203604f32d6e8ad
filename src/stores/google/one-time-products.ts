import { z } from 'zod';
import { UNKNOWN_STATE_MS } from '../store-calls.ts';
import { appStoreUnavailable } from '../store-refusals.ts';
import type { OneTimeProducts, ProductPurchase, ProductState, Refund } from '../store.ts';
import type { GoogleApi } from './google-api.ts';
import { PlaySales, ProductId, type Asked } from './publisher-api.ts';
import type { GoogleOptions } from './settings.ts';

/**
 * Google's PurchaseState (https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.productsv2#purchasestate). Any other
 * value is treated as an outage of the store, so that no coins are given or taken.
 */
const states: Readonly<Record<string, ProductState>> = { PENDING: 'pending', PURCHASED: 'purchased', CANCELLED: 'canceled' };

/** A whole number, which Google sends as a number or, if it is an int64, as text. */
const Whole = z.union([
  z.int(),
  z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number),
]);

/** The fields of ProductPurchaseV2 that the service reads. Google leaves out fields that are false, zero or empty. */
const Purchase = z.object({
  orderId: z.string().max(255).optional(),
  purchaseStateContext: z.object({ purchaseState: z.string() }),
  // The account id that the app gave to the store. An id in another form than coinop's is ignored.
  obfuscatedExternalAccountId: z.string().max(255).optional().catch(undefined),
  testPurchaseContext: z.looseObject({}).optional(),
  // A purchase of several products at once would need a quantity for each product. The service refuses to interpret such a purchase.
  productLineItem: z.tuple([
    z.object({
      productId: ProductId,
      productOfferDetails: z
        .object({
          consumptionState: z.string().optional(),
          quantity: Whole.pipe(z.number().min(1).max(1_000_000)).optional(),
          refundableQuantity: Whole.pipe(z.number().min(0)).optional(),
        })
        .optional(),
    }),
  ]),
});

const VoidedPurchases = z.object({
  voidedPurchases: z
    .array(
      z.object({
        purchaseToken: z.string().min(1).max(1024),
        voidedTimeMillis: Whole,
        // Set only if some but not all of the units were refunded.
        voidedQuantity: Whole.optional(),
      }),
    )
    .optional(),
  tokenPagination: z.object({ nextPageToken: z.string().min(1).optional() }).optional(),
});

/**
 * How far back the list of voided purchases goes, in milliseconds. Google's list covers the last 30 days. A minute less, because clocks
 * differ.
 */
const VOIDED_KEPT_MS = 30 * 86_400_000 - 60_000;

/**
 * The most entries on a page of the list. Google allows 1,000 entries, but an entry has some 400 bytes, and coinop's HTTP client takes
 * answers of up to 64 KiB.
 */
const VOIDED_PER_PAGE = 100;

/** The highest number of pages that are read of the list: enough for 100,000 voided purchases. If there are more, Google repeats pages. */
const MOST_PAGES = 1000;

/** Purchases of one-time products in Google Play, read by the Google Play Developer API. */
export class PlayProducts extends PlaySales<ProductPurchase> implements OneTimeProducts {
  constructor(options: GoogleOptions, api: GoogleApi) {
    // `purchases.productsv2.getproductpurchasev2` and `purchases.products.consume`, which also acknowledges the purchase.
    super(options, api, { resource: 'productsv2', acknowledged: ['products', 'consume'], parse: parsePurchase });
  }

  get askEveryMs(): number {
    return this.options.settings().askForVoidedEveryMs;
  }

  /**
   * Calls `purchases.voidedpurchases.list` for each app. Without a parameter Google would leave out purchases of which only some units were
   * refunded.
   */
  async *refunds(since: number): AsyncGenerator<readonly Refund[]> {
    let failure: unknown;
    for (const packageName of this.packageNames) {
      try {
        yield* this.#refundsOf(packageName, since);
      } catch (error) {
        // The service account may lack rights for one app. The list is still read for the other apps.
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
  }

  async *#refundsOf(packageName: string, since: number): AsyncGenerator<readonly Refund[]> {
    const query = new URLSearchParams({
      type: '1',
      includeQuantityBasedPartialRefund: 'true',
      maxResults: String(VOIDED_PER_PAGE),
      startTime: String(Math.max(since, this.options.wallClock() - VOIDED_KEPT_MS)),
    });
    for (let pages = 0; pages < MOST_PAGES; pages++) {
      const url = this.urlOf(packageName, `voidedpurchases?${query.toString()}`);
      const { status, body } = await this.api.call({ method: 'GET', url });
      const parsed = VoidedPurchases.safeParse(body);
      if (status >= 400 || !parsed.success) {
        const reason = parsed.success ? `status ${status}` : parsed.error.issues[0]!.path.join('.');
        this.options.log.error({ reason, packageName }, "the app store's list of voided purchases is not understood");
        throw appStoreUnavailable(UNKNOWN_STATE_MS);
      }
      const { voidedPurchases = [], tokenPagination } = parsed.data;
      yield voidedPurchases.map(({ purchaseToken, voidedTimeMillis, voidedQuantity }) => ({
        id: purchaseToken,
        quantity: voidedQuantity,
        at: voidedTimeMillis,
      }));
      if (tokenPagination?.nextPageToken === undefined) return;
      query.set('token', tokenPagination.nextPageToken);
    }
  }
}

/** The purchase. A text if the answer cannot be interpreted: it names the field or state at fault, for the log. */
function parsePurchase(body: unknown, asked: Asked): ProductPurchase | string {
  const parsed = Purchase.safeParse(body);
  if (!parsed.success) return parsed.error.issues[0]!.path.join('.') || 'not an object';
  const { orderId, purchaseStateContext, obfuscatedExternalAccountId, testPurchaseContext, productLineItem } = parsed.data;
  const { purchaseState } = purchaseStateContext;
  const state = Object.hasOwn(states, purchaseState) ? states[purchaseState] : undefined;
  if (state === undefined) return /^\w{1,64}$/.test(purchaseState) ? purchaseState : 'purchaseState';
  const [{ productId, productOfferDetails }] = productLineItem;
  const { consumptionState, quantity = 1, refundableQuantity } = productOfferDetails ?? {};
  if (refundableQuantity !== undefined && refundableQuantity > quantity) return 'refundableQuantity';
  return {
    ...asked,
    sku: productId,
    state,
    quantity,
    refundedQuantity: refundableQuantity === undefined ? undefined : quantity - refundableQuantity,
    orderId: orderId === '' ? undefined : orderId,
    buyer: obfuscatedExternalAccountId === '' ? undefined : obfuscatedExternalAccountId,
    isFinished: consumptionState === 'CONSUMPTION_STATE_CONSUMED',
    isTest: testPurchaseContext !== undefined,
  };
}
