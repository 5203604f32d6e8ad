import { Session } from 'node:inspector/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { storeAccountIdOf } from '../../src/accounts/ids.ts';
import { refuse } from '../../src/errors.ts';
import type { AppStore, StoreParts, StorePurchase } from '../../src/stores/store.ts';
import { freshId, start, type StartOptions, type TestService } from '../harness.ts';
import { startRedis, type OwnRedis } from '../own-redis.ts';
import { signInToStore } from '../store.ts';
import { until } from '../features/subscription/shop.ts';

const APP = 'org.moon.game';
const HOUR = 3_600_000;

type Sold = Pick<StorePurchase, 'state' | 'expiresAt' | 'acknowledged'>;

/** An app store without Google. Its tokens are plain texts of their contents. */
class MoonStore implements AppStore {
  readonly name = 'moon';
  readonly sold = new Map<string, Sold>();
  readonly #now: () => number;

  constructor({ now }: StoreParts) {
    this.#now = now;
  }

  readonly signIn = {
    verify: async (token: string) => {
      const [, subject] = /^user:(\w+)$/.exec(token) ?? [];
      if (subject === undefined) throw refuse('bad_token', { field: 'token' });
      return { subject, issuedAt: this.#now() };
    },
  };

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
    look: async (token: string, packageName = APP) => {
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

/** The functions below `folder` of src that `act` calls. */
async function calledIn(folders: readonly string[], act: () => Promise<void>): Promise<string[][]> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  try {
    await act();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    return folders.map((folder) =>
      result
        .filter(({ url }) => url.includes(`/src/${folder}/`))
        .flatMap(({ url, functions }) =>
          functions.filter(({ ranges }) => ranges[0]!.count > 0).map(({ functionName }) => `${url.split('/').at(-1)} ${functionName}`),
        ),
    );
  } finally {
    session.disconnect();
  }
}

describe('an app store that is not Google', () => {
  let redis: OwnRedis;
  let moon: MoonStore;
  let service: TestService;
  const branch = (options: StartOptions) => start({ redis: redis.location, settings: { STORE: 'off' }, ...options });
  beforeAll(async () => {
    redis = await startRedis();
    service = await branch({ store: (parts) => (moon = new MoonStore(parts)) });
  });
  afterAll(async () => {
    await service?.[Symbol.asyncDispose]();
    await redis?.[Symbol.asyncDispose]();
  });

  async function signIn(): Promise<void> {
    const guest = freshId();
    await service.post('/v1/coins/credit', { installId: guest, coins: 7, key: 'seven' });
    const signedIn = await service.post('/v1/account/store-provision', { token: 'user:ada', installId: guest });
    expect(signedIn.body).toMatchObject({ ok: true, accountId: storeAccountIdOf('moon', 'ada'), created: true, movedCoins: 7 });
    const again = await service.post('/v1/account/store-provision', { token: 'user:ada' });
    expect(again.body).toMatchObject({ accountId: signedIn.body.accountId, created: false });
    const { status, body } = await service.post('/v1/account/store-provision', { token: 'ada' });
    expect([status, body.error.code]).toEqual([401, 'bad_token']);
    const deleted = await service.post('/v1/account/delete', { token: 'user:ada' });
    expect(deleted.body).toMatchObject({ ok: true, accountId: signedIn.body.accountId, balanceCoins: 7 });
  }

  async function subscribe(): Promise<void> {
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
  }

  async function proveInstall(): Promise<void> {
    const installId = freshId();
    const nonce = async () => (await service.get(`/v1/account/store-install/nonce?installId=${installId}`)).body.nonce as string;
    const prove = (given: string, integrityToken: string) =>
      service.post('/v1/account/store-install', { nonce: given, integrityToken, installId });
    const first = await nonce();
    expect((await prove(first, `install:${first}`)).body).toMatchObject({ ok: true, installVerified: true, packageName: APP });
    const second = await nonce();
    const { status, body } = await prove(second, `install:${first}`);
    expect([status, body.error]).toMatchObject([403, { code: 'integrity_failed', failed: ['nonce'] }]);
  }

  test('signs users in, sells subscriptions and proves installs, and no code of Google runs', async () => {
    const [google, features] = await calledIn(['stores/google', 'features'], async () => {
      await signIn();
      await subscribe();
      await proveInstall();
    });
    expect(google).toEqual([]);
    expect(features).toEqual(expect.arrayContaining(['provision.ts signIn', 'purchase-check.ts checkPurchase', 'install.ts verify']));
  });

  test('the same probe sees the code of Google if the sandbox signs a user in', async () => {
    await using sandbox = await start();
    const [google] = await calledIn(['stores/google'], async () => void (await signInToStore(sandbox, freshId())));
    expect(google).toContain('id-tokens.ts verifySignIn');
  });

  test('without a part answers store_unconfigured at the endpoints that need it, and at those of Google', async () => {
    const bare: AppStore = { name: 'bare', signIn: undefined, installs: undefined, subscriptions: undefined, products: undefined };
    await using without = await branch({ store: () => bare });
    const replies = [
      await without.post('/v1/account/store-provision', { token: 'user:ada' }),
      await without.get('/v1/account/store-install/nonce'),
      await without.post('/v1/subscription/purchase', { installId: freshId(), purchaseToken: 'moon' }),
      await service.post('/v1/store/google/notifications', { message: { data: 'e30=' } }, { bearer: 'token' }),
    ];
    expect(replies.map(({ status, body }) => [status, body.error.code])).toEqual(Array(4).fill([503, 'store_unconfigured']));
  });
});
