import { describe, expect, test } from 'vitest';
import { refuse } from '../../src/errors.ts';
import type { AppStore, StoreOptions, StorePurchase } from '../../src/stores/store.ts';
import { forFile, freshId, start } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { until } from '../features/purchases/subscription/shop.ts';

const APP = 'org.moon.game';
const HOUR = 3_600_000;

type Sold = Pick<StorePurchase, 'state' | 'expiresAt' | 'acknowledged'>;

/** An app store without Google. Its tokens are plain texts of their contents. */
class MoonStore implements AppStore {
  readonly name = 'moon';
  readonly sold = new Map<string, Sold>();
  readonly #now: () => number;

  constructor({ now }: StoreOptions) {
    this.#now = now;
  }

  readonly installs = {
    verify: async (token: string, nonce: string) => {
      if (!token.startsWith('install:')) throw refuse('bad_token', { field: 'integrityToken' });
      if (token !== `install:${nonce}`) throw refuse('integrity_failed', { failed: ['nonce'] });
      return { packageName: APP };
    },
  };

  readonly products = undefined;

  readonly subscriptions = {
    packageNames: [APP],
    read: async (token: string, packageName = APP) => {
      const sold = this.sold.get(token);
      if (sold === undefined || packageName !== APP) return 'unknown' as const;
      const none = {
        buyer: undefined,
        linkedToken: undefined,
        renewed: undefined,
        boughtAt: undefined,
        orderId: undefined,
        retires: false,
      };
      return { ...sold, ...none, packageName, productId: 'tides', willRenew: true, checkedAt: this.#now() };
    },
    acknowledge: async ({ token }: { token: string }) => {
      this.sold.set(token, { ...this.sold.get(token)!, acknowledged: true });
      return true;
    },
  };
}

const own = await forFile(startRedis());
const branch = (store: (parts: StoreOptions) => AppStore) => start({ redis: own.location, settings: { STORE: 'off' }, store });
let moon!: MoonStore;
const service = await forFile(branch((parts) => (moon = new MoonStore(parts))));

describe('an app store that is not Google', () => {
  test('sells subscriptions', async () => {
    const installId = freshId();
    const [token, other] = [freshId('moon'), freshId('moon')];
    moon.sold.set(token, { state: 'active', expiresAt: service.now() + 30 * 24 * HOUR, acknowledged: false });
    const bought = await service.post('/v1/subscription/purchase', { installId, purchaseToken: token });
    expect(bought.body).toMatchObject({ ok: true, subscribed: true, source: 'store', productId: 'tides' });
    expect(moon.sold.get(token)!.acknowledged).toBe(true);
    const unknown = await service.post('/v1/subscription/purchase', { installId, purchaseToken: other });
    expect([unknown.status, unknown.body.error.code]).toEqual([401, 'bad_token']);

    // The queue checks again within twelve hours.
    moon.sold.set(token, { state: 'expired', expiresAt: service.now(), acknowledged: true });
    service.advance(13 * HOUR);
    await until(async () => !(await service.get(`/v1/subscription?installId=${installId}`)).body.subscribed);
  });

  test('proves installs', async () => {
    const installId = freshId();
    const nonce = async () => (await service.get(`/v1/account/store-install/nonce?installId=${installId}`)).body.nonce as string;
    const prove = (given: string, integrityToken: string) =>
      service.post('/v1/account/store-install', { nonce: given, integrityToken, installId });
    const first = await nonce();
    expect((await prove(first, `install:${first}`)).body).toMatchObject({ ok: true, installVerified: true, packageName: APP });
    const refused = await prove(await nonce(), `install:${first}`);
    expect([refused.status, refused.body.error]).toMatchObject([403, { code: 'integrity_failed', failed: ['nonce'] }]);
  });

  test('without a part answers store_unconfigured at the endpoints that need it, and at those of Google', async () => {
    const bare: AppStore = { name: 'bare', installs: undefined, subscriptions: undefined, products: undefined };
    await using without = await branch(() => bare);
    const replies = [
      await without.post('/v1/account/store-provision', { token: 'user:ada' }),
      await without.get('/v1/account/store-install/nonce'),
      await without.post('/v1/subscription/purchase', { installId: freshId(), purchaseToken: 'moon' }),
      await service.post('/v1/store/google/notifications', { message: { data: 'e30=' } }, { bearer: 'token' }),
    ];
    expect(replies.map(({ status, body }) => [status, body.error.code])).toEqual(Array(4).fill([503, 'store_unconfigured']));
  });
});
