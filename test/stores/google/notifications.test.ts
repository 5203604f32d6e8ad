import { describe, expect, test } from 'vitest';
import { forFile, freshId, start } from '../../harness.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { subscriptionKeys } from '../../../src/features/purchases/subscription/model.ts';
import { OTHER_PACKAGE, PACKAGE, passingFaults, UNACKNOWLEDGED } from '../../features/purchases/subscription/fake-google.ts';
import { DAY, HOUR, openShop, until, type Shop } from '../../features/purchases/subscription/shop.ts';

const PATH = '/v1/store/google/notifications';

const shop = await forFile(openShop());

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64');
const envelope = (notification: unknown) => ({
  message: { data: base64(notification), messageId: '2070443601311540', publishTime: '2031-05-01T12:00:00.000Z' },
  subscription: 'projects/coinop/subscriptions/play',
});
const about = (kind: string, purchaseToken: string) =>
  envelope({ version: '1.0', packageName: PACKAGE, eventTimeMillis: '1', [kind]: { version: '1.0', notificationType: 3, purchaseToken } });

async function push(body: object, claims: object = {}, { service, google } = shop) {
  return service.post(PATH, body, { headers: { authorization: `Bearer ${google.pushToken(claims)}` } });
}

const boundTo = (installId: string) => ({ externalAccountIdentifiers: { obfuscatedExternalAccountId: accountIdOf(installId) } });
const refusal = ({ status, body }: Awaited<ReturnType<typeof push>>) => [status, body.error.code];

