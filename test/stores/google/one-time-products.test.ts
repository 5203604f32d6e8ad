import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { refuse } from '../../../src/errors.ts';
import type { ApiAnswer, ApiRequest, GoogleApi } from '../../../src/stores/google/google-api.ts';
import { PlayProducts } from '../../../src/stores/google/one-time-products.ts';
import type { GoogleOptions, GoogleSettings } from '../../../src/stores/google/settings.ts';

const NOW = 1_795_348_800_000;
const DAY = 86_400_000;

/** Google's products with an API whose answers the test sets. */
function products(answer: (request: ApiRequest) => ApiAnswer, packageNames = ['com.some.game']) {
  const asked: ApiRequest[] = [];
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const settings = { publisherUrl: 'https://google.test', packageNames, askForVoidedEveryMs: 300_000 } as unknown as GoogleSettings;
  const parts: GoogleOptions = { settings: () => settings, log, now: () => NOW, wallClock: () => NOW, monotonic: () => 0 };
  const call = async (request: ApiRequest) => {
    asked.push(request);
    return answer(request);
  };
  return { asked, lines, google: new PlayProducts(parts, { call } as GoogleApi) };
}

const item = (details?: object, productId = 'coins_500') => [
  { productId, ...(details === undefined ? {} : { productOfferDetails: details }) },
];
const bought = {
  kind: 'androidpublisher#productPurchaseV2',
  orderId: 'GPA.1-2-3-4',
  purchaseStateContext: { purchaseState: 'PURCHASED' },
  acknowledgementState: 'ACKNOWLEDGEMENT_STATE_PENDING',
  productLineItem: item({ consumptionState: 'CONSUMPTION_STATE_YET_TO_BE_CONSUMED', quantity: 3, refundableQuantity: 2 }),
};
const outage = (): never => {
  throw refuse('app_store_unavailable');
};
const ok = (body: unknown) => () => ({ status: 200, body });

describe('the check of a purchase', () => {
  test('reads the answer of Google', async () => {
    const { google, asked } = products(ok({ ...bought, obfuscatedExternalAccountId: 'ada', testPurchaseContext: { fopType: 'TEST' } }));
    expect(await google.read('a/token', undefined, 'trace')).toEqual({
      id: 'a/token',
      packageName: 'com.some.game',
      sku: 'coins_500',
      state: 'purchased',
      quantity: 3,
      refundedQuantity: 1,
      orderId: 'GPA.1-2-3-4',
      buyer: 'ada',
      isFinished: false,
      isTest: true,
      checkedAt: NOW,
    });
    expect(asked).toEqual([
      {
        method: 'GET',
        url: 'https://google.test/androidpublisher/v3/applications/com.some.game/purchases/productsv2/tokens/a%2Ftoken',
        traceparent: 'trace',
      },
    ]);
  });

  test.each([
    [
      'one unit where Google leaves the details out',
      { productLineItem: item() },
      { quantity: 1, refundedQuantity: undefined, isFinished: false },
    ],
    ['numbers that are texts', { productLineItem: item({ quantity: '2', refundableQuantity: '0' }) }, { quantity: 2, refundedQuantity: 2 }],
    ['a pending one', { purchaseStateContext: { purchaseState: 'PENDING' }, orderId: undefined }, { state: 'pending', orderId: undefined }],
  ])('reads %s', async (_, change, expected) => {
    expect(await products(ok({ ...bought, ...change })).google.read('token')).toMatchObject(expected);
  });

  test.each([
    ['an unknown state', { purchaseStateContext: { purchaseState: 'constructor' } }, 'constructor'],
    ['no state', { purchaseStateContext: undefined }, 'purchaseStateContext'],
    ['two products', { productLineItem: [...item(), ...item()] }, 'productLineItem'],
    ['no product', { productLineItem: [] }, 'productLineItem'],
    ['a product id with a line break', { productLineItem: item({}, 'a\nb') }, 'productLineItem.0.productId'],
    ['no unit', { productLineItem: item({ quantity: 0 }) }, 'productLineItem.0.productOfferDetails.quantity'],
    ['half a unit', { productLineItem: item({ quantity: 1.5 }) }, 'productLineItem.0.productOfferDetails.quantity'],
    ['more to refund than was bought', { productLineItem: item({ quantity: 1, refundableQuantity: 2 }) }, 'refundableQuantity'],
  ])('takes %s for an outage, and logs which field it was', async (_, change, reason) => {
    const { google, lines } = products(ok({ ...bought, ...change }));
    await expect(google.read('token')).rejects.toMatchObject({ code: 'app_store_unavailable' });
    expect(JSON.parse(lines[0]!)).toMatchObject({ level: 50, reason });
    expect(lines.join()).not.toContain('token');
  });

  test.each([
    [400, 'unknown'],
    [404, 'unknown'],
    [410, 'gone'],
  ])('treats %i as a purchase that is %s', async (status, word) => {
    expect(await products(() => ({ status, body: {} })).google.read('token')).toBe(word);
  });

  test('asks for all apps, or only for the selling app if it is known', async () => {
    const apps = ['com.one', 'com.two'];
    const answer = ({ url }: ApiRequest) => (url.includes('com.two') ? { status: 200, body: bought } : { status: 404, body: {} });
    expect(await products(answer, apps).google.read('token')).toMatchObject({ packageName: 'com.two' });
    const { google, asked } = products(answer, apps);
    expect(await google.read('token', 'com.one')).toBe('unknown');
    expect(asked).toHaveLength(1);
    const away = products((request) => (request.url.includes('com.two') ? outage() : { status: 404, body: {} }), apps);
    await expect(away.google.read('token')).rejects.toMatchObject({ code: 'app_store_unavailable' });
  });
});

