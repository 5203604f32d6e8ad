import { describe, expect, test } from 'vitest';
import { nextCheckAt } from '../../../../src/features/purchases/core/check-schedule.ts';
import { checkSoon } from '../../../../src/features/purchases/subscription/notices.ts';
import { purchaseHash } from '../../../../src/features/purchases/core/purchase-ids.ts';
import { CallerScripts } from '../../../../src/accounts/caller-scripts.ts';
import { forFile, freshId, sleep } from '../../../harness.ts';
import { activeUntil, answering, googleError, nonsense, passingFaults, UNACKNOWLEDGED } from './fake-google.ts';
import { DAY, HOUR, openShop, until, type Shop } from './shop.ts';

const MINUTE = 60_000;
const iso = (milliseconds: number) => new Date(milliseconds).toISOString();

/** A new install with one purchase. */
async function buyer(shop: Shop, state = 'ACTIVE', lastsMs = HOUR) {
  const installId = freshId();
  const expiresAt = shop.service.now() + lastsMs;
  const token = shop.sold(state, expiresAt);
  expect((await shop.buy(installId, token)).status).toBe(200);
  const checkedAt = async () => Number((await shop.record(token)).checkedAt);
  return {
    installId,
    token,
    expiresAt,
    /** Waits for the next successful check, and for the account to follow. */
    async checked() {
      const before = await checkedAt();
      await until(async () => (await checkedAt()) > before && (await shop.record(token)).todo === undefined);
    },
    state: async () => (await shop.subscription(installId)).state,
    access: async () => (await shop.entitlement(installId)).access,
  };
}

const NOW = Date.parse('2031-05-01T12:00:00.000Z');
test.each([
  ['active', 30 * DAY, 12 * HOUR],
  ['grace', 30 * DAY, 12 * HOUR],
  ['canceled', 30 * DAY, 12 * HOUR],
  ['active', 0, 10_000],
  ['grace', -10 * MINUTE, 10 * MINUTE],
  ['active', -30 * DAY, 12 * HOUR],
  ['on_hold', -DAY, HOUR],
  ['paused', DAY, HOUR],
  ['pending', undefined, 10 * MINUTE],
  ['expired', -1, undefined],
  ['expired', undefined, undefined],
  ['canceled', 0, undefined],
] as const)('a purchase that is %s and ends in %d ms is checked again in %d ms', (state, endsIn, expected) => {
  const at = nextCheckAt({ state, expiresAt: endsIn === undefined ? undefined : NOW + endsIn }, NOW);
  expect(at === undefined ? undefined : at - NOW).toBe(expected);
});

test('a purchase that ends earlier is checked again about its end', () => {
  for (const state of ['active', 'grace', 'canceled'] as const)
    expect(Math.abs(nextCheckAt({ state, expiresAt: NOW + HOUR }, NOW)! - NOW - HOUR - 1000)).toBeLessThanOrEqual(500);
});

