import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { coinKeys } from '../../src/features/coins/model.ts';
import { startCluster, type TestCluster } from '../cluster-nodes.ts';
import { forFile, start } from '../harness.ts';
import { makeServerKey } from '../server-keys.ts';

const cluster = await forFile(startCluster());
const service = await forFile(start({ redis: { url: cluster.url }, settings: { ADMIN_API: 'on' } }));

/** Sends the credit again until it is acknowledged, as a client does. */
async function credit(installId: string, key: string): Promise<{ balanceAfterCoins: number }> {
  for (;;) {
    const { status, body } = await service.post('/v1/coins/credit', { installId, coins: 1, key });
    if (status === 200) return body;
    expect([status, body.error.code]).toEqual([503, 'store_unavailable']);
    await pause(20);
  }
}

test('an account whose slot moves back and forth under load loses no coin, doubles none, and replays every key', async () => {
  const installId = 'install-resharded';
  const slot = cluster.slotOf(coinKeys.ledger(accountIdOf(installId)));

  const COUNT = 500;
  const balances = new Map<string, number>();
  let next = 0;
  const clients = Array.from({ length: 16 }, async () => {
    for (let key = next++; key < COUNT; key = next++) {
      const { balanceAfterCoins } = await credit(installId, `k${key}`);
      balances.set(`k${key}`, balanceAfterCoins);
    }
  });
  const moves = await cluster.moveWhile(Promise.all(clients), slot, 30);

  // Move the slot, and move it back.
  expect(moves).toBeGreaterThan(1);
  // Each acknowledged credit is one entry: the balances after them are all numbers from 1 to COUNT.
  expect([...balances.values()].toSorted((one, other) => one - other)).toEqual(Array.from({ length: COUNT }, (_, index) => index + 1));
  const { body } = await service.get(`/v1/balance?installId=${installId}`);
  expect(body.balanceCoins).toBe(COUNT);
  // Each acknowledged credit is counted once, although calls were refused and sent again, and the place of the counters changed.
  const { token } = await makeServerKey(service, ['admin']);
  const { days } = (await service.get('/v1/admin/numbers', { bearer: token })).body as { days: { coinsIn: { credit?: number } }[] };
  expect(days.reduce((sum, { coinsIn: { credit: coins = 0 } }) => sum + coins, 0)).toBe(COUNT);
  for (const [key, balance] of [...balances].filter((_, index) => index % 10 === 0))
    expect((await credit(installId, key)).balanceAfterCoins).toBe(balance);
});
