import { describe, expect, test } from 'vitest';
import { purchaseHash } from '../../../../src/features/purchases/core/purchase-ids.ts';
import { accountIdOf } from '../../../../src/accounts/ids.ts';
import { standingKey } from '../../../../src/accounts/account-keys.ts';
import { forFile, freshId, start, type TestReply } from '../../../harness.ts';
import { activeUntil, answering, googleError, nonsense, OTHER_PACKAGE, PACKAGE, passingFaults, UNACKNOWLEDGED } from './fake-google.ts';
import { DAY, HOUR, openShop, until } from './shop.ts';

const shop = await forFile(openShop());

const refusal = ({ status, body }: TestReply) => [status, body.error.code, body.error.field];
const iso = (milliseconds: number) => new Date(milliseconds).toISOString();
const OWNED = [409, 'purchase_owned', 'purchaseToken'];
const BAD = [401, 'bad_token', 'purchaseToken'];
const NOBODY = { ok: true, subscribed: false, state: 'none', source: 'none', verified: false };

/** An account that owns an active purchase. */
async function owner({ isStore = false } = {}) {
  const installId = freshId();
  if (isStore) await shop.makeStoreAccount(installId);
  const token = shop.sold('ACTIVE', shop.service.now() + DAY);
  await shop.buy(installId, token);
  return { installId, token };
}