describe('the queue of due purchases', async () => {
  const shop = await forFile(openShop());

  test('finds a renewal at the end, and access lasts meanwhile', async () => {
    const { installId, token, expiresAt, checked, access } = await buyer(shop);
    shop.sold('ACTIVE', expiresAt + DAY, {}, token);
    shop.service.advance(HOUR);
    expect(await access()).toBe(true);
    shop.service.advance(20_000);
    await checked();
    expect((await shop.subscription(installId)).expiresAt).toBe(iso(expiresAt + DAY));
    await expect.poll(() => shop.dueIn(token)).toBeGreaterThan(11 * HOUR);
  });

  test('finds a missed renewal, a hold, a pause and a grace period at the end', async () => {
    const outcomes = { EXPIRED: 'expired', ON_HOLD: 'on_hold', PAUSED: 'paused', IN_GRACE_PERIOD: 'grace' };
    const buyers = await Promise.all(Object.keys(outcomes).map(() => buyer(shop)));
    for (const [index, state] of Object.keys(outcomes).entries()) {
      const { expiresAt, token } = buyers[index]!;
      shop.sold(state, state === 'IN_GRACE_PERIOD' ? expiresAt + 2 * DAY : expiresAt, {}, token);
    }
    shop.service.advance(HOUR + 20_000);
    await Promise.all(buyers.map(({ checked }) => checked()));
    expect(await Promise.all(buyers.map(({ state }) => state()))).toEqual(Object.values(outcomes));
    expect(await Promise.all(buyers.map(({ access }) => access()))).toEqual([false, false, false, true]);
    await expect.poll(() => shop.dueIn(buyers[0]!.token)).toBeUndefined();
  });

  test('finds that a pending purchase was paid, acknowledges it and retires the one it replaces', async () => {
    const old = await buyer(shop, 'ACTIVE', 30 * DAY);
    const token = shop.sold('PENDING', undefined, { linkedPurchaseToken: old.token });
    await shop.buy(old.installId, token);
    expect(await old.state()).toBe('active');
    shop.sold('ACTIVE', shop.service.now() + 60 * DAY, { linkedPurchaseToken: old.token, acknowledgementState: UNACKNOWLEDGED }, token);
    shop.service.advance(10 * MINUTE);
    await until(async () => (await shop.lines(old.installId)).length === 1);
    expect((await shop.subscription(old.installId)).expiresAt! > iso(shop.service.now() + 59 * DAY)).toBe(true);
    expect((await shop.record(old.token)).retiredBy).toBe(purchaseHash(token));
    await expect.poll(() => shop.dueIn(old.token)).toBeUndefined();
    expect(shop.google.acknowledgements).toContain(token);
  });

  /** A notification: the purchase is checked soon. */
  const hint = (id: string) =>
    checkSoon({ store: 'google', id }, { scripts: new CallerScripts(shop.redis, { now: shop.service.now }), now: shop.service.now });

  test('checks again when checkSoon is called during a check', async () => {
    const { token, expiresAt, state } = await buyer(shop, 'ACTIVE', 30 * DAY);
    // Google answers with the old state after the purchase changed and checkSoon was called.
    shop.google.misbehaveOnce((request, response) => {
      shop.sold('CANCELED', expiresAt, {}, token);
      void hint(token).then(() => answering(activeUntil(iso(expiresAt)))(request, response));
    });
    await hint(token);
    await until(async () => (await state()) === 'canceled');
  });

  test('does not restore a purchase that was replaced during its check', async () => {
    const { installId, token, expiresAt } = await buyer(shop, 'ACTIVE', 30 * DAY);
    const upgrade = shop.sold('ACTIVE', expiresAt + DAY, { linkedPurchaseToken: token });
    let isAnswered = false;
    shop.google.misbehaveOnce((request, response) => {
      response.once('finish', () => (isAnswered = true));
      void shop.buy(installId, upgrade).then(() => answering(activeUntil(iso(expiresAt)))(request, response));
    });
    await hint(token);
    await until(() => isAnswered);
    // The late answer must have no effect: nothing happens while the service handles it.
    await sleep(300);
    expect(await shop.held(installId)).toEqual([purchaseHash(upgrade)]);
    await expect.poll(() => shop.dueIn(token)).toBeUndefined();
    // checkSoon ignores it, and even a due entry causes no request to Google.
    const { asked } = shop.google;
    expect(await hint(token)).toBe(false);
    await shop.redis.zadd('purchases:due', 1, purchaseHash(token));
    await until(async () => (await shop.dueIn(token)) === undefined);
    expect(shop.google.asked).toBe(asked);
  });

  test('a late answer does not overwrite a newer one', async () => {
    const { installId, token, expiresAt, state } = await buyer(shop, 'ACTIVE', 30 * DAY);
    let answerLate: (() => void) | undefined;
    shop.google.misbehaveOnce((request, response) => {
      answerLate = () => answering(activeUntil(iso(expiresAt)))(request, response);
    });
    await hint(token);
    await until(() => answerLate !== undefined);
    shop.sold('CANCELED', expiresAt, {}, token);
    expect((await shop.buy(installId, token)).body.state).toBe('canceled');
    answerLate!();
    // The late answer must have no effect: nothing happens while the service handles it.
    await sleep(500);
    expect(await state()).toBe('canceled');
    await expect.poll(() => shop.dueIn(token)).toBeGreaterThan(11 * HOUR);
  });
});

