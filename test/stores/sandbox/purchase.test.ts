import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Chaos } from '../../../src/stores/sandbox/chaos.ts';
import { start, type TestService } from '../../harness.ts';
import { accessTokenFor, google, PUBLISHER } from './google.ts';

const APP = 'dev.coinop.sandbox';
const base = `/sandbox/androidpublisher/androidpublisher/v3/applications/${APP}/purchases`;

let service: TestService;
let bearer: { authorization: string };
beforeAll(async () => {
  service = await start();
  bearer = { authorization: `Bearer ${await accessTokenFor(service, PUBLISHER)}` };
});
afterAll(() => service[Symbol.asyncDispose]());

const issue = (order: object) => service.post('/sandbox/issue', { kind: 'purchase', ...order });
const look = (token: string, app = APP) => google(service, base.replace(APP, app) + `/productsv2/tokens/${token}`, { headers: bearer });
const consume = (token: string, productId = 'coins_500') =>
  google(service, `${base}/products/${productId}/tokens/${token}:consume`, {
    method: 'POST',
    headers: { ...bearer, 'content-type': 'application/json' },
  });
const list = async (query: string) => (await google(service, `${base}/voidedpurchases?${query}`, { headers: bearer })).body;

describe('a purchase of the sandbox', () => {
  test('is issued, read and consumed in the format of Google', async () => {
    const { body } = await issue({ productId: 'coins_3000', quantity: 2, obfuscatedAccountId: 'ada', test: true });
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
    expect((await consume(body.purchaseToken, 'coins_500')).status).toBe(400);
    for (let times = 0; times < 2; times++) expect((await consume(body.purchaseToken, 'coins_3000')).status).toBe(204);
    expect((await look(body.purchaseToken)).body).toMatchObject({
      acknowledgementState: 'ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED',
      productLineItem: [{ productOfferDetails: { consumptionState: 'CONSUMPTION_STATE_CONSUMED' } }],
    });
  });

  test('changes its state and its refunded quantity, and keeps the rest', async () => {
    const { purchaseToken } = (await issue({ state: 'pending', quantity: 2 })).body;
    const pending = (await look(purchaseToken)).body;
    expect([pending.purchaseStateContext.purchaseState, pending.orderId, pending.purchaseCompletionTime]).toEqual([
      'PENDING',
      undefined,
      undefined,
    ]);
    expect((await consume(purchaseToken)).status).toBe(400);
    await issue({ purchaseToken, state: 'purchased' });
    expect((await issue({ purchaseToken, refundedQuantity: 1 })).body).toMatchObject({ state: 'purchased', refundedQuantity: 1 });
    expect((await look(purchaseToken)).body.productLineItem[0].productOfferDetails.refundableQuantity).toBe(1);
    expect((await issue({ purchaseToken, refundedQuantity: 0 })).body.refundedQuantity).toBe(0);
    await issue({ purchaseToken, state: 'canceled' });
    expect((await look(purchaseToken)).body.purchaseStateContext.purchaseState).toBe('CANCELLED');
    for (const [order, field] of [
      [{ purchaseToken, quantity: 3 }, 'quantity'],
      [{ purchaseToken, productId: 'other' }, 'productId'],
      [{ purchaseToken, refundedQuantity: 3 }, 'refundedQuantity'],
      [{ purchaseToken: 'sandbox.'.padEnd(40, 'A') }, 'purchaseToken'],
      [{ state: 'active' }, 'state'],
      [{ quantity: 0 }, 'quantity'],
      [{ quantity: 1001 }, 'quantity'],
      [{ state: 'pending', refundedQuantity: 1 }, 'refundedQuantity'],
      [{ obfuscatedAccountId: 'a'.repeat(65) }, 'obfuscatedAccountId'],
    ] as const) {
      const { status, body } = await issue(order);
      expect([order, status, body.error?.issues?.[0]?.path]).toEqual([order, 400, field]);
    }
    const subscription = await service.post('/sandbox/issue', { kind: 'subscription', state: 'purchased' });
    expect([subscription.status, subscription.body.error.issues[0].path]).toEqual([400, 'state']);
  });

  test('errors have the format of Google', async () => {
    const { purchaseToken } = (await issue({})).body;
    expect((await look(purchaseToken, 'com.other.app')).body.error.errors[0].reason).toBe('purchaseTokenDoesNotMatchPackageName');
    expect((await look('sandbox.'.padEnd(40, 'A'))).status).toBe(404);
    expect((await look('nonsense')).status).toBe(400);
    expect((await google(service, `${base}/productsv2/tokens/${purchaseToken}`)).status).toBe(401);
  });

  test('is listed in pages once it is voided, with partial refunds only on request', async () => {
    const from = service.now();
    const tokens: string[] = [];
    for (const change of [{ refundedQuantity: 2 }, { refundedQuantity: 1 }, { state: 'canceled' }]) {
      const { purchaseToken } = (await issue({ quantity: 2 })).body;
      await issue({ purchaseToken, ...change });
      tokens.push(purchaseToken);
      service.advance(10);
    }
    const reversed = (await issue({ quantity: 2 })).body.purchaseToken;
    await issue({ purchaseToken: reversed, refundedQuantity: 1 });
    await issue({ purchaseToken: reversed, refundedQuantity: 0 });
    const found = async (query: string) => {
      const seen: [string, number | undefined][] = [];
      for (let token: string | undefined = ''; token !== undefined;) {
        const body = await list(`startTime=${from}&maxResults=2&${query}${token === '' ? '' : `&token=${token}`}`);
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
    expect((await google(service, `${base}/voidedpurchases?token=x`, { headers: bearer })).status).toBe(400);
  });
});

describe('SANDBOX_CHAOS', () => {
  test('a seed gives the same numbers each time, and every kind of fault occurs', async () => {
    const seen = (seed: number) => {
      const chaos = new Chaos(seed);
      return Array.from({ length: 400 }, () => [chaos.deliveries(), chaos.refund(3)] as const);
    };
    expect(seen(7)).toEqual(seen(7));
    expect(seen(7)).not.toEqual(seen(8));
    const deliveries = seen(7).map(([each]) => each);
    expect(new Set(deliveries.map(({ length }) => length))).toEqual(new Set([0, 1, 2]));
    expect(deliveries.flat().filter((delay) => delay > 0).length).toBeGreaterThan(50);
    expect(new Set(seen(7).map(([, units]) => units))).toEqual(new Set([0, 1, 2, 3]));
  });
});
