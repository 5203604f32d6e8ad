import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { coinKeys } from '../../src/features/coins/model.ts';
import { startCluster, type TestCluster } from '../cluster-nodes.ts';
import { start, type TestService } from '../harness.ts';

let cluster: TestCluster;
let service: TestService;

beforeAll(async () => {
  cluster = await startCluster({ replicas: 1 });
  service = await start({ redis: { url: cluster.url } });
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

const credit = (installId: string, key: string) => service.post('/v1/coins/credit', { installId, coins: 1, key });

/** One installId for each primary, by its port. */
async function installsByPort(): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  for (let number = 0; found.size < 3; number++) {
    const installId = `install-failover-${number}`;
    const { port } = await cluster.primaryOf(cluster.slotOf(coinKeys.ledger(accountIdOf(installId))));
    if (!found.has(port)) found.set(port, installId);
  }
  return found;
}

test('while a primary is away its accounts get 503 in time, the others are served, and its replica takes over', async () => {
  const installs = await installsByPort();
  for (const installId of installs.values()) expect((await credit(installId, 'before')).status).toBe(200);
  // Replication is asynchronous: without REDIS_WAIT_REPLICAS a failover could take the credit back.
  await pause(300);

  const lost = await cluster.primaryOf(cluster.slotOf(coinKeys.ledger(accountIdOf(installs.values().next().value!))));
  const ofLost = installs.get(lost.port)!;
  const ofOthers = [...installs.values()].filter((installId) => installId !== ofLost);
  await cluster.kill(lost);

  let refused = 0;
  let key = 0;
  const longest = { ofLost: 0, ofOthers: 0 };
  for (;;) {
    key++;
    const begun = performance.now();
    const [own, ...others] = await Promise.all([
      credit(ofLost, `k${key}`).then((reply) => ({ ...reply, tookMs: performance.now() - begun })),
      ...ofOthers.map((installId) => credit(installId, `k${key}`).then((reply) => ({ ...reply, tookMs: performance.now() - begun }))),
    ]);
    for (const { status, tookMs } of others) {
      expect(status).toBe(200);
      longest.ofOthers = Math.max(longest.ofOthers, tookMs);
    }
    if (own!.status === 200) break;
    expect([own!.status, own!.body.error.code]).toEqual([503, 'store_unavailable']);
    longest.ofLost = Math.max(longest.ofLost, own!.tookMs);
    if (++refused === 1) {
      const ready = await service.get('/ready');
      expect(ready.status).toBe(200);
      expect(ready.body.degraded[0]).toMatch(new RegExp(`^127\\.0\\.0\\.1:${lost.port}: .+ \\(slots [\\d, -]+\\)$`));
    }
    await pause(50);
  }
  expect(refused).toBeGreaterThan(0);
  expect(longest.ofLost).toBeLessThan(2500);
  expect(longest.ofOthers).toBeLessThan(1000);

  // The credits that were acknowledged before and during the failover exist.
  const replay = await credit(ofLost, 'before');
  expect(replay.body).toMatchObject({ balanceAfterCoins: 1, replayed: true, balanceCoins: 2 });
  await expect.poll(async () => (await service.get('/ready')).body.degraded).toBeUndefined();
});
