import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import type { TestNode } from '../cluster-nodes.ts';
import { startProxiedCluster, type ProxiedCluster } from '../cluster-proxy.ts';
import { sleep } from '../harness.ts';

/** A client of one node, through its proxy. */
function clientOf(cluster: ProxiedCluster, node: TestNode): Redis & Disposable {
  const redis = new Redis({ host: '127.0.0.1', port: cluster.clientPort(node), retryStrategy: null, maxRetriesPerRequest: 0 });
  redis.on('error', () => {});
  return Object.assign(redis, { [Symbol.dispose]: () => redis.disconnect() });
}

/** CRC16 of "a" is 31879: its slot, 15495, belongs to the third of three primaries. */
const KEY = 'a';

test('clients and nodes know only the ports of the proxies, and each node speaks from its own address', async () => {
  await using cluster = await startProxiedCluster({ replicas: 1 });
  const [one] = cluster.nodes as [TestNode];
  const announced = cluster.nodes.map((node) => cluster.clientPort(node));
  expect(cluster.url).toBe(
    `redis-cluster://${announced
      .slice(0, 3)
      .map((port) => `127.0.0.1:${port}`)
      .join(',')}`,
  );
  const known = String(await one.call('CLUSTER', 'NODES'));
  expect([...known.matchAll(/ 127\.0\.0\.1:(\d+)@/g)].map(([, port]) => Number(port)).sort()).toEqual(announced.toSorted());
  // Its replica is the fourth node.
  const wires = await cluster.wiresOf(one);
  expect(wires).toEqual(expect.arrayContaining([expect.objectContaining({ from: 3, to: 0, kind: 'client' })]));
  expect(new Set(wires.map(({ from }) => from))).toEqual(new Set([1, 2, 3, 4, 5]));
}, 60_000);

test('acknowledged writes that were on their way to a lagging replica are lost when the primary is killed', async () => {
  await using cluster = await startProxiedCluster({ replicas: 1 });
  const primary = await cluster.primaryOf(cluster.slotOf(KEY));
  using client = clientOf(cluster, primary);
  await cluster.lag(primary, 300);
  await client.set(KEY, 'early');
  const startedAt = performance.now();
  expect(await client.call('WAIT', 1, 5000)).toBe(1);
  expect(performance.now() - startedAt).toBeGreaterThan(250);
  expect(await client.set(KEY, 'late')).toBe('OK');
  await cluster.kill(primary);
  const heir = await cluster.untilFailedOver(primary);
  expect(heir.index).toBe(5);
  expect(await heir.call('GET', KEY)).toBe('early');
}, 60_000);

test('without lag a replica has an acknowledged write a moment later', async () => {
  await using cluster = await startProxiedCluster({ replicas: 1 });
  const primary = await cluster.primaryOf(cluster.slotOf(KEY));
  using client = clientOf(cluster, primary);
  await client.set(KEY, 'late');
  await sleep(100);
  await cluster.kill(primary);
  expect(await (await cluster.untilFailedOver(primary)).call('GET', KEY)).toBe('late');
}, 60_000);

test('a partition promotes a replica on the side of the majority, and writes that the cut-off primary took meanwhile are lost', async () => {
  await using cluster = await startProxiedCluster({ replicas: 1 });
  const primary = await cluster.primaryOf(cluster.slotOf(KEY));
  using client = clientOf(cluster, primary);
  await client.set(KEY, 'before');
  expect(await client.call('WAIT', 1, 5000)).toBe(1);
  await cluster.partition([primary]);
  // The node has not noticed the failure yet.
  expect(await client.set(KEY, 'cut off')).toBe('OK');
  // The node notices after the node timeout.
  await expect.poll(() => client.set(KEY, 'refused').catch((error: Error) => error.message)).toMatch(/^CLUSTERDOWN/);
  const heir = await cluster.untilFailedOver(primary);
  expect(heir.index).toBe(5);
  expect(await heir.call('GET', KEY)).toBe('before');
  await cluster.heal();
  await cluster.untilAgreed();
  expect([primary.role, primary.primary?.index]).toEqual(['replica', 5]);
  await expect(primary.call('GET', KEY)).rejects.toThrow(`MOVED 15495 127.0.0.1:${cluster.clientPort(heir)}`);
}, 60_000);

test('a node that drops all that clients send answers no client, and the other nodes notice nothing', async () => {
  await using cluster = await startProxiedCluster({ replicas: 1 });
  const primary = await cluster.primaryOf(cluster.slotOf(KEY));
  using open = clientOf(cluster, primary);
  expect(await open.set(KEY, 'before')).toBe('OK');
  await cluster.dropClients(primary);
  const answers: string[] = [];
  const asked = open.get(KEY).then((answer) => answers.push(answer!));
  using late = clientOf(cluster, primary);
  const ready = new Promise((resolve) => late.once('ready', resolve)).then(() => answers.push('ready'));
  // Longer than the node timeout and a failover.
  await sleep(5000);
  expect(answers).toEqual([]);
  await cluster.untilAgreed();
  expect(primary.role).toBe('primary');
  await cluster.heal();
  await Promise.all([asked, ready]);
  expect(answers.toSorted()).toEqual(['before', 'ready']);
}, 60_000);
