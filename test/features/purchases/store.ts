import { expect } from 'vitest';
import { start, type StartOptions, type TestReply, type TestService } from '../../harness.ts';
import type { Redis } from 'ioredis';
import { startRedis } from '../../own-redis.ts';

export const MINUTE = 60_000;

/** A service with the sandbox as its store, and its own Redis, because services on one Redis share the queue of purchases. */
export interface CoinShop extends AsyncDisposable {
  readonly service: TestService;
  readonly redis: Redis;
  readonly location: { readonly socketPath: string };
  readonly logLines: string[];
  /** Another service on the same Redis, with its own clock. */
  branch(options?: StartOptions): Promise<TestService>;
  /** Has the sandbox sell coins, or change a purchase. */
  issue(order?: Record<string, unknown>): Promise<{ purchaseToken: string; orderId: string; notified?: boolean }>;
  buy(installId: string, purchaseToken: string): Promise<TestReply>;
  balance(installId: string): Promise<number>;
  /** Types and coins of the ledger, oldest first. */
  entries(installId: string): Promise<[type: string, coins: number][]>;
  purchases(installId: string): Promise<Record<string, unknown>[]>;
  /** Whether the sandbox knows that the purchase is consumed. */
  isConsumed(purchaseToken: string): Promise<boolean>;
}

export async function openCoinShop(options: StartOptions = {}): Promise<CoinShop> {
  const own = await startRedis();
  const logLines: string[] = [];
  const branch = (more: StartOptions = {}) => start({ redis: own.location, ...options, ...more });
  const service = await branch({ logLines });
  return {
    service,
    redis: own.redis,
    location: own.location,
    logLines,
    branch,
    async issue(order = {}) {
      const { status, body } = await service.post('/sandbox/issue', { kind: 'purchase', ...order });
      expect([status, body.ok]).toEqual([200, true]);
      return body;
    },
    buy: (installId, purchaseToken) => service.post('/v1/purchases', { installId, store: 'google', purchaseToken }),
    balance: async (installId) => (await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins,
    async entries(installId) {
      const { cookies } = await service.post('/v1/login', { installId });
      const { body } = await service.get('/v1/coins/history?limit=100', { cookies: [cookies[0]!] });
      return body.entries.map(({ type, coins }: { type: string; coins: number }) => [type, coins]).toReversed();
    },
    purchases: async (installId) => (await service.get(`/v1/purchases?installId=${installId}`)).body.purchases,
    isConsumed: async (purchaseToken) => (await own.redis.hexists(`{sandbox:purchase:${purchaseToken}}`, 'consumedAt')) === 1,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await own[Symbol.asyncDispose]();
    },
  };
}
