import { describe, expect, test } from 'vitest';
import { forFile, start } from '../../harness.ts';
import { issue as issueAt } from '../../store.ts';
import { APP, call, purchasesPath, UNKNOWN } from './google.ts';

const service = await forFile(start());

const issue = (order: object = {}) => issueAt(service, { kind: 'purchase', ...order });
const read = (token: string, app = APP) => call(service, `${purchasesPath(app)}/productsv2/tokens/${token}`);
const consume = async (token: string, productId = 'coins_500') =>
  (await call(service, `${purchasesPath()}/products/${productId}/tokens/${token}:consume`, {})).status;

describe('a purchase of the sandbox', () => {
  test('is issued, read and consumed in the format of Google', async () => {
    const body = await issue({ productId: 'coins_3000', quantity: 2, obfuscatedAccountId: 'ada', test: true });
    expect(body).toMatchObject({ packageName: APP, orderId: expect.stringMatching(/^GPA\./), state: 'purchased', refundedQuantity: 0 });
    const details = { consumptionState: 'CONSUMPTION_STATE_YET_TO_BE_CONSUMED', quantity: 2, refundableQuantity: 2 };
    expect((await read(body.purchaseToken)).body).toMatchObject({
      purchaseStateContext: { purchaseState: 'PURCHASED' },
      obfuscatedExternalAccountId: 'ada',
      testPurchaseContext: { fopType: 'TEST' },
      productLineItem: [{ productId: 'coins_3000', productOfferDetails: details }],
    });
    expect(await consume(body.purchaseToken, 'coins_500')).toBe(400);
    for (let times = 0; times < 2; times++) expect(await consume(body.purchaseToken, 'coins_3000')).toBe(204);
    expect((await read(body.purchaseToken)).body).toMatchObject({
      acknowledgementState: 'ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED',
      productLineItem: [{ productOfferDetails: { consumptionState: 'CONSUMPTION_STATE_CONSUMED' } }],
    });
  });

  test('changes its state and its refunded quantity, and keeps the rest', async () => {
    const { purchaseToken } = await issue({ state: 'pending', quantity: 2 });
    const shown = async () => {
      const { purchaseStateContext, orderId, purchaseCompletionTime, productLineItem } = (await read(purchaseToken)).body;
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
    expect((await read(purchaseToken, 'com.other.app')).body.error.errors[0].reason).toBe('purchaseTokenDoesNotMatchPackageName');
    expect([(await read(UNKNOWN)).status, (await read('nonsense')).status]).toEqual([404, 400]);
  });
});
