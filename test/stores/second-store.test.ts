import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { accountIdOf } from '../../src/accounts/ids.ts';
import type { AppStore, OneTimeProducts, ProductPurchase, Refund, Sales, StoreDeclaration, StorePurchase } from '../../src/stores/store.ts';

const APP = 'org.moon.game';
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

type Bought = Partial<Omit<StorePurchase, 'state'> & Omit<ProductPurchase, 'state'>> & { readonly state: string };

/** The books of the store, by its own ids of purchases. Its receipts have other texts: `receipt:` and the id. */
const sold = new Map<string, Bought | 'not_yet'>();
const acknowledged = new Set<string>();
let refunded: readonly Refund[] = [];

const buyerOf = (installId: string): string => hash('sha256', `moon ${accountIdOf(installId)}`).slice(0, 32);

const moon = {
  name: 'moon',
  proofs: {
    receipt: z
      .string()
      .regex(/^receipt:\d+$/)
      .optional(),
    receiptNumber: z.string().regex(/^\d+$/).optional(),
  },
  openProofs: ['receiptNumber'],
  accountIds: { field: 'moonBuyer', shape: z.string(), derive: (accountId: string) => hash('sha256', `moon ${accountId}`).slice(0, 32) },
  terms: { forgottenAfterMs: 10 * DAY },
  notifications: {
    path: '/v1/store/moon/notifications',
    operationId: 'receiveMoon',
    summary: 'Receives the notifications of the moon.',
    description: 'Signed by the moon.',
    body: z.object({ signature: z.string().startsWith('moon'), kind: z.enum(['subscription', 'product']), number: z.string() }),
    answersFirst: true,
    bodyBounds: { bytes: 64 * 1024 },
    errors: [],
    deadlineMs: 20_000,
    example: 'curl -s $base/v1/store/moon/notifications',
  },
  check: () => ({ problems: [], missing: [], provesInstalls: false }),
  open: (_, { now }): AppStore => ({
    name: 'moon',
    installs: undefined,
    subscriptions: salesOf((id, of) => ({ ...NO_SUBSCRIPTION, ...of, id, packageName: APP, checkedAt: now() }) as StorePurchase),
    products: {
      ...salesOf((id, of) => ({ ...NO_PRODUCT, ...of, id, packageName: APP, checkedAt: now() }) as ProductPurchase),
      askEveryMs: MINUTE,
      async *refunds() {
        yield refunded;
      },
    } satisfies OneTimeProducts,
    notifications: {
      read: async (body) => {
        const { kind, number } = body as { kind: 'subscription' | 'product'; number: string };
        return [{ kind, id: number, packageName: APP, mayBeNew: true }];
      },
    },
  }),
} satisfies StoreDeclaration;

const NO_SUBSCRIPTION = {
  ...{ buyer: undefined, linkedId: undefined, renewed: undefined, boughtAt: undefined, orderId: undefined, retires: false },
  ...{ productId: 'tides', willRenew: true, acknowledged: false },
};
const NO_PRODUCT = {
  sku: 'moon_500',
  quantity: 1,
  refundedQuantity: 0,
  orderId: undefined,
  buyer: undefined,
  isFinished: false,
  isTest: false,
};

function salesOf<Purchase>(answer: (id: string, of: Bought) => Purchase): Sales<Purchase> {
  const idOf = (proof: string): string => proof.replace('receipt:', '');
  return {
    packageNames: [APP],
    idOf,
    async read(proof, packageName = APP) {
      const found = packageName === APP ? sold.get(idOf(proof)) : undefined;
      return found === 'not_yet' ? found : found === undefined ? 'unknown' : answer(idOf(proof), found);
    },
    acknowledge: async ({ id }) => acknowledged.add(id).has(id),
  };
}

// The second store is its declaration, and a row of the table.
vi.mock(import('../../src/stores/store-table.ts'), async (original) => ({ table: [...(await original()).table, moon] as never }));