describe('while Google misbehaves a subscription past its end', async () => {
  const shop = await forFile(openShop());

  // One fault of each kind: an outage, an answer that is no purchase, and a purchase that Google does not know.
  test.each([
    ['a 500', passingFaults['a 500']!],
    ['no state', answering(nonsense['no state'])],
    ['a 404', googleError(404)],
  ])('gives access for one more day when it renews, and again after the fault: %s', async (_, misbehaviour) => {
    const renewing = await buyer(shop);
    const canceled = await buyer(shop, 'CANCELED');
    shop.google.misbehaviour = misbehaviour;
    shop.service.advance(HOUR + 20_000);
    // A finished check has set the time of the next one, later than its lease.
    const isChecked = async (token: string) => (await shop.record(token)).faults === '1' || (await shop.dueIn(token))! > 11 * HOUR;
    for (const { token } of [renewing, canceled]) await until(() => isChecked(token));
    expect([await renewing.access(), await renewing.state()]).toEqual([true, 'active']);
    expect([await canceled.access(), await canceled.state()]).toEqual([false, 'expired']);
    expect((await shop.entitlement(renewing.installId)).expiresAt).toBe(iso(renewing.expiresAt + DAY));
    expect(await shop.dueIn(renewing.token)).toBeLessThanOrEqual(12 * HOUR);
    shop.service.advance(DAY);
    expect([await renewing.access(), await renewing.state()]).toEqual([false, 'expired']);

    shop.google.misbehaviour = undefined;
    shop.sold('ACTIVE', shop.service.now() + 100 * DAY, {}, renewing.token);
    // A check that began before may still fail, so the clock moves on until a later one succeeds.
    await until(() => {
      shop.service.advance(10 * MINUTE);
      return renewing.access();
    });
  });

  test('is not checked again 60 days after its end when Google does not know it', async () => {
    const { token, expiresAt } = await buyer(shop);
    shop.google.misbehaviour = googleError(404);
    shop.service.advance(59 * DAY);
    await until(async () => (await shop.dueIn(token))! > 11 * HOUR);
    shop.service.advance(expiresAt + 61 * DAY - shop.service.now());
    await until(async () => (await shop.dueIn(token)) === undefined);
    shop.google.misbehaviour = undefined;
  });

  test('expires when Google answers 410', async () => {
    const { token, access, state, installId, expiresAt } = await buyer(shop, 'ACTIVE', 30 * DAY);
    shop.google.misbehaviour = googleError(410);
    shop.service.advance(12 * HOUR);
    await until(async () => !(await access()));
    expect(await state()).toBe('expired');
    // The end is the time of that answer, not the planned end.
    expect(Date.parse((await shop.entitlement(installId)).expiresAt!)).toBeLessThan(expiresAt - 29 * DAY);
    await until(async () => (await shop.dueIn(token)) === undefined);
  });
});

test('several processes on one Redis check each due purchase once', async () => {
  await using shop = await openShop();
  await using branch = await shop.branch();
  const buyers = await Promise.all(Array.from({ length: 20 }, () => buyer(shop, 'ACTIVE', 30 * DAY)));
  for (const { token, expiresAt } of buyers) shop.sold('ON_HOLD', expiresAt, {}, token);
  const { asked } = shop.google;
  for (const each of [shop.service, branch]) each.advance(12 * HOUR);
  await until(async () => (await Promise.all(buyers.map(({ state }) => state()))).every((state) => state === 'on_hold'));
  // No purchase may be checked twice: nothing follows within two looks at the queue.
  await sleep(1200);
  expect(shop.google.asked).toBe(asked + 20);
});
