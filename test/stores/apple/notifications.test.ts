import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { audited } from '../../consistency/audited.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { eventually } from '../../realtime/watcher.ts';
import { balanceOf, issue } from '../../store.ts';
import { AppleIssuer, BUNDLE_ID, consumable, renewable, signedBy } from './issuer.ts';

const MINUTE = 60_000;
const PATH = '/v1/store/apple/notifications';
const folder = mkdtempSync(join(tmpdir(), 'coinop-apple-'));
afterAll(() => rmSync(folder, { recursive: true }));
const APPLE_ROOTS_FILE = join(folder, 'root.cer');
const apple = new AppleIssuer();
writeFileSync(APPLE_ROOTS_FILE, apple.der);
const [chain, foreign] = [apple.chain(), new AppleIssuer().chain()];

const settings = { STORE: 'apple', APPLE_BUNDLE_IDS: BUNDLE_ID, APPLE_APP_IDS: '1234', APPLE_ROOTS_FILE };
const service = await forFile(start({ settings }));

type Said = Record<string, unknown>;
const sign = (said: Said, by = chain) => signedBy(by, said);
const renewalOf = ({ originalTransactionId }: { originalTransactionId: string }, changed: Said = {}) => ({
  originalTransactionId,
  environment: 'Production',
  autoRenewStatus: 1,
  signedDate: Date.now(),
  ...changed,
});

const OURS = { bundleId: BUNDLE_ID, environment: 'Production', appAppleId: 1234 };

/** What Apple says in a notification. */
const notification = (data: Said | undefined, changed: Said = {}) => ({
  notificationType: 'ONE_TIME_CHARGE',
  notificationUUID: '002e14d5-51f5-4503-b5a8-c3a1af68eb20',
  version: '2.0',
  signedDate: Date.now(),
  ...(data && { data: { ...OURS, ...data } }),
  ...changed,
});
const about = (said: Said, data: Said = {}, by = chain) => notification({ signedTransactionInfo: sign(said, by), ...data });
const notify = (signedPayload: string, at = service) => at.post(PATH, { signedPayload });
const subscription = renewable();

describe('a notification is refused', () => {
  test.each<[what: string, text: () => string]>([
    ['of another root', () => sign(about(consumable()), foreign)],
    ['whose body is of another', () => sign(about(consumable())).replace(/\.[^.]+\./, `.${sign(about(consumable())).split('.')[1]}.`)],
    ['that was signed in the future', () => sign(notification({}, { signedDate: Date.now() + 90_000 }))],
    ['that is a transaction', () => sign(consumable())],
    ['that is renewal info', () => sign(renewalOf(subscription))],
    ['of an app of others', () => sign(notification({ bundleId: 'com.example.foreign' }))],
    ['of no app', () => sign(notification(undefined))],
    ['with a summary of an app of others', () => sign(notification(undefined, { summary: { ...OURS, bundleId: 'com.example.foreign' } }))],
    [
      'with renewal info of another environment',
      () => sign(about(subscription, { signedRenewalInfo: sign(renewalOf(subscription, { environment: 'Sandbox' })) })),
    ],
    ['of another id of an app', () => sign(notification({ appAppleId: 1235 }))],
    ['of no id of an app', () => sign(notification({ appAppleId: undefined }))],
    ['of Xcode', () => sign(notification({ environment: 'Xcode' }))],
    ['with a transaction of another root', () => sign(about(consumable(), {}, foreign))],
    ['with a transaction of an app of others', () => sign(about(consumable({ bundleId: 'com.example.foreign' })))],
    ['with a transaction of another environment', () => sign(about(consumable({ environment: 'Sandbox' })))],
    ['with renewal info as its transaction', () => sign(about(renewalOf(subscription)))],
    ['with a transaction as its renewal info', () => sign(about(subscription, { signedRenewalInfo: sign(subscription) }))],
    ['with renewal info of another root', () => sign(about(subscription, { signedRenewalInfo: sign(renewalOf(subscription), foreign) }))],
    ['with renewal info of another subscription', () => sign(about(subscription, { signedRenewalInfo: sign(renewalOf(renewable())) }))],
    ['with renewal info alone', () => sign(notification({ signedRenewalInfo: sign(renewalOf(subscription)) }))],
  ])('%s', async (_, text) => {
    const { status, body } = await notify(text());
    expect([status, body.error.code, body.error.field]).toEqual([401, 'bad_token', 'signedPayload']);
  });

  test('of more than 64 KiB', async () => {
    expect((await notify(sign(notification({ more: 'x'.repeat(60_000) })))).status).toBe(413);
  });
});

