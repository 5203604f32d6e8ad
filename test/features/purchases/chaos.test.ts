import { test } from 'vitest';
import { freshId, start } from '../../harness.ts';
import { startRedis, type OwnRedis } from '../../own-redis.ts';
import { until } from '../subscription/shop.ts';

test('purchases come out as the books of the sandbox say, whatever goes wrong', async () => {
  const own: OwnRedis = await startRedis();
  await using chaotic = await start({ redis: own.location, settings: { SANDBOX_CHAOS: '32' } });
  const post = (path: string, body: object) => chaotic.post(path, body);
  const installs = Array.from({ length: 5 }, () => freshId());
  const tokens: string[] = [];
  await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      const installId = installs[index % 5]!;
      const { purchaseToken } = (await post('/sandbox/issue', { kind: 'purchase', quantity: 2, notify: true })).body;
      tokens.push(purchaseToken);
      await until(async () => (await post('/v1/purchases', { installId, store: 'google', purchaseToken })).status === 200);
      if (index % 2 === 0) {
        const refundedQuantity = 1 + (index % 4) / 2;
        await post('/sandbox/issue', { kind: 'purchase', purchaseToken, refundedQuantity, notify: true });
      }
    }),
  );
  const kept = async () => {
    const issued = await Promise.all(tokens.map((token) => own.redis.hget(`{sandbox:purchase:${token}}`, 'issued')));
    return issued.reduce((sum, json) => sum + 500 * (2 - JSON.parse(json!).refundedQuantity), 0);
  };
  const booked = async () => {
    const balances = await Promise.all(installs.map(async (id) => (await chaotic.get(`/v1/balance?installId=${id}`)).body.balanceCoins));
    return balances.reduce((sum: number, each: number) => sum + each, 0);
  };
  // The service asks the store for refunds whose notifications were lost, and acknowledges grants again.
  const isConsumed = async (token: string) => (await own.redis.hexists(`{sandbox:purchase:${token}}`, 'consumedAt')) === 1;
  const isKept = async (token: string) => JSON.parse((await own.redis.hget(`{sandbox:purchase:${token}}`, 'issued'))!).refundedQuantity < 2;
  await until(async () => {
    chaotic.advance(60_000);
    const open = await Promise.all(tokens.map(async (token) => (await isKept(token)) && !(await isConsumed(token))));
    return !open.includes(true) && (await booked()) === (await kept());
  }, 20_000);
  await chaotic[Symbol.asyncDispose]();
  await own[Symbol.asyncDispose]();
});