describe('the consumption', () => {
  const sold = { id: 'a/token', packageName: 'com.some.game', sku: 'coins_500' };

  test('is posted, and only 204 is success', async () => {
    const { google, asked } = products(() => ({ status: 204, body: {} }));
    expect(await google.acknowledge(sold)).toBe(true);
    expect(asked[0]!.url).toBe(
      'https://google.test/androidpublisher/v3/applications/com.some.game/purchases/products/coins_500/tokens/a%2Ftoken:consume',
    );
    expect(await products(() => ({ status: 400, body: {} })).google.acknowledge(sold)).toBe(false);
    expect(await products(outage).google.acknowledge(sold)).toBe(false);
  });
});

describe('the list of voided purchases', () => {
  const voided = (purchaseToken: string, more: object = {}) => ({ purchaseToken, voidedTimeMillis: String(NOW - 5), ...more });
  const all = async (google: PlayProducts, since = 0) => {
    const found = [];
    for await (const part of google.refunds(since)) found.push(...part);
    return found;
  };

  test('reads all pages of all apps for the last 30 days, partial refunds included', async () => {
    const { google, asked } = products(
      ({ url }) => {
        const query = new URL(url).searchParams;
        if (url.includes('com.two')) return { status: 200, body: {} };
        if (query.get('token') === 'next') return { status: 200, body: { voidedPurchases: [voided('b', { voidedQuantity: 2 })] } };
        return { status: 200, body: { voidedPurchases: [voided('a')], tokenPagination: { nextPageToken: 'next' } } };
      },
      ['com.one', 'com.two'],
    );
    expect(await all(google)).toEqual([
      { id: 'a', quantity: undefined, at: NOW - 5 },
      { id: 'b', quantity: 2, at: NOW - 5 },
    ]);
    // 30 days at most, as Google keeps them.
    const query = `voidedpurchases?type=1&includeQuantityBasedPartialRefund=true&maxResults=100&startTime=${NOW - 30 * DAY + 60_000}`;
    expect(asked.map(({ url }) => url.split('/applications/')[1])).toEqual([
      `com.one/purchases/${query}`,
      `com.one/purchases/${query}&token=next`,
      `com.two/purchases/${query}`,
    ]);
  });

  test('also asks for the apps after a failing one, and then fails', async () => {
    const { google, asked } = products(
      ({ url }) => (url.includes('com.gone') ? { status: 404, body: {} } : { status: 200, body: { voidedPurchases: [voided('a')] } }),
      ['com.gone', 'com.two'],
    );
    await expect(all(google, NOW - DAY)).rejects.toMatchObject({ code: 'app_store_unavailable' });
    expect(asked.map(({ url }) => Number(new URL(url).searchParams.get('startTime')))).toEqual([NOW - DAY, NOW - DAY]);
  });

  test('fails at an answer that is not understood', async () => {
    const { google } = products(ok({ voidedPurchases: [{}] }));
    await expect(all(google)).rejects.toMatchObject({ code: 'app_store_unavailable' });
  });
});