describe('POST /v1/subscription/purchase', () => {
  test('subscribes the account, acknowledges the purchase with the trace of the request, and stores it', async () => {
    const { google, service, sold } = shop;
    const installId = freshId();
    const expiresAt = service.now() + 30 * DAY;
    const token = sold('ACTIVE', expiresAt, { acknowledgementState: UNACKNOWLEDGED });
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const order = { installId, purchaseToken: token };
    google.traceparents = [];
    const { status, body } = await service.post('/v1/subscription/purchase', order, { headers: { traceparent } });
    // The check and the acknowledgement.
    expect([status, google.traceparents]).toEqual([200, [traceparent, traceparent]]);
    expect(body).toEqual({
      ok: true,
      subscribed: true,
      state: 'active',
      source: 'store',
      verified: true,
      productId: 'gold',
      expiresAt: iso(expiresAt),
      willRenew: true,
    });
    expect(google.acknowledgements.filter((each) => each === token)).toHaveLength(1);
    expect(await shop.subscription(installId)).toEqual(body);
    expect(await shop.entitlement(installId)).toMatchObject({ state: 'subscribed', access: true, expiresAt: iso(expiresAt) });
    expect(await shop.record(token)).toMatchObject({ token, packageName: PACKAGE, owner: accountIdOf(installId), acknowledged: '1' });
    // A purchase that gives access is checked twice a day.
    expect(await shop.dueIn(token)).toBeGreaterThan(11.9 * HOUR);
    expect(await shop.dueIn(token)).toBeLessThanOrEqual(12 * HOUR);
  });

  test('a repeated purchase answers with its current state and is not acknowledged again', async () => {
    const installId = freshId();
    const expiresAt = shop.service.now() + DAY;
    const token = shop.sold('ACTIVE', expiresAt);
    const first = await shop.buy(installId, token);
    expect((await shop.buy(installId, token)).body).toEqual(first.body);
    shop.sold('CANCELED', expiresAt, {}, token);
    expect((await shop.buy(installId, token)).body).toEqual({ ...first.body, state: 'canceled', willRenew: false });
    expect(await shop.lines(installId)).toHaveLength(1);
    expect(shop.google.acknowledgements).not.toContain(token);
  });

  const later = (now: number) => now + DAY;
  const earlier = (now: number) => now - HOUR;
  const never = () => undefined;
  test.each([
    // Google's state, end, subscribed, state in the reply, entitlement, acknowledged
    ['ACTIVE', later, true, 'active', 'subscribed', true],
    ['IN_GRACE_PERIOD', later, true, 'grace', 'grace', true],
    ['CANCELED', later, true, 'canceled', 'subscribed', true],
    ['CANCELED', earlier, false, 'expired', 'expired', false],
    ['ON_HOLD', earlier, false, 'on_hold', 'expired', false],
    ['PAUSED', earlier, false, 'paused', 'expired', false],
    ['EXPIRED', earlier, false, 'expired', 'expired', false],
    ['PENDING', never, false, 'pending', 'none', false],
    ['PENDING', later, false, 'pending', 'none', false],
    ['PENDING_PURCHASE_CANCELED', never, false, 'expired', 'none', false],
    ['PENDING_PURCHASE_CANCELED', later, false, 'expired', 'none', false],
  ] as const)(
    'a purchase in state %s is stored with access, state and acknowledgement to match',
    async (state, ends, subscribed, told, entitled, acknowledged) => {
      const installId = freshId();
      const token = shop.sold(state, ends(shop.service.now()), { acknowledgementState: UNACKNOWLEDGED });
      const { status, body } = await shop.buy(installId, token);
      expect([status, body.subscribed, body.state, body.source, body.verified]).toEqual([200, subscribed, told, 'store', true]);
      expect('expiresAt' in body).toBe(!state.startsWith('PENDING'));
      expect((await shop.entitlement(installId)).state).toBe(entitled);
      expect(shop.google.acknowledgements.includes(token)).toBe(acknowledged);
      // An expired purchase is never checked again.
      expect((await shop.dueIn(token)) === undefined).toBe(told === 'expired');
    },
  );

  test('a purchase of several items takes product and end from the item that ends last', async () => {
    const now = shop.service.now();
    const token = shop.sold('ACTIVE', undefined, {
      lineItems: [
        { productId: 'silver', expiryTime: iso(now + HOUR), autoRenewingPlan: { autoRenewEnabled: true } },
        // Google writes nanoseconds and omits false fields.
        { productId: 'gold', expiryTime: iso(now + 2 * HOUR).replace('Z', '123456Z'), autoRenewingPlan: {} },
      ],
    });
    expect((await shop.buy(freshId(), token)).body).toMatchObject({ productId: 'gold', expiresAt: iso(now + 2 * HOUR), willRenew: true });
    const canceled = shop.sold('CANCELED', undefined, {
      lineItems: [{ productId: 'gold', expiryTime: iso(now + HOUR), autoRenewingPlan: {} }],
    });
    expect((await shop.buy(freshId(), canceled)).body.willRenew).toBe(false);
    const prepaid = shop.sold('ACTIVE', undefined, { lineItems: [{ productId: 'gold', expiryTime: iso(now + HOUR) }] });
    expect((await shop.buy(freshId(), prepaid)).body).not.toHaveProperty('willRenew');
  });

  test('an account keeps ten purchases and drops the ones that ended first', async () => {
    const installId = freshId();
    const now = shop.service.now();
    const over = [3, 1, 2].map((days) => shop.sold('EXPIRED', now - days * DAY));
    const good = [7, 6, 5, 4, 3, 2, 1, 8].map((days) => shop.sold('ACTIVE', now + days * DAY));
    for (const token of [...over, ...good]) await shop.buy(installId, token);
    const hashes = (tokens: string[]) => tokens.map((token) => purchaseHash(token)).toSorted();
    expect((await shop.held(installId)).toSorted()).toEqual(hashes([over[1]!, over[2]!, ...good]));
    const more = [9, 10, 11].map((days) => shop.sold('ACTIVE', now + days * DAY));
    for (const token of more) await shop.buy(installId, token);
    expect((await shop.held(installId)).toSorted()).toEqual(hashes([...good.filter((_, index) => index !== 6), ...more]));
    expect((await shop.subscription(installId)).expiresAt).toBe(iso(now + 11 * DAY));
  });
});

