import { describe, expect, test } from 'vitest';
import { purchaseHash } from '../../../src/features/subscription/purchase-token.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { standingKey } from '../../../src/accounts/account-keys.ts';
import { forFile, freshId, start, type TestReply } from '../../harness.ts';
import { answering, googleError, nonsense, OTHER_PACKAGE, PACKAGE, passingFaults, UNACKNOWLEDGED } from './fake-google.ts';
import { DAY, HOUR, openShop, until } from './shop.ts';

const shop = await forFile(openShop());

const refusal = ({ status, body }: TestReply) => [status, body.error.code, body.error.field];
const iso = (milliseconds: number) => new Date(milliseconds).toISOString();
const NOBODY = { ok: true, subscribed: false, state: 'none', source: 'none', verified: false };

describe('POST /v1/subscription/purchase', () => {
  test('gives the trace of the request on to the store, and none that is malformed or not there', async () => {
    const { google, service, sold } = shop;
    const given = async (headers: Record<string, string>) => {
      const purchaseToken = sold('ACTIVE', service.now() + DAY, { acknowledgementState: UNACKNOWLEDGED });
      google.traceparents = [];
      expect((await service.post('/v1/subscription/purchase', { installId: freshId(), purchaseToken }, { headers })).status).toBe(200);
      return google.traceparents;
    };
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    // The check and the acknowledgement.
    expect(await given({ traceparent })).toEqual([traceparent, traceparent]);
    expect(await given({ traceparent: 'nonsense' })).toEqual([undefined, undefined]);
    expect(await given({})).toEqual([undefined, undefined]);
  });

  test('subscribes the account, acknowledges the purchase and stores it', async () => {
    const { google, service, sold, buy } = shop;
    const installId = freshId();
    const expiresAt = service.now() + 30 * DAY;
    const token = sold('ACTIVE', expiresAt, { acknowledgementState: UNACKNOWLEDGED });
    const { status, body } = await buy(installId, token);
    expect(status).toBe(200);
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
    const kept = async () => (await shop.lines(installId)).map((line) => line.split(' ')[0]);
    const hashes = (tokens: string[]) => tokens.map(purchaseHash);
    expect(new Set(await kept())).toEqual(new Set(hashes([over[1]!, over[2]!, ...good])));
    const more = [9, 10, 11].map((days) => shop.sold('ACTIVE', now + days * DAY));
    for (const token of more) await shop.buy(installId, token);
    expect(new Set(await kept())).toEqual(new Set(hashes([...good.filter((_, index) => index !== 6), ...more])));
    expect((await shop.subscription(installId)).expiresAt).toBe(iso(now + 11 * DAY));
  });
});

