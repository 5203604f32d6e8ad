import { describe, expect, test } from 'vitest';
import { forFile, freshId } from '../../harness.ts';
import { googleError, type FakePurchase } from './fake-google.ts';
import { DAY, openShop, until, type Shop } from './shop.ts';

const MINUTE = 60_000;

const shop = await forFile(openShop());

const iso = (at: number): string => new Date(at).toISOString();

/** Buys an unpaid subscription: Google gives no end for it. */
async function unpaid(state: string, lineItems: FakePurchase['lineItems'], installId = freshId()) {
  const token = shop.sold(state, undefined, { lineItems });
  const { status, body } = await shop.buy(installId, token);
  expect(status).toBe(200);
  return { installId, token, body };
}

describe('a pending purchase', () => {
  test('of several items names the first', async () => {
    const { body } = await unpaid('PENDING', [{ productId: 'silver' }, { productId: 'gold' }]);
    expect(body).toEqual({ ok: true, subscribed: false, state: 'pending', source: 'store', verified: true, productId: 'silver' });
  });

  test('of which one item has an end names that one', async () => {
    const expiryTime = iso(shop.service.now() + DAY);
    expect((await unpaid('PENDING', [{ productId: 'silver' }, { productId: 'gold', expiryTime }])).body.productId).toBe('gold');
  });

  test('that Google has forgotten has expired, without an end, and is checked no more', async () => {
    await using own = await openShop();
    const installId = freshId();
    const token = own.sold('PENDING', undefined, { lineItems: [{ productId: 'gold' }] });
    await own.buy(installId, token);
    own.google.misbehaviour = googleError(410);
    own.service.advance(10 * MINUTE);
    await until(async () => (await own.subscription(installId)).state !== 'pending');
    expect(await own.subscription(installId)).toEqual({
      ok: true,
      subscribed: false,
      state: 'expired',
      source: 'store',
      verified: true,
      productId: 'gold',
    });
    expect(await own.dueIn(token)).toBeUndefined();
  });
});

describe('of two purchases that give no access', () => {
  test.each(['never paid first', 'never paid last'])('the paid one decides for the account: %s', async (order) => {
    const installId = freshId();
    const endedAt = shop.service.now() - DAY;
    const buys = [
      () => unpaid('PENDING_PURCHASE_CANCELED', [{ productId: 'silver' }], installId),
      () => shop.buy(installId, shop.sold('EXPIRED', endedAt)),
    ];
    for (const buy of order === 'never paid first' ? buys : buys.toReversed()) await buy();
    expect(await shop.subscription(installId)).toMatchObject({ state: 'expired', productId: 'gold', expiresAt: iso(endedAt) });
  });

  test.each(['never paid first', 'never paid last'])('a pending one counts before one that was never paid: %s', async (order) => {
    const installId = freshId();
    const buys = [
      () => unpaid('PENDING_PURCHASE_CANCELED', [{ productId: 'silver' }], installId),
      () => unpaid('PENDING', [{ productId: 'gold' }], installId),
    ];
    for (const buy of order === 'never paid first' ? buys : buys.toReversed()) await buy();
    expect(await shop.subscription(installId)).toMatchObject({ state: 'pending', productId: 'gold' });
  });
});

test('a state of Google’s that is no word is not written to the log', async () => {
  const token = shop.sold('ACTIVE', shop.service.now() + DAY, { subscriptionState: 'state of user-7 <b>' });
  const { status, body } = await shop.buy(freshId(), token);
  expect([status, body.error.code]).toEqual([503, 'app_store_unavailable']);
  const complaints = shop.logLines
    .map((line) => JSON.parse(line) as { level: number; reason?: string })
    .filter(({ level }) => level === 50);
  expect(complaints.at(-1)!.reason).toBe('subscriptionState');
  expect(shop.logLines.join('')).not.toContain('user-7');
});
