import { describe, expect, test } from 'vitest';
import { forFile, freshId } from '../../../harness.ts';
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
  test('of several items names the one that has an end, or the first', async () => {
    const { body } = await unpaid('PENDING', [{ productId: 'silver' }, { productId: 'gold' }]);
    expect(body).toEqual({ ok: true, subscribed: false, state: 'pending', source: 'store', verified: true, productId: 'silver' });
    const expiryTime = iso(shop.service.now() + DAY);
    expect((await unpaid('PENDING', [{ productId: 'silver' }, { productId: 'gold', expiryTime }])).body.productId).toBe('gold');
  });

  test('that Google has forgotten has expired, without an end, and is checked no more', async () => {
    const { installId, token, body } = await unpaid('PENDING', [{ productId: 'gold' }]);
    shop.google.misbehaviour = googleError(410);
    shop.service.advance(10 * MINUTE);
    await until(async () => (await shop.subscription(installId)).state !== 'pending');
    shop.google.misbehaviour = undefined;
    expect(await shop.subscription(installId)).toEqual({ ...body, state: 'expired' });
    expect(await shop.dueIn(token)).toBeUndefined();
  });
});

test.each(['first', 'last'])('a purchase that was never paid, and was sent %s, hides no other', async (order) => {
  const shown = async (buy: (installId: string) => Promise<unknown>) => {
    const installId = freshId();
    const never = (id: string) => unpaid('PENDING_PURCHASE_CANCELED', [{ productId: 'silver' }], id);
    for (const each of order === 'first' ? [never, buy] : [buy, never]) await each(installId);
    return shop.subscription(installId);
  };
  const endedAt = shop.service.now() - DAY;
  const ended = await shown((id) => shop.buy(id, shop.sold('EXPIRED', endedAt)));
  expect(ended).toMatchObject({ state: 'expired', productId: 'gold', expiresAt: iso(endedAt) });
  expect(await shown((id) => unpaid('PENDING', [{ productId: 'gold' }], id))).toMatchObject({ state: 'pending', productId: 'gold' });
});

test('a state of Google’s that is no word is not written to the log', async () => {
  const token = shop.sold('ACTIVE', shop.service.now() + DAY, { subscriptionState: 'state of user-7 <b>' });
  const { status, body } = await shop.buy(freshId(), token);
  expect([status, body.error.code]).toEqual([503, 'app_store_unavailable']);
  const complaints = shop.logLines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50);
  expect(complaints.at(-1).reason).toBe('subscriptionState');
  expect(shop.logLines.join('')).not.toContain('user-7');
});