describe('the owner of a purchase', () => {
  test('changes from a guest to the next sender of its token, and the log says so', async () => {
    const [one, other] = [freshId(), freshId()];
    const token = shop.sold('ACTIVE', shop.service.now() + DAY);
    await shop.buy(one, token);
    expect((await shop.buy(other, token)).body.subscribed).toBe(true);
    expect(await shop.subscription(one)).toEqual(NOBODY);
    expect(await shop.lines(one)).toEqual([]);
    const lines = shop.logLines.filter((line) => line.includes('a purchase moved'));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0]!)).toMatchObject({ level: 30, purchase: purchaseHash(token).slice(0, 6) });
  });

  test('stays the same once it is a store account', async () => {
    const [owner, guest, otherStore] = [freshId(), freshId(), freshId()];
    await shop.makeStoreAccount(owner);
    await shop.makeStoreAccount(otherStore);
    const token = shop.sold('ACTIVE', shop.service.now() + DAY);
    // The purchase moves from the guest to the store account and stays there.
    await shop.buy(guest, token);
    expect((await shop.buy(owner, token)).status).toBe(200);
    const { asked } = shop.google;
    for (const another of [guest, otherStore]) {
      expect(refusal(await shop.buy(another, token))).toEqual([409, 'purchase_owned', 'purchaseToken']);
      expect(await shop.subscription(another)).toEqual(NOBODY);
    }
    expect(shop.google.asked).toBe(asked);
    expect((await shop.buy(owner, token)).body.subscribed).toBe(true);
  });

  test('is one store account when guests and store accounts claim it concurrently', async () => {
    const claimants = Array.from({ length: 12 }, () => freshId());
    for (const [index, claimant] of claimants.entries()) if (index % 2 === 0) await shop.makeStoreAccount(claimant);
    const token = shop.sold('ACTIVE', shop.service.now() + DAY);
    const replies = await Promise.all(claimants.map((claimant) => shop.buy(claimant, token)));
    const owners = [];
    for (const claimant of claimants) if ((await shop.lines(claimant)).length > 0) owners.push(claimant);
    expect(owners).toHaveLength(1);
    expect(claimants.indexOf(owners[0]!) % 2).toBe(0);
    expect((await shop.record(token)).owner).toBe(accountIdOf(owners[0]!));
    const storeReplies = replies.filter((_, index) => index % 2 === 0).map(({ status }) => status);
    expect(storeReplies.toSorted()).toEqual([200, 409, 409, 409, 409, 409]);
  });

  test('is the store account that its guest moved into', async () => {
    const [guest, store, stranger] = [freshId(), freshId(), freshId()];
    await shop.makeStoreAccount(store);
    const token = shop.sold('ACTIVE', shop.service.now() + DAY);
    await shop.buy(guest, token);
    // The state after a move: the store account holds the line, the purchase record still names the guest.
    const [line] = await shop.lines(guest);
    await shop.redis.hset(`{${accountIdOf(store)}}:account`, 'purchases', line!);
    await shop.redis.del(`{${accountIdOf(guest)}}:account`);
    await shop.redis.set(standingKey(accountIdOf(guest)), `>${accountIdOf(store)}`);
    expect(refusal(await shop.buy(stranger, token))).toEqual([409, 'purchase_owned', 'purchaseToken']);
    expect(refusal(await shop.buy(guest, token)).slice(0, 2)).toEqual([401, 'sign_in_required']);
    expect((await shop.buy(store, token)).body.subscribed).toBe(true);
    expect(await shop.lines(store)).toHaveLength(1);
    expect(await shop.redis.exists(`{${accountIdOf(guest)}}:account`)).toBe(0);
  });
});

