import type { Redis } from 'ioredis';
import { purchaseHash } from '../../../../src/features/purchases/core/purchase-ids.ts';
import { memberOf } from '../../../../src/redis/queue.ts';
import { accountIdOf } from '../../../../src/accounts/ids.ts';
import { accountKey } from '../../../../src/accounts/account-keys.ts';
import { freshId, start, type StartOptions, type TestService } from '../../../harness.ts';
import { startRedis } from '../../../own-redis.ts';
import { FakeGoogle, PACKAGE, type FakePurchase } from './fake-google.ts';

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** A service with its own fake Google and its own Redis. Services on one Redis share the queue of due purchases. */
export interface Shop extends AsyncDisposable {
  readonly google: FakeGoogle;
  readonly redis: Redis;
  readonly service: TestService;
  readonly logLines: string[];
  /** Starts another service on the same Redis and Google, with its own clock. */
  branch(options?: StartOptions): Promise<TestService>;
  /** Makes Google sell a subscription and returns its token. */
  sold(state: string, expiresAt: number | undefined, more?: Partial<FakePurchase>, token?: string): string;
  buy(installId: string, purchaseToken: string, more?: object): ReturnType<TestService['post']>;
  subscription(installId: string): Promise<{ subscribed: boolean; state: string; expiresAt?: string }>;
  entitlement(installId: string): Promise<{ state: string; access: boolean; expiresAt?: string }>;
  record(token: string): Promise<Record<string, string>>;
  lines(installId: string): Promise<string[]>;
  /** The purchases of an account, by `purchaseHash`. */
  held(installId: string): Promise<string[]>;
  /** Milliseconds until the next check of a purchase, undefined when none is due. */
  dueIn(token: string): Promise<number | undefined>;
  makeStoreAccount(installId: string): Promise<void>;
}

export async function openShop(packageNames: readonly string[] = [PACKAGE], settings: Record<string, string> = {}): Promise<Shop> {
  const own = await startRedis();
  const google = await FakeGoogle.start(packageNames);
  const logLines: string[] = [];
  const branch = (options: StartOptions = {}) => start({ redis: own.location, storeSettings: google.settings, settings, ...options });
  const service = await branch({ logLines });
  google.now = service.now;
  const { redis } = own;
  const lines = async (installId: string): Promise<string[]> => {
    const field = await redis.hget(accountKey(accountIdOf(installId)), 'purchases');
    return field === null ? [] : field.split('\n');
  };
  return {
    google,
    redis,
    service,
    logLines,
    branch,
    sold(state, expiresAt, more = {}, token = freshId('token')) {
      const expiryTime = expiresAt === undefined ? {} : { expiryTime: new Date(expiresAt).toISOString() };
      google.sell(token, {
        subscriptionState: `SUBSCRIPTION_STATE_${state}`,
        lineItems: [{ productId: 'gold', ...expiryTime, autoRenewingPlan: { autoRenewEnabled: state !== 'CANCELED' } }],
        ...more,
      });
      return token;
    },
    buy: (installId, purchaseToken, more = {}) => service.post('/v1/subscription/purchase', { installId, purchaseToken, ...more }),
    subscription: async (installId) => (await service.get(`/v1/subscription?installId=${installId}`)).body,
    entitlement: async (installId) => (await service.get(`/v1/entitlement?installId=${installId}`)).body,
    record: (token) => redis.hgetall(`{purchase:${purchaseHash(token)}}`),
    lines,
    held: async (installId) => (await lines(installId)).map((line) => line.split(' ')[0]!),
    async dueIn(token) {
      const entries = await redis.zrange('purchases:due', '0', '-1', 'WITHSCORES');
      const place = entries.findIndex((entry, index) => index % 2 === 0 && memberOf(entry) === purchaseHash(token));
      return place === -1 ? undefined : Number(entries[place + 1]) - service.now();
    },
    makeStoreAccount: async (installId) => void (await redis.hset(accountKey(accountIdOf(installId)), { createdAt: 1, store: 'google' })),
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await google[Symbol.asyncDispose]();
      await own[Symbol.asyncDispose]();
    },
  };
}

/** The queue looks for due purchases twice a second. */
export { eventually as until } from '../../../realtime/watcher.ts';
