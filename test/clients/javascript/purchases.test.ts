import { expect, test, vi } from 'vitest';
import type { Fetch } from '../../../src/clients/javascript/request.ts';
import type { Purchase, Result } from '../../../src/clients/javascript/client.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { player, TestStore } from './player.ts';

const service = await forFile(start());

const sold = async (order: object = {}): Promise<string> =>
  (await service.post('/sandbox/issue', { kind: 'purchase', ...order })).body.purchaseToken;

test('products are listed, and a purchase is in the store from before it is sent until the answer', async () => {
  const store = new TestStore();
  const kept: number[] = [];
  const seen: [Purchase, Result][] = [];
  const send: Fetch = (url, init) => (url.endsWith('/v1/purchases') && kept.push(store.operations), fetch(url, init));
  using client = player(service.url, { fetch: send, onPurchase: (...each) => void seen.push(each) }, store);
  expect(await client.products.list()).toMatchObject({ ok: true, count: 2 });
  const purchaseToken = await sold();
  expect(await client.purchases.buy({ store: 'google', purchaseToken })).toMatchObject({ ok: true, balanceAfterCoins: 500 });
  expect([kept, store.operations]).toEqual([[1], 0]);
  expect(seen).toMatchObject([[{ type: 'buy', store: 'google', purchaseToken }, { ok: true }]]);
  expect(await client.purchases.list()).toMatchObject({ ok: true, purchases: [{ productId: 'coins-500' }] });
  expect(client.settled).toEqual([]);
});

test('an unknown token or a token of another account is not sent again', async () => {
  using client = player(service.url);
  expect(await client.purchases.buy({ store: 'google', purchaseToken: 'nonsense' })).toMatchObject({ error: { code: 'bad_token' } });
  const purchaseToken = await sold();
  await service.post('/v1/purchases', { installId: freshId(), store: 'google', purchaseToken });
  expect(await client.purchases.buy({ store: 'google', purchaseToken })).toMatchObject({ error: { code: 'purchase_owned' } });
  expect(client.kept.operations).toBe(0);
  // The caller stays signed in: a bad purchase token is not a missing sign-in.
  expect(await client.coins.credit({ coins: 5 })).toMatchObject({ ok: true });
});

test('a product that is not in the catalogue waits, and delays no coin operation', async () => {
  using client = player(service.url);
  const [bought, credited] = await Promise.all([
    client.purchases.buy({ store: 'google', purchaseToken: await sold({ productId: 'later' }) }),
    client.coins.credit({ coins: 5 }),
  ]);
  expect(bought).toMatchObject({ ok: false, pending: true, error: { code: 'product_not_found' } });
  expect(credited).toMatchObject({ ok: true, balanceAfterCoins: 5 });
  expect(client.kept.operations).toBe(1);
});

test('each waiting purchase is sent once a minute', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let sent = 0;
  const lacking: Fetch = async (url) => {
    if (!url.endsWith('/v1/purchases')) throw new TypeError(`unexpected: ${url}`);
    sent++;
    await new Promise((resolve) => setTimeout(resolve, 100));
    const error = { code: 'product_not_found', message: 'The catalogue does not have the product.' };
    return Response.json({ ok: false, error, requestId: 'r' }, { status: 404 });
  };
  try {
    using client = player('http://127.0.0.1:9', { fetch: lacking });
    for (let token = 0; token < 5; token++) void client.purchases.buy({ store: 'google', purchaseToken: `token-${token}` });
    await vi.advanceTimersByTimeAsync(5.5 * 60_000);
    expect(sent).toBe(6 * 5);
  } finally {
    vi.useRealTimers();
  }
});