describe('a purchase that replaces another (linkedPurchaseToken)', () => {
  const upgrade = (linkedPurchaseToken: string, state = 'ACTIVE', expiresAt = shop.service.now() + 2 * DAY): string =>
    shop.sold(state, state.startsWith('PENDING') ? undefined : expiresAt, { linkedPurchaseToken });

  test('retires the old one', async () => {
    const installId = freshId();
    const old = shop.sold('ACTIVE', shop.service.now() + DAY);
    await shop.buy(installId, old);
    const expiresAt = shop.service.now() + 2 * DAY;
    const token = upgrade(old, 'ACTIVE', expiresAt);
    const { body } = await shop.buy(installId, token);
    expect(body.expiresAt).toBe(iso(expiresAt));
    expect((await shop.lines(installId)).map((line) => line.split(' ')[0])).toEqual([purchaseHash(token)]);
    expect((await shop.record(old)).retiredBy).toBe(purchaseHash(token));
    expect(await shop.dueIn(old)).toBeUndefined();

    // The old token now answers with the current subscription, and purchase_owned to others, without a request to Google.
    const { asked } = shop.google;
    expect((await shop.buy(installId, old)).body).toEqual(body);
    const stranger = freshId();
    expect(refusal(await shop.buy(stranger, old))).toEqual([409, 'purchase_owned', 'purchaseToken']);
    expect(await shop.subscription(stranger)).toEqual(NOBODY);
    expect(shop.google.asked).toBe(asked);
  });

  test('retires an old one that the service does not know', async () => {
    const [installId, stranger] = [freshId(), freshId()];
    const old = shop.sold('ACTIVE', shop.service.now() + DAY);
    const token = upgrade(old);
    const { body } = await shop.buy(installId, token);
    expect(refusal(await shop.buy(stranger, old))).toEqual([409, 'purchase_owned', 'purchaseToken']);
    expect((await shop.buy(installId, old)).body).toEqual(body);
    expect(await shop.lines(installId)).toHaveLength(1);
  });

  test('moves the subscription away from the guest that owned the old one', async () => {
    const [guest, other] = [freshId(), freshId()];
    const old = shop.sold('ACTIVE', shop.service.now() + DAY);
    await shop.buy(guest, old);
    const token = upgrade(old);
    expect((await shop.buy(other, token)).body.subscribed).toBe(true);
    expect(await shop.subscription(guest)).toEqual(NOBODY);
    expect(refusal(await shop.buy(guest, old))).toEqual([409, 'purchase_owned', 'purchaseToken']);
  });

  // A pending purchase counts too: otherwise it would replace the old one later, in a background check.
  test.each(['ACTIVE', 'PENDING'])('belongs to the store account that owns the old one, when it is %s', async (state) => {
    const [owner, stranger] = [freshId(), freshId()];
    await shop.makeStoreAccount(owner);
    const old = shop.sold('ACTIVE', shop.service.now() + DAY);
    await shop.buy(owner, old);
    const token = upgrade(old, state);
    expect(refusal(await shop.buy(stranger, token))).toEqual([409, 'purchase_owned', 'purchaseToken']);
    expect(await shop.record(token)).toEqual({});
    expect((await shop.buy(owner, token)).status).toBe(200);
  });

  test('belongs to its sender when the old one has expired, even one of a store account', async () => {
    const [owner, other] = [freshId(), freshId()];
    await shop.makeStoreAccount(owner);
    const old = shop.sold('ACTIVE', shop.service.now() + DAY);
    await shop.buy(owner, old);
    await shop.redis.hset(`{purchase:${purchaseHash(old)}}`, { state: 'expired', expiresAt: shop.service.now() - 1 });
    expect((await shop.buy(other, upgrade(old))).body).toMatchObject({ subscribed: true, source: 'store' });
  });

  test('retires the old one even while that is being sent again', async () => {
    const installId = freshId();
    const expiresAt = shop.service.now() + DAY;
    const old = shop.sold('ACTIVE', expiresAt);
    await shop.buy(installId, old);
    const token = upgrade(old);
    // Google delays its answer about the old one until the service has recorded the new one.
    shop.google.misbehaviour = (request, response) => {
      shop.google.misbehaviour = undefined;
      const said = { subscriptionState: 'SUBSCRIPTION_STATE_ACTIVE', lineItems: [{ productId: 'gold', expiryTime: iso(expiresAt) }] };
      void shop.buy(installId, token).then(() => answering(said)(request, response));
    };
    const { body } = await shop.buy(installId, old);
    expect((await shop.lines(installId)).map((line) => line.split(' ')[0])).toEqual([purchaseHash(token)]);
    expect(body).toEqual(await shop.subscription(installId));
    expect(await shop.dueIn(old)).toBeUndefined();
  });

  test.each(['PENDING', 'PENDING_PURCHASE_CANCELED'])('keeps the old one while it is %s', async (state) => {
    const installId = freshId();
    const old = shop.sold('ACTIVE', shop.service.now() + DAY);
    await shop.buy(installId, old);
    expect((await shop.buy(installId, upgrade(old, state))).body).toMatchObject({ subscribed: true, state: 'active' });
    expect((await shop.record(old)).retiredBy).toBeUndefined();
  });

  test('is not retired by itself when it names itself', async () => {
    const installId = freshId();
    const token = freshId('token');
    shop.sold('ACTIVE', shop.service.now() + DAY, { linkedPurchaseToken: token }, token);
    expect((await shop.buy(installId, token)).body.subscribed).toBe(true);
    expect((await shop.record(token)).retiredBy).toBeUndefined();
  });
});