const folder = mkdtempSync(join(tmpdir(), 'coinop-moon-'));
afterAll(() => rmSync(folder, { recursive: true }));
const CATALOGUE_FILE = join(folder, 'catalogue.json');
const stores = { google: 'coins_500', moon: 'moon_500' };
writeFileSync(CATALOGUE_FILE, JSON.stringify({ apps: [], products: [{ productId: 'coins-500', coins: 500, stores }] }));

// Imported only now, because these modules import the table.
const { audited } = await import('../consistency/audited.ts');
const { forFile, freshId, start } = await import('../harness.ts');
const { startRedis } = await import('../own-redis.ts');
const { balanceOf, issue } = await import('../store.ts');
const { eventually: until } = await import('../realtime/watcher.ts');

const own = await forFile(startRedis());
const service = await forFile(start({ redis: own.location, settings: { STORE: 'sandbox', CATALOGUE_FILE } }));

let numbers = 100;
function sell(of: Bought | 'not_yet', number = String(numbers++)) {
  sold.set(number, of);
  return { number, receipt: `receipt:${number}` };
}

const subscribe = (installId: string, proof: object) => service.post('/v1/subscription/purchase', { installId, store: 'moon', ...proof });
const buy = (installId: string, proof: object) => service.post('/v1/purchases', { installId, store: 'moon', ...proof });
const notify = (kind: string, number: string) =>
  service.post('/v1/store/moon/notifications', { signature: 'moon'.repeat(10_000), kind, number });
const subscribed = async (installId: string) => (await service.get(`/v1/subscription?installId=${installId}`)).body.subscribed as boolean;
const codeOf = ({ status, body }: Awaited<ReturnType<typeof buy>>) => [status, body.error?.code];
const active = () => ({ state: 'active', expiresAt: service.now() + 30 * DAY });

