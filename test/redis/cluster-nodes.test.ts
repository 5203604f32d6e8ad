import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { slotOf, startCluster } from '../cluster-nodes.ts';

test('a cluster starts within seconds, moves a slot with its keys, and goes on after the death of a primary', async () => {
  const startedAt = performance.now();
  await using cluster = await startCluster({ replicas: 1 });
  // 2.2 s on a quiet machine.
  expect(performance.now() - startedAt).toBeLessThan(10_000);
  const [one, two, three] = cluster.nodes as [Node, Node, Node];
  expect(cluster.nodes.map(({ role }) => role)).toEqual(['primary', 'primary', 'primary', 'replica', 'replica', 'replica']);
  expect(cluster.nodes.map(({ slots }) => slots)).toEqual([[[0, 5460]], [[5461, 10_921]], [[10_922, 16_383]], [], [], []]);
  expect(cluster.nodes.slice(3).map(({ primary }) => primary)).toEqual([one, two, three]);
  expect(cluster.url).toBe(`redis-cluster://127.0.0.1:${one.port},127.0.0.1:${two.port},127.0.0.1:${three.port}`);

  // The check value of CRC16 XMODEM in the cluster specification.
  expect(slotOf('123456789')).toBe(0x31c3);
  for (const key of ['a', '', '{}', '{}{a}', 'x{}{a}', '{a}b', 'x{a}{b}', 'x{a', 'x}{a}', 'ä{ö}']) {
    expect([key, slotOf(key)]).toEqual([key, await one.call('CLUSTER', 'KEYSLOT', key)]);
  }
  const slot = cluster.slotOf('{a}');
  expect(await cluster.primaryOf(slot)).toBe(three);
  for (const key of ['1', '2', '3', '4', '5']) await three.call('SET', `{a}:${key}`, key);
  const steps: unknown[] = [];
  await cluster.moveSlot(slot, one, { pipeline: 2, onStep: (step, keys) => steps.push([step, keys]) });
  expect(steps).toEqual([
    ['importing', 0],
    ['migrating', 0],
    ['keys', 2],
    ['keys', 4],
    ['keys', 5],
    ['owned', 5],
    ['done', 5],
  ]);
  expect(await cluster.primaryOf(slot)).toBe(one);
  expect(await one.call('GET', '{a}:5')).toBe('5');
  await expect(three.call('GET', '{a}:5')).rejects.toThrow(`MOVED ${slot} 127.0.0.1:${one.port}`);
  expect(three.slots).toEqual([
    [10_922, 15_494],
    [15_496, 16_383],
  ]);
  await cluster.untilAgreed();

  await cluster.kill(one);
  const heir = await cluster.untilFailedOver(one);
  expect(heir).toBe(cluster.nodes[3]);
  await cluster.untilAgreed();
  expect(await heir.call('GET', '{a}:5')).toBe('5');
  await cluster.start(one);
  await cluster.untilAgreed();
  expect([one.role, one.primary]).toEqual(['replica', heir]);

  // A paused primary loses its slots too, and learns that when it resumes.
  await cluster.pause(heir);
  expect(await cluster.untilFailedOver(heir)).toBe(one);
  await cluster.resume(heir);
  await cluster.untilAgreed();
  expect(heir.role).toBe('replica');
}, 60_000);

type Node = Awaited<ReturnType<typeof startCluster>>['nodes'][number];

test('a cluster accepts only TLS and a password', async () => {
  await using cluster = await startCluster({ tls: true, password: 'secret', settings: ['--cluster-node-timeout', '1000'] });
  const [one, , three] = cluster.nodes as [Node, Node, Node];
  const port = (node: Node): number => node.port;
  expect(cluster.url).toBe(`rediss-cluster://:secret@${cluster.nodes.map((node) => `127.0.0.1:${port(node)}`).join(',')}`);
  expect(await one.call('CONFIG', 'GET', 'cluster-node-timeout')).toEqual(['cluster-node-timeout', '1000']);

  const tls = { ca: readFileSync(cluster.caFile!) };
  const options = { host: '127.0.0.1', port: port(three), retryStrategy: null, maxRetriesPerRequest: 0, lazyConnect: true };
  const connected = async (more: object): Promise<string> => {
    const redis = new Redis({ ...options, ...more });
    redis.on('error', () => {});
    try {
      await redis.connect();
      return await redis.set('a', '7');
    } finally {
      redis.disconnect();
    }
  };
  expect(await connected({ tls, password: 'secret' })).toBe('OK');
  await expect(connected({ tls })).rejects.toThrow();
  await expect(connected({ password: 'secret' })).rejects.toThrow();
  await cluster.moveSlot(slotOf('a'), one);
  expect(await one.call('GET', 'a')).toBe('7');
});