describe('a purchase token', () => {
  test.each([400, 404, 410])('is refused with bad_token and stores nothing when Google answers %i', async (status) => {
    const [installId, forged] = [freshId(), freshId('forged')];
    shop.google.misbehaviour = googleError(status);
    expect(refusal(await shop.buy(installId, forged))).toEqual([401, 'bad_token', 'purchaseToken']);
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

  test('that Google has forgotten does not move to another account', async () => {
    const [owner, other] = [freshId(), freshId()];
    const token = shop.sold('ACTIVE', shop.service.now() + DAY);
    await shop.buy(owner, token);
    shop.google.forget(token);
    expect(refusal(await shop.buy(other, token))).toEqual([401, 'bad_token', 'purchaseToken']);
    // The owner keeps the subscription.
    expect((await shop.buy(owner, token)).body.subscribed).toBe(true);
  });

  test('counts as expired when its owner sends it again and Google answers 410', async () => {
    const installId = freshId();
    const token = shop.sold('ACTIVE', shop.service.now() + DAY);
    await shop.buy(installId, token);
    shop.google.misbehaviour = googleError(410);
    expect((await shop.buy(installId, token)).body).toMatchObject({ subscribed: false, state: 'expired', willRenew: false });
    shop.google.misbehaviour = undefined;
    expect(await shop.dueIn(token)).toBeUndefined();
  });

  test('is looked up in every configured app, or only in the named one', async () => {
    await using two = await openShop([PACKAGE, OTHER_PACKAGE]);
    const installId = freshId();
    const expiresAt = two.service.now() + DAY;
    const purchase = { subscriptionState: 'SUBSCRIPTION_STATE_ACTIVE', lineItems: [{ productId: 'gold', expiryTime: iso(expiresAt) }] };
    two.google.sell('of-the-other', { ...purchase, acknowledgementState: UNACKNOWLEDGED }, OTHER_PACKAGE);
    expect(refusal(await two.buy(installId, 'of-the-other', { packageName: PACKAGE }))).toEqual([401, 'bad_token', 'purchaseToken']);
    expect((await two.buy(installId, 'of-the-other', { packageName: OTHER_PACKAGE })).status).toBe(200);
    expect((await two.buy(freshId(), 'of-the-other')).body.subscribed).toBe(true);
    expect(two.google.acknowledgements).toEqual(['of-the-other']);
    // An unknown token costs one request for each app.
    const { asked } = two.google;
    await two.buy(freshId(), 'of-nobody');
    expect(two.google.asked).toBe(asked + 2);
    two.google.sell('of-a-third', purchase, 'dev.coinop.third');
    const reply = await two.buy(installId, 'of-a-third', { packageName: 'dev.coinop.third' });
    expect(refusal(reply)).toEqual([400, 'invalid_request', 'packageName']);
    expect(refusal(await two.buy(installId, 'of-a-third'))).toEqual([401, 'bad_token', 'purchaseToken']);
    // The purchase may be of the app whose answer is missing.
    two.google.misbehaviour = (request, response) => googleError(request.url!.includes(PACKAGE) ? 500 : 404)(request, response);
    expect((await two.buy(freshId(), 'token')).body.error.code).toBe('app_store_unavailable');
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
    ['a 410 in HTML', passingFaults['a 410 in HTML']!],
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

  test('another service acknowledges a purchase whose service died before', async () => {
    await using faulty = await openShop();
    const installId = freshId();
    const token = faulty.sold('ACTIVE', faulty.service.now() + DAY, { acknowledgementState: UNACKNOWLEDGED });
    // The purchase is recorded, and Google never answers the acknowledgement.
    faulty.google.acknowledgeMisbehaviour = () => {};
    void faulty.buy(installId, token);
    await until(() => faulty.google.acknowledgements.length > 0);
    expect(await faulty.record(token)).toMatchObject({ state: 'active', acknowledged: '0' });
    expect((await faulty.subscription(installId)).subscribed).toBe(true);
    expect(await faulty.dueIn(token)).toBeLessThanOrEqual(60_000);
    faulty.google.acknowledgeMisbehaviour = undefined;
    await using other = await faulty.branch();
    other.advance(61_000);
    await until(async () => (await faulty.record(token)).acknowledged === '1');
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