describe('a notification to POST /v1/store/google/notifications', () => {
  test('makes the service check each purchase that it tells of at once', async () => {
    const installs = [freshId(), freshId()];
    const tokens = installs.map(() => shop.sold('ACTIVE', shop.service.now() + 30 * DAY));
    for (const [index, installId] of installs.entries()) await shop.buy(installId, tokens[index]!);
    for (const token of tokens) shop.sold('EXPIRED', shop.service.now(), {}, token);
    const [subscriptionNotification, voidedPurchaseNotification] = tokens.map((purchaseToken) => ({ purchaseToken, productType: '1' }));
    const both = { packageName: PACKAGE, subscriptionNotification, voidedPurchaseNotification };
    expect((await push(envelope(both))).body).toEqual({ ok: true, checks: true });
    for (const installId of installs) await until(async () => !(await shop.entitlement(installId)).access);
  });

  test.each([null, {}, { purchaseToken: 5 }, 'nonsense'])(
    'with another part that tells nothing still makes the service check the purchase: %j',
    async (part) => {
      const installId = freshId();
      const purchaseToken = shop.sold('ACTIVE', shop.service.now() + 30 * DAY);
      await shop.buy(installId, purchaseToken);
      shop.sold('EXPIRED', shop.service.now(), {}, purchaseToken);
      const both = { packageName: PACKAGE, voidedPurchaseNotification: part, subscriptionNotification: { purchaseToken } };
      expect((await push(envelope(both))).body).toEqual({ ok: true, checks: true });
      await until(async () => !(await shop.entitlement(installId)).access);
    },
  );

  test('changes nothing before Google confirms it', async () => {
    await using away = await openShop();
    const installId = freshId();
    const token = away.sold('ACTIVE', away.service.now() + DAY);
    const { body } = await away.buy(installId, token);
    away.google.misbehaviour = passingFaults['a 500'];
    expect((await push(about('voidedPurchaseNotification', token), {}, away)).status).toBe(200);
    await until(async () => (await away.record(token)).faults === '1');
    expect(await away.subscription(installId)).toEqual(body);
    expect(away.logLines.join('')).not.toContain(token);
  });

  test('about a purchase that the store does not know makes the service ask four times, and then forget it', async () => {
    const { asked } = shop.google;
    const replies = await Promise.all(Array.from({ length: 8 }, () => push(about('subscriptionNotification', 'of-nobody'))));
    expect(new Set(replies.map(({ body }) => body.checks))).toEqual(new Set([true]));
    await until(async () => (await shop.record('of-nobody'))['faults'] === '1');
    // During the wait after a failed check a notification causes no other.
    await push(about('subscriptionNotification', 'of-nobody'));
    for (const faults of ['2', '3', undefined]) {
      shop.service.advance(10 * 60_000);
      await until(async () => (await shop.record('of-nobody'))['faults'] === faults);
    }
    expect(await shop.record('of-nobody')).toEqual({});
    expect(shop.google.asked).toBe(asked + 4);
    await until(async () => (await shop.redis.zcard(subscriptionKeys.unowned)) === 0);
    // Another kind of notification says nothing about a purchase to come.
    expect((await push(about('voidedPurchaseNotification', 'of-nobody'))).body.checks).toBe(false);
  });

  test('about a purchase that the store knows only after an outage, and not at once, finds its owner', async () => {
    const [installId, token] = [freshId(), freshId('token')];
    const failed = (count: string) => until(async () => (await shop.record(token))['faults'] === count);
    shop.google.misbehaviour = passingFaults['a 500'];
    // The answer does not wait for the store.
    expect((await push(about('subscriptionNotification', token))).body).toEqual({ ok: true, checks: true });
    for (const count of ['1', '2', '3', '4']) {
      await failed(count);
      shop.service.advance(HOUR);
    }
    shop.google.misbehaviour = undefined;
    await until(async () => (await shop.record(token))['unknowns'] === '1');
    shop.sold('ACTIVE', shop.service.now() + 30 * DAY, { ...boundTo(installId), acknowledgementState: UNACKNOWLEDGED }, token);
    shop.service.advance(61_000);
    await until(async () => (await shop.entitlement(installId)).access);
    await until(() => shop.google.acknowledgements.includes(token));
  });

  test('whose optional fields have strange values still counts', async () => {
    const installId = freshId();
    const ids = { obfuscatedExternalAccountId: 'x'.repeat(300) };
    const token = shop.sold('ACTIVE', shop.service.now() + DAY, { externalAccountIdentifiers: ids, startTime: 'soon' });
    await push(about('subscriptionNotification', token));
    expect((await shop.buy(installId, token)).body).toMatchObject({ subscribed: true });
  });

  test('about a new purchase is refused with store_unavailable while too many wait for an owner', async () => {
    const known = shop.sold('ACTIVE', shop.service.now() + DAY);
    await shop.buy(freshId(), known);
    await push(about('subscriptionNotification', 'told-before'));
    const invented = Array.from({ length: 10_000 }, (_, index) => [9e15, `invented-${index}`]).flat();
    await shop.redis.zadd(subscriptionKeys.unowned, ...invented);
    const { status, body } = await push(about('subscriptionNotification', 'one-too-many'));
    expect([status, body.error.code, body.error.retryAfterMs]).toEqual([503, 'store_unavailable', 60_000]);
    expect(await shop.record('one-too-many')).toEqual({});
    for (const token of [known, 'told-before']) expect((await push(about('subscriptionNotification', token))).body.checks).toBe(true);
    const bought = shop.sold('ACTIVE', shop.service.now() + DAY);
    expect((await shop.buy(freshId(), bought)).body.subscribed).toBe(true);
    await shop.redis.zrem(subscriptionKeys.unowned, ...invented.filter((word) => typeof word === 'string'));
    expect((await push(about('subscriptionNotification', 'one-too-many'))).body.checks).toBe(true);
  });

  test('that names another app of the service first, and then the right one, finds its owner', async () => {
    await using both = await openShop([PACKAGE, OTHER_PACKAGE]);
    const installId = freshId();
    const purchaseToken = both.sold('ACTIVE', both.service.now() + DAY, boundTo(installId));
    const tell = (packageName: string) => push(envelope({ packageName, subscriptionNotification: { purchaseToken } }), {}, both);
    await tell(OTHER_PACKAGE);
    await until(async () => (await both.record(purchaseToken))['faults'] === '1');
    await tell(PACKAGE);
    both.service.advance(61_000);
    await until(async () => (await both.entitlement(installId)).access);
  });

  test('of another kind, or about a replaced purchase, is accepted and ignored', async () => {
    const old = shop.sold('ACTIVE', shop.service.now() + DAY);
    await shop.buy(freshId(), shop.sold('ACTIVE', shop.service.now() + DAY, { linkedPurchaseToken: old }));
    const kinds = [{ subscriptionLikeNotificationOfTomorrow: { purchaseToken: 'x' } }, { testNotification: { version: '1.0' } }, {}];
    for (const body of [about('subscriptionNotification', old), ...kinds.map((kind) => envelope({ packageName: PACKAGE, ...kind }))])
      expect((await push(body)).body).toEqual({ ok: true, checks: false });
  });

  test('that is malformed is refused with invalid_request', async () => {
    for (const data of [
      'no base64 of JSON',
      base64([]),
      base64({ packageName: 'a', subscriptionNotification: { purchaseToken: 'a b' } }),
    ]) {
      const { status, body } = await push({ message: { data, messageId: '1' }, subscription: 's' });
      expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'message.data']);
    }
  });
});

describe('a push to POST /v1/store/google/notifications', () => {
  const any = envelope({ packageName: PACKAGE, testNotification: {} });

  test('is refused with bad_token without a token or with one that does not verify, and with forbidden from another account', async () => {
    const good = shop.google.pushToken();
    for (const authorization of ['', `Basic ${good}`, `Bearer ${good.slice(0, -2)}`])
      expect(refusal(await shop.service.post(PATH, any, { headers: { authorization } }))).toEqual([401, 'bad_token']);
    expect(refusal(await push(any, { email: 'other@project.iam.gserviceaccount.com' }))).toEqual([403, 'forbidden']);
  });

  test('is refused with store_unconfigured without a store or without notification settings', async () => {
    await using off = await start({ settings: { STORE: 'off' } });
    await using none = await start({ storeSettings: { ...shop.google.settings, notifications: undefined } });
    for (const service of [off, none]) expect(refusal(await push(any, {}, { ...shop, service }))).toEqual([503, 'store_unconfigured']);
  });
});
