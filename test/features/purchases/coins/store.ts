import { expect } from 'vitest';
import { start, type StartOptions } from '../../../harness.ts';
import { startRedis } from '../../../own-redis.ts';
import { balanceOf } from '../../../store.ts';

export const MINUTE = 60_000;

export type CoinShop = Awaited<ReturnType<typeof openCoinShop>>;

/** A service with the sandbox as its store, and its own Redis, because services on one Redis share the queue of purchases. */
export async function openCoinShop(options: StartOptions = {}) {
  const own = await startRedis();
  const logLines: string[] = [];
  const branch = (more: StartOptions = {}) => start({ redis: own.location, ...options, ...more });
  const service = await branch({ logLines });
  return {
    service,
    redis: own.redis,
    location: own.location,
    logLines,
    /** Another service on the same Redis, with its own clock. */
    branch,
    /** Has the sandbox sell coins, or change a purchase. */
    async issue(order: object = {}): Promise<{ purchaseToken: string; orderId: string; notified?: boolean }> {
      const { status, body } = await service.post('/sandbox/issue', { kind: 'purchase', ...order });
      expect([status, body.ok]).toEqual([200, true]);
      return body;
    },
    buy: (installId: string, purchaseToken: string) => service.post('/v1/purchases', { installId, store: 'google', purchaseToken }),
    balance: (installId: string) => balanceOf(service, { installId }),
    /** Types and coins of the ledger, oldest first. */
    async entries(installId: string): Promise<[type: string, coins: number][]> {
      const { cookies } = await service.post('/v1/login', { installId });
      const { body } = await service.get('/v1/coins/history?limit=100', { cookies: [cookies[0]!] });
      return body.entries.map(({ type, coins }: { type: string; coins: number }) => [type, coins]).toReversed();
    },
    purchases: async (installId: string): Promise<Record<string, unknown>[]> =>
      (await service.get(`/v1/purchases?installId=${installId}`)).body.purchases,
    /** Whether the sandbox knows that the purchase is consumed. */
    isConsumed: async (purchaseToken: string): Promise<boolean> =>
      (await own.redis.hexists(`{sandbox:purchase:${purchaseToken}}`, 'consumedAt')) === 1,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await own[Symbol.asyncDispose]();
    },
  };
}
