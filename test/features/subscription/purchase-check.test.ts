import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nextCheckAt } from '../../../src/features/subscription/check-schedule.ts';
import { subscriptionKeys } from '../../../src/features/subscription/model.ts';
import { checkSoon, subscriptionNoticed } from '../../../src/features/subscription/notices.ts';
import { purchaseHash } from '../../../src/features/subscription/purchase-token.ts';
import { CallerScripts } from '../../../src/accounts/caller-scripts.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { standingKey } from '../../../src/accounts/account-keys.ts';
import type { Subscriptions } from '../../../src/stores/store.ts';
import { audited } from '../../consistency/audited.ts';
import { freshId, sleep } from '../../harness.ts';
import { answering, googleError, nonsense, PACKAGE, passingFaults, UNACKNOWLEDGED } from './fake-google.ts';
import { DAY, HOUR, openShop, until, type Shop } from './shop.ts';
import { childEnvironment } from '../../environment.ts';

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

describe('nextCheckAt', () => {
  const now = Date.parse('2031-05-01T12:00:00.000Z');
  const inMs = (state: Parameters<typeof nextCheckAt>[0]['state'], expiresAt?: number) => {
    const at = nextCheckAt({ state, expiresAt }, now);
    return at === undefined ? undefined : at - now;
  };

  test('is the end of a purchase with access or twelve hours from now, whichever is sooner', () => {
    for (const state of ['active', 'grace', 'canceled'] as const) {
      expect(inMs(state, now + 30 * DAY)).toBe(12 * HOUR);
      expect(inMs(state, now + HOUR)).toBeGreaterThanOrEqual(HOUR + 500);
      expect(inMs(state, now + HOUR)).toBeLessThanOrEqual(HOUR + 1500);
    }
  });

  test('is seconds away just after a missed renewal, and then moves away up to twelve hours', () => {
    expect(inMs('active', now)).toBe(10_000);
    expect(inMs('grace', now - 10 * MINUTE)).toBe(10 * MINUTE);
    expect(inMs('active', now - 30 * DAY)).toBe(12 * HOUR);
  });

  test('is an hour away on hold or paused and ten minutes away while pending', () => {
    expect(inMs('on_hold', now - DAY)).toBe(HOUR);
    expect(inMs('paused', now + DAY)).toBe(HOUR);
    expect(inMs('pending')).toBe(10 * MINUTE);
  });

  test('is undefined for an ended purchase', () => {
    expect(inMs('expired', now - 1)).toBeUndefined();
    expect(inMs('expired')).toBeUndefined();
    expect(inMs('canceled', now)).toBeUndefined();
  });
});