describe('a second store beside the first', () => {
  test('signs users in, and so does the first', async () => {
    // A sign-in is a provider. The sandbox stands in for any.
    const [moonToken, googleToken] = [
      await issue(service, { kind: 'id_token', subject: 'ada', provider: 'moon' }),
      await issue(service, { kind: 'id_token', subject: 'ada' }),
    ].map(({ token }) => token as string);
    const guest = freshId();
    await service.post('/v1/coins/credit', { installId: guest, coins: 7, key: 'seven' });
    const signedIn = await service.post('/v1/account/store-provision', { token: moonToken, installId: guest });
    expect(signedIn.body).toMatchObject({ ok: true, provider: 'moon', created: true, movedCoins: 7 });
    const other = await service.post('/v1/account/store-provision', { token: googleToken });
    expect(other.body).toMatchObject({ provider: 'google', created: true });
    expect(other.body.accountId).not.toBe(signedIn.body.accountId);
    expect((await service.post('/v1/account/delete', { token: moonToken })).body).toMatchObject({ ok: true, balanceCoins: 7 });
  });

  test('sells subscriptions, which are read again', async () => {
    const [installId, other] = [freshId(), freshId()];
    const { number, receipt } = sell(active());
    expect((await subscribe(installId, { receipt })).body).toMatchObject({ ok: true, subscribed: true, productId: 'tides' });
    expect(acknowledged.has(number)).toBe(true);
    // The same number in the first store is another purchase.
    const { purchaseToken } = await issue(service, { kind: 'subscription', minutes: 60, purchaseToken: undefined });
    expect((await service.post('/v1/subscription/purchase', { installId: other, purchaseToken })).body.subscribed).toBe(true);
    expect(codeOf(await subscribe(other, { receipt: 'receipt:1' }))).toEqual([401, 'bad_token']);
    sell({ state: 'expired', expiresAt: service.now() }, number);
    service.advance(13 * HOUR);
    await until(async () => !(await subscribed(installId)));
  });

  test('sells coins, and takes them back when its list has the refund', async () => {
    const [installId, other] = [freshId(), freshId()];
    const { number, receipt } = sell({ state: 'purchased' });
    expect((await buy(installId, { receipt })).body).toMatchObject({ ok: true, balanceAfterCoins: 500 });
    expect((await buy(installId, { receipt })).body.replayed).toBe(true);
    expect(codeOf(await buy(other, { receipt }))).toEqual([409, 'purchase_owned']);
    expect(acknowledged.has(number)).toBe(true);
    const { purchaseToken } = await issue(service, { kind: 'purchase', productId: 'coins_500' });
    const google = await service.post('/v1/purchases', { installId, store: 'google', purchaseToken });
    expect(google.body).toMatchObject({ ok: true, balanceAfterCoins: 1000 });
    sell({ state: 'purchased', refundedQuantity: 1 }, number);
    refunded = [{ id: number, quantity: undefined, at: service.now() }];
    service.advance(2 * MINUTE);
    await until(async () => (await balanceOf(service, { installId })) === 500);
  });

  test('finds the account by its own id for it, which the account got before, when a notification tells of the purchase', async () => {
    const installId = freshId();
    await service.post('/v1/coins/credit', { installId, coins: 1, key: 'one' });
    expect((await service.get(`/v1/account/store-ids?installId=${installId}`)).body.moonBuyer).toBe(buyerOf(installId));
    const buyer = buyerOf(installId);
    const coins = sell({ state: 'purchased', buyer });
    const access = sell({ ...active(), buyer });
    expect((await notify('product', coins.number)).body).toEqual({ ok: true, checks: true });
    expect((await notify('subscription', access.number)).body).toEqual({ ok: true, checks: true });
    await until(async () => (await balanceOf(service, { installId })) === 501 && (await subscribed(installId)));
    expect(codeOf(await subscribe(freshId(), { receipt: access.receipt }))).toEqual([409, 'purchase_owned']);
  });

  test('takes a proof that is no secret only from the account that it names', async () => {
    const [installId, other] = [freshId(), freshId()];
    await service.post('/v1/coins/credit', { installId, coins: 1, key: 'one' });
    await service.get(`/v1/account/store-ids?installId=${installId}`);
    const buyer = buyerOf(installId);
    for (const [path, bound, unbound] of [
      ['/v1/purchases', { state: 'purchased', buyer }, { state: 'purchased' }],
      ['/v1/subscription/purchase', { ...active(), buyer }, active()],
    ] as const) {
      const post = (who: string, receiptNumber: string) => service.post(path, { installId: who, store: 'moon', receiptNumber });
      const { number } = sell(bound);
      expect(codeOf(await post(other, sell(unbound).number))).toEqual([401, 'bad_token']);
      expect(codeOf(await post(other, number))).toEqual([409, 'purchase_owned']);
      expect((await post(installId, number)).body.ok).toBe(true);
    }
  });

  test('that does not know a purchase yet is asked again', async () => {
    const installId = freshId();
    await service.post('/v1/coins/credit', { installId, coins: 1, key: 'one' });
    await service.get(`/v1/account/store-ids?installId=${installId}`);
    const early = [sell('not_yet'), sell('not_yet')] as const;
    expect(codeOf(await buy(installId, { receipt: early[0].receipt }))).toEqual([503, 'app_store_unavailable']);
    expect((await notify('product', early[0].number)).body.checks).toBe(true);
    expect((await notify('subscription', early[1].number)).body.checks).toBe(true);
    sell({ state: 'purchased', buyer: buyerOf(installId) }, early[0].number);
    sell({ ...active(), buyer: buyerOf(installId) }, early[1].number);
    service.advance(HOUR);
    await until(async () => (await balanceOf(service, { installId })) === 501 && (await subscribed(installId)));
  });

  test('leaves data in which the audit finds nothing', async () => {
    expect((await audited(own.location, { now: service.now })).findings).toEqual([]);
  });
});

test('a service without stores answers store_unconfigured at the endpoints that need one', async () => {
  await using without = await start({ redis: own.location, settings: { STORE: 'off' } });
  const replies = [
    await without.get('/v1/account/store-install/nonce'),
    await without.post('/v1/subscription/purchase', { installId: freshId(), purchaseToken: 'moon' }),
    await without.post('/v1/store/google/notifications', { message: { data: 'e30=' } }, { bearer: 'token' }),
  ];
  expect(replies.map(({ status, body }) => [status, body.error.code])).toEqual(Array(3).fill([503, 'store_unconfigured']));
});