describe('a notification is answered with 200, and counted', () => {
  const count = async (type: string): Promise<number> => {
    const { body } = await service.get('/metrics');
    return Number(new RegExp(`^coinop_apple_notifications_total\\{[^}]*type="${type}"[^}]*\\} (\\d+)$`, 'm').exec(String(body))?.[1] ?? 0);
  };
  const counted = new Map<string, number>();

  test.each<[what: string, said: () => Said, checks: boolean, type: string]>([
    ['a test', () => notification({}, { notificationType: 'TEST' }), false, 'TEST'],
    ['of a coin', () => about(consumable()), true, 'ONE_TIME_CHARGE'],
    ['of an unknown type', () => notification(undefined, { notificationType: 'MIGRATION', appData: OURS }), false, 'unknown'],
    [
      'of a renewal of many',
      () => notification(undefined, { notificationType: 'RENEWAL_EXTENSION', summary: OURS }),
      false,
      'RENEWAL_EXTENSION',
    ],
    ['of an unknown subtype', () => ({ ...about(consumable()), subtype: 'CREATED' }), true, 'unknown'],
    [
      'of the sandbox',
      () => about(consumable({ environment: 'Sandbox' }), { environment: 'Sandbox', appAppleId: undefined }),
      true,
      'ONE_TIME_CHARGE',
    ],
    ['of a family', () => about(consumable({ inAppOwnershipType: 'FAMILY_SHARED' })), false, 'ONE_TIME_CHARGE'],
    ['of a product that is kept', () => about(consumable({ type: 'Non-Consumable' })), false, 'ONE_TIME_CHARGE'],
    ['with three texts', () => about(subscription, { signedRenewalInfo: sign(renewalOf(subscription)) }), true, 'ONE_TIME_CHARGE'],
  ])('%s', async (_, said, checks, type) => {
    expect((await notify(sign(said()))).body).toEqual({ ok: true, checks });
    counted.set(type, (counted.get(type) ?? 0) + 1);
  });

  test('by type', async () => {
    // The service keeps the text of the metrics for a second.
    for (const [type, times] of counted) await eventually(async () => (await count(type)) === times);
  });
});

test('a notification with three texts takes less than 100 ms of CPU', async () => {
  const took: number[] = [];
  for (let times = 0; times < 21; times++) {
    const said = renewable();
    const text = sign(about(said, { signedRenewalInfo: sign(renewalOf(said)) }));
    const before = process.cpuUsage();
    expect((await notify(text)).status).toBe(200);
    const { user, system } = process.cpuUsage(before);
    took.push((user + system) / 1000);
  }
  // Other work of the process may fall into single ones.
  expect(took.toSorted((one, other) => one - other)[10]).toBeLessThan(100);
});

test('without settings no notification is accepted', async () => {
  await using unconfigured = await start({ settings: { ...settings, APPLE_ROOTS_FILE: '' } });
  expect((await notify(sign(notification({})), unconfigured)).body.error.code).toBe('store_unconfigured');
});

const own = await forFile(startRedis());
const sandbox = await forFile(start({ redis: own.location, settings: { STORE: 'sandbox' } }));
const order = (fields: object) => issue(sandbox, { kind: 'purchase', store: 'apple', notify: true, ...fields });
const subscribed = (fields: object) => issue(sandbox, { kind: 'subscription', store: 'apple', notify: true, ...fields });