describe('the queue of due purchases', () => {
  let shop: Shop;
  beforeAll(async () => void (shop = await openShop()));
  afterAll(() => shop[Symbol.asyncDispose]());

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

  test('finds a revoked or refunded purchase within twelve hours', async () => {
    const { token, checked, access } = await buyer(shop, 'ACTIVE', 30 * DAY);
    shop.sold('EXPIRED', shop.service.now(), {}, token);
    shop.service.advance(12 * HOUR);
    await checked();
    expect(await access()).toBe(false);
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

  test('updates the store account that the buyer moved into', async () => {
    const { installId, token, expiresAt, checked } = await buyer(shop);
    const store = accountIdOf(freshId());
    const [line] = await shop.lines(installId);
    await shop.redis.hset(`{${store}}:account`, { createdAt: 1, store: 'google', purchases: line! });
    await shop.redis.del(`{${accountIdOf(installId)}}:account`);
    await shop.redis.set(standingKey(accountIdOf(installId)), `>${store}`);
    shop.sold('ON_HOLD', expiresAt, {}, token);
    shop.service.advance(HOUR + 20_000);
    await checked();
    expect(await shop.redis.hget(`{${store}}:account`, 'purchases')).toMatch(new RegExp(`^${purchaseHash(token)} on_hold `));
    expect(await shop.redis.exists(`{${accountIdOf(installId)}}:account`)).toBe(0);
  });

  test('checks a purchase soon after checkSoon, which ignores unknown purchases', async () => {
    const { token, checked, state } = await buyer(shop, 'ACTIVE', 30 * DAY);
    shop.sold('CANCELED', shop.service.now() + 30 * DAY, {}, token);
    expect(await checkSoon(token, { scripts: scriptsOf(shop), now: shop.service.now })).toBe(true);
    await checked();
    expect(await state()).toBe('canceled');
    await expect.poll(() => shop.dueIn(token)).toBeGreaterThan(11 * HOUR);
    expect(await checkSoon('of-nobody', { scripts: scriptsOf(shop), now: shop.service.now })).toBe(false);
    await expect.poll(() => shop.dueIn('of-nobody')).toBeUndefined();
  });

  test('checks again when checkSoon is called during a check', async () => {
    const { token, expiresAt, state } = await buyer(shop, 'ACTIVE', 30 * DAY);
    const hint = () => checkSoon(token, { scripts: scriptsOf(shop), now: shop.service.now });
    // Google answers with the old state after the purchase changed and checkSoon was called.
    shop.google.misbehaviour = (_, response) => {
      shop.google.misbehaviour = undefined;
      shop.sold('CANCELED', expiresAt, {}, token);
      const said = { subscriptionState: 'SUBSCRIPTION_STATE_ACTIVE', lineItems: [{ productId: 'gold', expiryTime: iso(expiresAt) }] };
      void hint().then(() => response.writeHead(200).end(JSON.stringify(said)));
    };
    await hint();
    await until(async () => (await state()) === 'canceled');
  });

  test('does not restore a purchase that was replaced during its check', async () => {
    const { installId, token, expiresAt } = await buyer(shop, 'ACTIVE', 30 * DAY);
    const upgrade = shop.sold('ACTIVE', expiresAt + DAY, { linkedPurchaseToken: token });
    let isAnswered = false;
    shop.google.misbehaviour = (_, response) => {
      shop.google.misbehaviour = undefined;
      const said = { subscriptionState: 'SUBSCRIPTION_STATE_ACTIVE', lineItems: [{ productId: 'gold', expiryTime: iso(expiresAt) }] };
      void shop.buy(installId, upgrade).then(() => response.writeHead(200).end(JSON.stringify(said), () => (isAnswered = true)));
    };
    await checkSoon(token, { scripts: scriptsOf(shop), now: shop.service.now });
    await until(() => isAnswered);
    // The late answer must have no effect: nothing happens while the service handles it.
    await sleep(300);
    expect((await shop.lines(installId)).map((line) => line.split(' ')[0])).toEqual([purchaseHash(upgrade)]);
    await expect.poll(() => shop.dueIn(token)).toBeUndefined();
    // checkSoon ignores it, and even a due entry causes no request to Google.
    const { asked } = shop.google;
    expect(await checkSoon(token, { scripts: scriptsOf(shop), now: shop.service.now })).toBe(false);
    await shop.redis.zadd('purchases:due', 1, purchaseHash(token));
    await until(async () => (await shop.dueIn(token)) === undefined);
    expect(shop.google.asked).toBe(asked);
  });

  test('a late answer does not overwrite a newer one', async () => {
    const { installId, token, expiresAt, state } = await buyer(shop, 'ACTIVE', 30 * DAY);
    let answerLate: (() => void) | undefined;
    shop.google.misbehaviour = (_, response) => {
      shop.google.misbehaviour = undefined;
      const said = { subscriptionState: 'SUBSCRIPTION_STATE_ACTIVE', lineItems: [{ productId: 'gold', expiryTime: iso(expiresAt) }] };
      answerLate = () => void response.writeHead(200).end(JSON.stringify(said));
    };
    await checkSoon(token, { scripts: scriptsOf(shop), now: shop.service.now });
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

function scriptsOf({ redis, service }: Shop): CallerScripts {
  return new CallerScripts(redis, { now: service.now });
}

describe.concurrent('while Google misbehaves a subscription past its end', () => {
  const faults = [
    ...Object.entries(passingFaults),
    ...Object.entries(nonsense).map(([name, body]) => [name, answering(body)] as const),
    ['a 404', googleError(404)] as const,
    ['a 400', googleError(400)] as const,
  ];
  test.each(faults)(
    'gives access for one more day when it renews, and again after the fault: %s',
    async (_, misbehaviour) => {
      await using shop = await openShop();
      const renewing = await buyer(shop);
      const canceled = await buyer(shop, 'CANCELED');
      shop.google.misbehaviour = misbehaviour;
      const { asked } = shop.google;
      shop.service.advance(HOUR + 20_000);
      await until(() => shop.google.asked >= asked + 2);
      // A finished check has set the time of the next one, later than its lease.
      await until(async () => (await shop.record(renewing.token)).faults === '1' || (await shop.dueIn(renewing.token))! > 11 * HOUR);
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
    },
    60_000,
  );

  test('expires when Google answers 410', async () => {
    await using shop = await openShop();
    const { token, access, state, installId, expiresAt } = await buyer(shop, 'ACTIVE', 30 * DAY);
    shop.google.misbehaviour = googleError(410);
    shop.service.advance(12 * HOUR);
    await until(async () => !(await access()));
    expect(await state()).toBe('expired');
    // The end is the time of that answer, not the planned end.
    expect(Date.parse((await shop.entitlement(installId)).expiresAt!)).toBeLessThan(expiresAt - 29 * DAY);
    await until(async () => (await shop.dueIn(token)) === undefined);
  });

  test('is not checked again 60 days after its end when Google does not know it', async () => {
    await using shop = await openShop();
    const { token, expiresAt } = await buyer(shop);
    shop.google.misbehaviour = googleError(404);
    shop.service.advance(59 * DAY);
    const { asked } = shop.google;
    await until(async () => shop.google.asked > asked && (await shop.dueIn(token))! > 11 * HOUR);
    shop.service.advance(expiresAt + 61 * DAY - shop.service.now());
    await until(async () => (await shop.dueIn(token)) === undefined);
  });
});

/** Starts a service on the shop's Redis, whose own service takes no more work. It is killed once Google has been asked. */
async function killedWhen(shop: Shop, isAsked: () => boolean, act: () => Promise<unknown>): Promise<void> {
  await shop.service.service.drain();
  const child = spawn(process.execPath, [new URL('branch-process.ts', import.meta.url).pathname], {
    env: childEnvironment({
      BRANCH: JSON.stringify({
        socketPath: (shop.redis.options as { path: string }).path,
        store: shop.google.settings,
        account: await shop.google.settings.serviceAccount!(),
      }),
    }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout!, 'data');
  await act();
  await until(isAsked);
  child.kill('SIGKILL');
  await once(child, 'exit');
}

describe('several processes on one Redis', () => {
  test('check each due purchase once', async () => {
    await using shop = await openShop();
    await using branch = await shop.branch();
    const buyers = await Promise.all(Array.from({ length: 30 }, () => buyer(shop, 'ACTIVE', 30 * DAY)));
    for (const { token, expiresAt } of buyers) shop.sold('ON_HOLD', expiresAt, {}, token);
    const { asked } = shop.google;
    for (const each of [shop.service, branch]) each.advance(12 * HOUR);
    await until(async () => (await Promise.all(buyers.map(({ state }) => state()))).every((state) => state === 'on_hold'));
    // No purchase may be checked twice: nothing follows within two looks at the queue.
    await sleep(1200);
    expect(shop.google.asked).toBe(asked + 30);
  });

  test('take over a check from a killed process once its lease has expired', async () => {
    await using shop = await openShop();
    const { token, installId, expiresAt } = await buyer(shop, 'ACTIVE', 30 * DAY);
    shop.sold('ON_HOLD', expiresAt, {}, token);
    let isAsked = false;
    shop.google.misbehaviour = () => void (isAsked = true);
    await killedWhen(
      shop,
      () => isAsked,
      () => checkSoon(token, { scripts: scriptsOf(shop), now: Date.now }),
    );
    shop.google.misbehaviour = undefined;

    await using other = await shop.branch();
    // The lease of the killed process still holds: nothing happens within two looks at the queue.
    await sleep(1200);
    expect((await shop.record(token)).state).toBe('active');
    other.advance(30_000);
    await until(async () => (await shop.record(token)).state === 'on_hold' && (await shop.record(token)).todo === undefined);
    expect((await other.get(`/v1/subscription?installId=${installId}`)).body.state).toBe('on_hold');
  });

  test.each(['misbehaviour', 'acknowledgeMisbehaviour'] as const)(
    'acknowledge a purchase without an app although the process that records it is killed (%s)',
    async (fault) => {
      await using shop = await openShop();
      const installId = freshId();
      const token = shop.sold('ACTIVE', shop.service.now() + 30 * DAY, {
        acknowledgementState: UNACKNOWLEDGED,
        externalAccountIdentifiers: { obfuscatedExternalAccountId: accountIdOf(installId) },
      });
      let isAsked = false;
      shop.google[fault] = () => void (isAsked = true);
      const notify = () =>
        subscriptionNoticed(token, PACKAGE, {
          scripts: scriptsOf(shop),
          now: Date.now,
          subscriptions: { packageNames: [PACKAGE] } as unknown as Subscriptions,
        });
      await killedWhen(shop, () => isAsked, notify);
      const isRecorded = fault === 'acknowledgeMisbehaviour';
      expect((await shop.record(token))['owner']).toBe(isRecorded ? accountIdOf(installId) : undefined);
      shop.google[fault] = undefined;
      shop.google.acknowledgements.length = 0;

      await using other = await shop.branch();
      other.advance(61_000);
      await until(async () => (await shop.record(token))['acknowledged'] === '1');
      expect(shop.google.acknowledgements).toEqual([token]);
      expect((await other.get(`/v1/subscription?installId=${installId}`)).body.subscribed).toBe(true);
      await until(async () => (await shop.redis.zcard(subscriptionKeys.unowned)) === 0);
      expect((await audited({ socketPath: (shop.redis.options as { path: string }).path })).findings).toEqual([]);
    },
    30_000,
  );
});
