import { expect, test } from 'vitest';
import { audited } from '../../../consistency/audited.ts';
import { freshId, start } from '../../../harness.ts';
import { startRedis } from '../../../own-redis.ts';
import { balanceOf } from '../../../store.ts';
import { until } from '../subscription/shop.ts';

test.each([
  ['google', 'purchaseToken', 'purchaseToken'],
  ['apple', 'transaction', 'transactionId'],
] as const)('purchases of %s come out as the books of the sandbox say, whatever goes wrong', async (store, proof, id) => {
  await using own = await startRedis();
  await using chaotic = await start({ redis: own.location, settings: { SANDBOX_CHAOS: '32' } });
  const post = (path: string, body: object) => chaotic.post(path, body);
  const installs = Array.from({ length: 5 }, () => freshId());
  const tokens: string[] = [];
  await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      const installId = installs[index % 5]!;
      const issued = (await post('/sandbox/issue', { kind: 'purchase', store, quantity: 2, notify: true })).body;
      tokens.push(issued[id]);
      await until(async () => (await post('/v1/purchases', { installId, store, [proof]: issued[proof] })).status === 200);
      if (index % 2 === 0) {
        const refundedQuantity = 1 + (index % 4) / 2;
        await post('/sandbox/issue', { kind: 'purchase', store, [id]: issued[id], refundedQuantity, notify: true });
      }
    }),
  );
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
  // The service asks the store for refunds whose notifications were lost, and acknowledges grants again.
  await until(async () => {
    chaotic.advance(60_000);
    const sold = await Promise.all(tokens.map((token) => own.redis.hgetall(`{sandbox:purchase:${token}}`)));
    const kept = sold.map(({ issued }) => 500 * (2 - refundedIn(JSON.parse(issued!))));
    const booked = await Promise.all(installs.map((installId) => balanceOf(chaotic, { installId })));
    return sold.every(({ consumedAt }, index) => kept[index] === 0 || consumedAt !== undefined) && sum(booked) === sum(kept);
  });
  expect((await audited(own.location, { now: chaotic.now })).findings).toEqual([]);
});

/** The units that are refunded in sum, by the record of the sandbox. */
function refundedIn({ refundedQuantity, revoked }: { refundedQuantity?: number; revoked?: { revocationPercentage: number } }): number {
  return refundedQuantity ?? (2 * (revoked?.revocationPercentage ?? 0)) / 100_000;
}