describe('the owner of a purchase', () => {
  test.each([
    ['a guest', false],
    ['a store account', true],
  ])('stays the same when others send its token: %s', async (_, isStore) => {
    const { installId, token } = await owner({ isStore });
    const [guest, store] = [freshId(), freshId()];
    await shop.makeStoreAccount(store);
    const { asked } = shop.google;
    for (const another of [guest, store]) {
      expect(refusal(await shop.buy(another, token))).toEqual(OWNED);
      expect(await shop.subscription(another)).toEqual(NOBODY);
    }
    expect(shop.google.asked).toBe(asked);
    expect((await shop.buy(installId, token)).body.subscribed).toBe(true);
  });

  test('is one account when guests and store accounts claim it concurrently', async () => {
    const claimants = Array.from({ length: 12 }, () => freshId());
    for (const [index, claimant] of claimants.entries()) if (index % 2 === 0) await shop.makeStoreAccount(claimant);
    const token = shop.sold('ACTIVE', shop.service.now() + DAY);
    const replies = await Promise.all(claimants.map((claimant) => shop.buy(claimant, token)));
    const held = await Promise.all(claimants.map((claimant) => shop.held(claimant)));
    const owners = claimants.filter((_, index) => held[index]!.length > 0);
    expect(owners).toHaveLength(1);
    expect((await shop.record(token)).owner).toBe(accountIdOf(owners[0]!));
    expect(replies.map(({ status }) => status)).toEqual(claimants.map((claimant) => (claimant === owners[0] ? 200 : 409)));
  });

  test('is the store account that its guest moved into', async () => {
    const { installId: guest, token } = await owner();
    const [store, stranger] = [freshId(), freshId()];
    await shop.makeStoreAccount(store);
    // The state after a move: the store account holds the line, the purchase record still names the guest.
    const [line] = await shop.lines(guest);
    await shop.redis.hset(`{${accountIdOf(store)}}:account`, 'purchases', line!);
    await shop.redis.del(`{${accountIdOf(guest)}}:account`);
    await shop.redis.set(standingKey(accountIdOf(guest)), `>${accountIdOf(store)}`);
    expect(refusal(await shop.buy(stranger, token))).toEqual(OWNED);
    expect(refusal(await shop.buy(guest, token)).slice(0, 2)).toEqual([401, 'sign_in_required']);
    expect((await shop.buy(store, token)).body.subscribed).toBe(true);
    expect([await shop.held(store), await shop.held(guest)]).toEqual([[purchaseHash(token)], []]);
  });
});

describe('a purchase that replaces another (linkedPurchaseToken)', () => {
  const upgrade = (linkedPurchaseToken: string, state = 'ACTIVE', expiresAt = shop.service.now() + 2 * DAY): string =>
    shop.sold(state, state.startsWith('PENDING') ? undefined : expiresAt, { linkedPurchaseToken });

  test('retires the old one', async () => {
    const { installId, token: old } = await owner();
    const expiresAt = shop.service.now() + 2 * DAY;
    const token = upgrade(old, 'ACTIVE', expiresAt);
    const { body } = await shop.buy(installId, token);
    expect(body.expiresAt).toBe(iso(expiresAt));
    expect(await shop.held(installId)).toEqual([purchaseHash(token)]);
    expect((await shop.record(old)).retiredBy).toBe(purchaseHash(token));
    expect(await shop.dueIn(old)).toBeUndefined();

    // The old token now answers with the current subscription, and purchase_owned to others, without a request to Google.
    const { asked } = shop.google;
    expect((await shop.buy(installId, old)).body).toEqual(body);
    expect(refusal(await shop.buy(freshId(), old))).toEqual(OWNED);
    expect(shop.google.asked).toBe(asked);
  });

  test('retires an old one that the service does not know', async () => {
    const [installId, stranger] = [freshId(), freshId()];
    const old = shop.sold('ACTIVE', shop.service.now() + DAY);
    const token = upgrade(old);
    const { body } = await shop.buy(installId, token);
    expect(refusal(await shop.buy(stranger, old))).toEqual(OWNED);
    expect((await shop.buy(installId, old)).body).toEqual(body);
    expect(await shop.lines(installId)).toHaveLength(1);
  });

  // A pending purchase counts too: otherwise it would replace the old one later, in a background check.
  test.each([
    ['ACTIVE', false],
    ['ACTIVE', true],
    ['PENDING', true],
  ])('belongs to the account that owns the old one, when it is %s', async (state, isStore) => {
    const { installId, token: old } = await owner({ isStore });
    const token = upgrade(old, state);
    expect(refusal(await shop.buy(freshId(), token))).toEqual(OWNED);
    expect(await shop.record(token)).toEqual({});
    expect((await shop.buy(installId, token)).status).toBe(200);
  });

  test('belongs to its sender when the old one has expired, even one of a store account', async () => {
    const { token: old } = await owner({ isStore: true });
    await shop.redis.hset(`{purchase:${purchaseHash(old)}}`, { state: 'expired', expiresAt: shop.service.now() - 1 });
    expect((await shop.buy(freshId(), upgrade(old))).body).toMatchObject({ subscribed: true, source: 'store' });
  });

  test('retires the old one even while that is being sent again', async () => {
    const { installId, token: old } = await owner();
    const token = upgrade(old);
    const said = activeUntil(iso(shop.service.now() + DAY));
    // Google delays its answer about the old one until the service has recorded the new one.
    shop.google.misbehaveOnce((request, response) => {
      void shop.buy(installId, token).then(() => answering(said)(request, response));
    });
    const { body } = await shop.buy(installId, old);
    expect(await shop.held(installId)).toEqual([purchaseHash(token)]);
    expect(body).toEqual(await shop.subscription(installId));
    expect(await shop.dueIn(old)).toBeUndefined();
  });

  test.each(['PENDING', 'PENDING_PURCHASE_CANCELED'])('keeps the old one while it is %s', async (state) => {
    const { installId, token: old } = await owner();
    expect((await shop.buy(installId, upgrade(old, state))).body).toMatchObject({ subscribed: true, state: 'active' });
    expect((await shop.record(old)).retiredBy).toBeUndefined();
  });
});

