import type { TestProject } from 'vitest/node';
import { startCluster } from './cluster-nodes.ts';

/** A primary with fewer keys than this, besides the keys of every slot, was not used by the tests. */
const LEAST_KEYS = 100;

/** Marks of a slot: the version of the data, its id and the secret of the ledgers (features/coins/secret-of-cluster.ts). */
const MARKS_OF_SLOT = 3;

/** Starts a Redis Cluster of three primaries for the test files of the project `cluster`. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cluster = await startCluster();
  project.provide('redisCluster', cluster.url);
  return async () => {
    const counts = await Promise.all(
      cluster.nodes.map(async (node) => {
        const slots = node.slots.reduce((sum, [first, last]) => sum + last - first + 1, 0);
        return Number(await node.call('DBSIZE')) - slots * MARKS_OF_SLOT;
      }),
    );
    console.log(`The tests left keys on each primary of the cluster: ${counts.join(', ')}.`);
    await cluster[Symbol.asyncDispose]();
    if (process.env['TEST_CLUSTER'] !== 'all' || counts.every((count) => count >= LEAST_KEYS)) return;
    console.error('The tests did not use all primaries of the cluster.');
    process.exitCode = 1;
  };
}