/** A guest, and its id for Apple. */
async function buyer() {
  const installId = freshId();
  await sandbox.post('/v1/coins/credit', { installId, coins: 1, key: 'one' });
  const { appleAccountToken } = (await sandbox.get(`/v1/account/store-ids?installId=${installId}`)).body;
  return { installId, appAccountToken: appleAccountToken as string };
}

const has = (installId: string, coins: number) => eventually(async () => (await balanceOf(sandbox, { installId })) === coins);
const stateOf = async (installId: string) => (await sandbox.get(`/v1/subscription?installId=${installId}`)).body;
const is = (installId: string, state: string) => eventually(async () => (await stateOf(installId)).state === state);

describe('without the app', () => {
  test('coins are booked, refunded in part and whole, and given back', async () => {
    const { installId, appAccountToken } = await buyer();
    const { transactionId, notified } = await order({ quantity: 3, appAccountToken });
    expect(notified).toBe(true);
    await has(installId, 1501);
    for (const [refundedQuantity, coins] of [
      [1, 1001],
      [3, 1],
      [0, 1501],
    ]) {
      sandbox.advance(1);
      await order({ transactionId, refundedQuantity });
      await has(installId, coins!);
    }
  });

  test('coins of an account that the app did not name are refunded, once the account has shown them', async () => {
    const installId = freshId();
    const { transaction, transactionId } = await order({ notify: false });
    await sandbox.post('/v1/purchases', { installId, store: 'apple', transaction });
    sandbox.advance(1);
    await order({ transactionId, refundedQuantity: 1 });
    await has(installId, 0);
  });

  test('a subscription begins, is not renewed, is held, is paid, is canceled and ends', async () => {
    const { installId, appAccountToken } = await buyer();
    const { originalTransactionId } = await subscribed({ minutes: 60, appAccountToken });
    await is(installId, 'active');
    expect(await stateOf(installId)).toMatchObject({ subscribed: true, willRenew: true, source: 'store' });
    for (const [change, state, subscribes] of [
      [{ state: 'grace', minutes: 10 }, 'grace', true],
      [{ state: 'on_hold' }, 'on_hold', false],
      [{ state: 'active', minutes: 60 }, 'active', true],
      [{ state: 'canceled' }, 'canceled', true],
      [{ state: 'active', minutes: 60 }, 'active', true],
      [{ state: 'refunded' }, 'expired', false],
    ] as const) {
      sandbox.advance(MINUTE);
      await subscribed({ originalTransactionId, ...change });
      await is(installId, state);
      expect((await stateOf(installId)).subscribed).toBe(subscribes);
    }
  });

  test('a subscription ends at its end, to the second, and at the end of its grace', async () => {
    const { installId, appAccountToken } = await buyer();
    const { originalTransactionId } = await subscribed({ minutes: 60, appAccountToken });
    await is(installId, 'active');
    await subscribed({ originalTransactionId, state: 'grace', minutes: 5 });
    await is(installId, 'grace');
    sandbox.advance(5 * MINUTE + 2000);
    await eventually(async () => !(await stateOf(installId)).subscribed);
  });

  test('a notification that was delayed changes nothing any more', async () => {
    const { installId, appAccountToken } = await buyer();
    const { transaction: first, originalTransactionId } = await subscribed({ minutes: 60, appAccountToken });
    await is(installId, 'active');
    sandbox.advance(MINUTE);
    await subscribed({ originalTransactionId, state: 'revoked' });
    await is(installId, 'expired');
    await sandbox.post('/v1/subscription/purchase', { installId, store: 'apple', transaction: first });
    expect((await stateOf(installId)).subscribed).toBe(false);
  });
});

test('the audit finds nothing in the data that these tests leave', async () => {
  expect((await audited(own.location, { now: sandbox.now })).findings).toEqual([]);
});