describe('a purchase token', () => {
  test.each([400, 404, 410])('is refused with bad_token and stores nothing when Google answers %i', async (status) => {
    const [installId, forged] = [freshId(), freshId('forged')];
    shop.google.misbehaviour = googleError(status);
    expect(refusal(await shop.buy(installId, forged))).toEqual(BAD);
    shop.google.misbehaviour = undefined;
    expect(await shop.record(forged)).toEqual({});
    expect((await shop.service.post('/v1/account/resolve', { installId })).body.created).toBe(true);
  });

  test('counts against the miss limit of the address when it is bad', async () => {
    await using limited = await shop.branch({ settings: { RATE_LIMIT: 'on', RATE_LIMIT_MISSES_PER_MINUTE: '2' } });
    const tries = [];
    for (let count = 0; count < 4; count++) {
      const body = { installId: freshId(), purchaseToken: `forged-${count}` };
      tries.push((await limited.post('/v1/subscription/purchase', body)).status);
    }
    expect(tries).toEqual([401, 401, 429, 429]);
  });

  test('that Google has forgotten leaves its owner the subscription', async () => {
    const { installId, token } = await owner();
    shop.google.forget(token);
    expect(refusal(await shop.buy(freshId(), token))).toEqual(OWNED);
    expect((await shop.buy(installId, token)).body.subscribed).toBe(true);
  });

  test('counts as expired when its owner sends it again and Google answers 410', async () => {
    const { installId, token } = await owner();
    shop.google.misbehaviour = googleError(410);
    expect((await shop.buy(installId, token)).body).toMatchObject({ subscribed: false, state: 'expired', willRenew: false });
    shop.google.misbehaviour = undefined;
    expect(await shop.dueIn(token)).toBeUndefined();
  });

  test('is looked up in every configured app, or only in the named one', async () => {
    await using two = await openShop([PACKAGE, OTHER_PACKAGE]);
    const installId = freshId();
    const purchase = activeUntil(iso(two.service.now() + DAY));
    two.google.sell('of-the-other', { ...purchase, acknowledgementState: UNACKNOWLEDGED }, OTHER_PACKAGE);
    two.google.sell('of-a-third', purchase, 'dev.coinop.third');
    const buy = (token: string, packageName?: string) => two.buy(installId, token, { packageName });
    expect(refusal(await buy('of-the-other', PACKAGE))).toEqual(BAD);
    for (const packageName of [OTHER_PACKAGE, undefined]) expect((await buy('of-the-other', packageName)).body.subscribed).toBe(true);
    expect(two.google.acknowledgements).toEqual(['of-the-other']);
    expect(refusal(await buy('of-a-third', 'dev.coinop.third'))).toEqual([400, 'invalid_request', 'packageName']);
    expect(refusal(await buy('of-a-third'))).toEqual(BAD);
    // An unknown token costs one request for each app.
    const { asked } = two.google;
    await buy('of-nobody');
    expect(two.google.asked).toBe(asked + 2);
    // The purchase may be of the app whose answer is missing.
    two.google.misbehaviour = (request, response) => googleError(request.url!.includes(PACKAGE) ? 500 : 404)(request, response);
    expect((await buy('token')).body.error.code).toBe('app_store_unavailable');
  });

  test('with reserved URL characters is escaped in requests to Google', async () => {
    const token = 'a/b?c#d%2e&e=..%';
    shop.sold('ACTIVE', shop.service.now() + DAY, { acknowledgementState: UNACKNOWLEDGED }, token);
    expect((await shop.buy(freshId(), token)).body.subscribed).toBe(true);
    expect(shop.google.acknowledgements).toContain(token);
  });

  test('that is malformed is refused before Google is asked', async () => {
    const { asked } = shop.google;
    // A token of dots would change the path of the request to Google.
    for (const purchaseToken of [undefined, 'tökén', 'x'.repeat(1025), '.', '..']) {
      const reply = await shop.service.post('/v1/subscription/purchase', { installId: freshId(), purchaseToken });
      expect(refusal(reply)).toEqual([400, 'invalid_request', 'purchaseToken']);
    }
    expect(shop.google.asked).toBe(asked);
  });
});

