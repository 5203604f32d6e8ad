import { expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { coinKeys } from '../../src/features/coins/model.ts';
import { boardKeys } from '../../src/features/highscores/model.ts';
import { startCluster, type TestCluster } from '../cluster-nodes.ts';
import { sleep, start } from '../harness.ts';
import { credit } from './movable-services.ts';

/** A refused credit that took longer has waited for a primary. */
const WAITED_MS = 1500;

/** One installId for each primary, by its port. */
async function installsByPort(cluster: TestCluster): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  for (let number = 0; found.size < 3; number++) {
    const installId = `install-failover-${number}`;
    const { port } = await cluster.primaryOf(cluster.slotOf(coinKeys.ledger(accountIdOf(installId))));
    if (!found.has(port)) found.set(port, installId);
  }
  return found;
}

test('while a primary is away its accounts get 503, the others are served at once, and its replica takes over', async () => {
  // Started here, because CI repeats a failed test, and the killed primary stays away.
  await using cluster = await startCluster({ replicas: 1 });
  await using service = await start({ redis: { url: cluster.url } });
  const installs = await installsByPort(cluster);
  for (const installId of installs.values()) expect((await credit(service, installId, 'before')).status).toBe(200);
  // Replication is asynchronous: without REDIS_WAIT_REPLICAS a failover could take the credit back.
  await sleep(300);

  const [lost] = cluster.nodes;
  const ofLost = installs.get(lost!.port)!;
  const ofOthers = [...installs.values()].filter((installId) => installId !== ofLost);
  await cluster.kill(lost!);

  let refused = 0;
  for (let key = 0; ; key++) {
    const ended: string[] = [];
    const asked = async (installId: string) => {
      const reply = await credit(service, installId, `k${key}`);
      ended.push(installId);
      return reply;
    };
    const begunAt = performance.now();
    const others = Promise.all(ofOthers.map(asked));
    const own = await asked(ofLost);
    const hasWaited = performance.now() - begunAt > WAITED_MS;
    expect((await others).map(({ status }) => status)).toEqual([200, 200]);
    if (own.status === 200) break;
    expect([own.status, own.body.error.code]).toEqual([503, 'store_unavailable']);
    // The others did not wait for the lost primary.
    if (hasWaited) expect(ended.at(-1)).toBe(ofLost);
    if (++refused === 1) {
      const ready = await service.get('/ready');
      expect(ready.status).toBe(200);
      expect(ready.body.degraded[0]).toMatch(new RegExp(`^127\\.0\\.0\\.1:${lost!.port}: .+ \\(slots [\\d, -]+\\)$`));
    }
    await sleep(50);
  }
  expect(refused).toBeGreaterThan(0);

  // The credits that were acknowledged before and during the failover exist.
  expect((await credit(service, ofLost, 'before')).body).toMatchObject({ balanceAfterCoins: 1, replayed: true, balanceCoins: 2 });
  await expect.poll(async () => (await service.get('/ready')).body.degraded).toBeUndefined();
});

test('with REDIS_WAIT_REPLICAS a board gets no entry before the replicas know that the account is on the board', async () => {
  // No primary has a replica, so nothing is ever confirmed.
  await using cluster = await startCluster();
  await using service = await start({ redis: { url: cluster.url }, settings: { REDIS_WAIT_REPLICAS: '1' } });
  const board = await cluster.primaryOf(cluster.slotOf(boardKeys.players('tetris')));
  const installs = await installsByPort(cluster);
  const submit = (port: number) => service.post('/v1/highscores/tetris', { installId: installs.get(port)!, score: 5, name: 'Ada' });
  const other = cluster.nodes.find(({ port }) => port !== board.port)!;
  const refused = await submit(other.port);
  expect([refused.status, refused.body.error.code, refused.body.error.outcome]).toEqual([503, 'store_unavailable', 'unknown']);
  expect(await board.call('HLEN', boardKeys.players('tetris'))).toBe(0);
  // The account and the board are on one primary: no failover loses only one of them.
  expect((await submit(board.port)).status).toBe(200);
  expect(await board.call('HLEN', boardKeys.players('tetris'))).toBe(1);
});
