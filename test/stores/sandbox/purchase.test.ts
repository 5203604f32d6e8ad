import { describe, expect, test } from 'vitest';
import { forFile, start } from '../../harness.ts';
import { issue as issueAt } from '../../store.ts';
import { APP, call, purchasesPath, UNKNOWN } from './google.ts';

const service = await forFile(start());

const issue = (order: object = {}) => issueAt(service, { kind: 'purchase', ...order });
const look = (token: string, app = APP) => call(service, `${purchasesPath(app)}/productsv2/tokens/${token}`);
const consume = async (token: string, productId = 'coins_500') =>
  (await call(service, `${purchasesPath()}/products/${productId}/tokens/${token}:consume`, {})).status;

describe('a purchase of the sandbox', () => {
  test('is issued, read and consumed in the format of Google', async () => {
    const body = await issue({ productId: 'coins_3000', quantity: 2, obfuscatedAccountId: 'ada', test: true });
    expect(body).toEqual({
      ok: true,
      purchaseToken: expect.stringMatching(/^sandbox\.[\w-]{32}$/),
      productId: 'coins_3000',
      packageName: APP,
      orderId: expect.stringMatching(/^GPA\./),
      state: 'purchased',
      quantity: 2,
      refundedQuantity: 0,
    });
    const details = { consumptionState: 'CONSUMPTION_STATE_YET_TO_BE_CONSUMED', quantity: 2, refundableQuantity: 2 };
    expect((await look(body.purchaseToken)).body).toEqual({
      kind: 'androidpublisher#productPurchaseV2',
      regionCode: 'US',
      orderId: body.orderId,
      purchaseCompletionTime: expect.any(String),
      purchaseStateContext: { purchaseState: 'PURCHASED' },
      acknowledgementState: 'ACKNOWLEDGEMENT_STATE_PENDING',
      obfuscatedExternalAccountId: 'ada',
      testPurchaseContext: { fopType: 'TEST' },
      productLineItem: [{ productId: 'coins_3000', productOfferDetails: details }],
    });
    expect(await consume(body.purchaseToken, 'coins_500')).toBe(400);
    for (let times = 0; times < 2; times++) expect(await consume(body.purchaseToken, 'coins_3000')).toBe(204);
    expect((await look(body.purchaseToken)).body).toMatchObject({
      acknowledgementState: 'ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED',
      productLineItem: [{ productOfferDetails: { consumptionState: 'CONSUMPTION_STATE_CONSUMED' } }],
    });
  });

  test('changes its state and its refunded quantity, and keeps the rest', async () => {
    const { purchaseToken } = await issue({ state: 'pending', quantity: 2 });
    const shown = async () => {
      const { purchaseStateContext, orderId, purchaseCompletionTime, productLineItem } = (await look(purchaseToken)).body;
      const { refundableQuantity } = productLineItem[0].productOfferDetails;
      return [purchaseStateContext.purchaseState, orderId !== undefined, purchaseCompletionTime !== undefined, refundableQuantity];
    };
    expect([await shown(), await consume(purchaseToken)]).toEqual([['PENDING', false, false, 2], 400]);
    await issue({ purchaseToken, state: 'purchased' });
    expect(await issue({ purchaseToken, refundedQuantity: 1 })).toMatchObject({ state: 'purchased', refundedQuantity: 1 });
    expect(await shown()).toEqual(['PURCHASED', true, true, 1]);
    expect((await issue({ purchaseToken, refundedQuantity: 0 })).refundedQuantity).toBe(0);
    await issue({ purchaseToken, state: 'canceled' });
    expect(await shown()).toEqual(['CANCELLED', true, true, 2]);
    expect((await look(purchaseToken, 'com.other.app')).body.error.errors[0].reason).toBe('purchaseTokenDoesNotMatchPackageName');
    expect([(await look(UNKNOWN)).status, (await look('nonsense')).status]).toEqual([404, 400]);
  });

  test.each(['purchase', 'subscription'] as const)('of the kind %s is known to the API only after knownAfterSeconds', async (kind) => {
    const { purchaseToken } = await issue({ kind, knownAfterSeconds: 30 });
    const path = kind === 'purchase' ? 'productsv2' : 'subscriptionsv2';
    const read = async () => {
      const { status, body } = await call(service, `${purchasesPath()}/${path}/tokens/${purchaseToken}`);
      return status === 200 ? status : [status, body.error.errors[0].reason];
    };
    const unknown = [404, 'purchaseTokenNotFound'];
    expect(await read()).toEqual(unknown);
    service.advance(29_000);
    expect(await read()).toEqual(unknown);
    service.advance(1000);
    expect(await read()).toBe(200);
    // A change without the field changes nothing about it.
    await issue({ kind, purchaseToken, knownAfterSeconds: 60 });
    await issue({ kind, purchaseToken, state: 'canceled' });
    expect(await read()).toEqual(unknown);
    await issue({ kind, purchaseToken, knownAfterSeconds: 0 });
    expect(await read()).toBe(200);
  });

  test('is listed in pages once it is voided, with partial refunds only on request', async () => {
    const from = service.now();
    const tokens: string[] = [];
    for (const change of [{ refundedQuantity: 2 }, { refundedQuantity: 1 }, { state: 'canceled' }]) {
      const { purchaseToken } = await issue({ quantity: 2 });
      await issue({ purchaseToken, ...change });
      tokens.push(purchaseToken);
      service.advance(10);
    }
    const reversed = (await issue({ quantity: 2 })).purchaseToken;
    for (const refundedQuantity of [1, 0]) await issue({ purchaseToken: reversed, refundedQuantity });
    const list = (query: string) => call(service, `${purchasesPath()}/voidedpurchases?${query}`);
    const found = async (query: string) => {
      const seen: [string, number | undefined][] = [];
      for (let token: string | undefined = ''; token !== undefined;) {
        const { body } = await list(`startTime=${from}&maxResults=2&${query}${token === '' ? '' : `&token=${token}`}`);
        for (const { purchaseToken, voidedQuantity } of body.voidedPurchases ?? []) seen.push([purchaseToken, voidedQuantity]);
        token = body.tokenPagination?.nextPageToken;
      }
      return seen.filter(([token]) => [...tokens, reversed].includes(token));
    };
    expect(await found('includeQuantityBasedPartialRefund=true')).toEqual([
      [tokens[0], undefined],
      [tokens[1], 1],
      [tokens[2], undefined],
    ]);
    expect((await found('')).map(([token]) => token)).toEqual([tokens[0], tokens[2]]);
    expect((await list('token=x')).status).toBe(400);
  });
});