describe('while Google misbehaves', () => {
  // All faults are tried with the client of Google's API, for which they are one. What it cannot see are answers that are no purchases.
  test.each([
    ...['a 500', 'a 404 in HTML'].map((name) => [name, passingFaults[name]!] as const),
    ...Object.entries(nonsense).map(([name, body]) => [name, answering(body)] as const),
  ])('a purchase is refused with app_store_unavailable, stores nothing, and an earlier purchase stands: %s', async (_, misbehaviour) => {
    const installId = freshId();
    const held = shop.sold('ACTIVE', shop.service.now() + DAY);
    const before = (await shop.buy(installId, held)).body;
    const token = shop.sold('ACTIVE', shop.service.now() + 2 * DAY);
    shop.google.misbehaviour = misbehaviour;
    for (const { status, body, headers } of await Promise.all([token, held].map((each) => shop.buy(installId, each)))) {
      const { outcome, retryAfterMs, ...error } = body.error;
      expect([status, error]).toEqual([
        503,
        { code: 'app_store_unavailable', message: 'The app store does not answer just now: try again.' },
      ]);
      expect([outcome, retryAfterMs > 0, Number(headers.get('retry-after')) > 0]).toEqual([undefined, true, true]);
    }
    expect(await shop.record(token)).toEqual({});
    expect(await shop.subscription(installId)).toEqual(before);
    expect(shop.logLines.join('')).not.toContain(token);
    // After the fault, and the pause of the circuit breaker, a retry succeeds.
    shop.google.misbehaviour = undefined;
    shop.service.advance(20_000);
    expect((await shop.buy(installId, token)).body.expiresAt).not.toBe(before.expiresAt);
  });

  test.each([
    ['a 500', passingFaults['a 500']!],
    ['a 400', googleError(400)],
  ])('a purchase whose acknowledgement fails counts and is acknowledged later: %s', async (_, misbehaviour) => {
    const { google, service } = shop;
    const installId = freshId();
    const token = shop.sold('ACTIVE', service.now() + DAY, { acknowledgementState: UNACKNOWLEDGED });
    google.acknowledgeMisbehaviour = misbehaviour;
    const { status, body } = await shop.buy(installId, token);
    expect([status, body.subscribed]).toEqual([200, true]);
    expect((await shop.record(token)).acknowledged).toBe('0');
    expect(await shop.dueIn(token)).toBeLessThanOrEqual(60_000);
    // The first retry fails after a minute, the second succeeds a minute later.
    service.advance(61_000);
    await until(async () => (await shop.record(token)).faults === '1');
    expect(await shop.subscription(installId)).toEqual(body);
    google.acknowledgeMisbehaviour = undefined;
    service.advance(61_000);
    await until(async () => (await shop.record(token)).acknowledged === '1');
    await until(async () => (await shop.dueIn(token))! > 11 * HOUR);
  });
});

test.each([
  ['a store', { settings: { STORE: 'off' } }],
  ['a service account', { storeSettings: { ...shop.google.settings, serviceAccount: undefined } }],
  ['an app', { storeSettings: { ...shop.google.settings, packageNames: [] } }],
])('without %s a purchase is answered with store_unconfigured, and subscribes nobody', async (_, options) => {
  await using bare = await start(options);
  const installId = freshId();
  const reply = await bare.post('/v1/subscription/purchase', { installId, purchaseToken: 'token' });
  const message = 'No app store is configured on this service.';
  expect([reply.status, reply.body.error]).toEqual([503, { code: 'store_unconfigured', message }]);
  expect((await bare.get(`/v1/subscription?installId=${installId}`)).body).toEqual(NOBODY);
});
