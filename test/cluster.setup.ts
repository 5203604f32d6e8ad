import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startCluster, type TestNode } from './cluster-nodes.ts';

/** A place whose primaries have fewer keys than this in all Clusters together, besides the keys of every slot, was not used by the tests. */
const LEAST_KEYS = 100;

/** Marks of a slot: the version of the data, its id and the secret of the ledgers (features/coins/secret-of-cluster.ts). */
const MARKS_OF_SLOT = 3;

/** Nodes of a busy machine do not take each other for dead. */
const PATIENT = ['--cluster-node-timeout', '60000'];

/**
 * Starts a Redis Cluster of three primaries for each process that runs test files of the project `cluster`. All Clusters start in the time
 * of one. Each takes 1 s of CPU time during `npm test`.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Vitest numbers the processes that run at the same time from 1 to `maxWorkers`: VITEST_POOL_ID. The files of this project come first.
  const { testFiles } = await project.globTestFiles();
  const processes = Math.min(project.config.maxWorkers, testFiles.length);
  const clusters = await Promise.all(Array.from({ length: processes }, () => startCluster({ settings: PATIENT })));
  const folder = mkdtempSync(join(tmpdir(), 'coinop-used-by-'));
  const usedBy = join(folder, 'files');
  writeFileSync(usedBy, '');
  project.provide('redisClusters', { urls: clusters.map(({ url }) => url), usedBy });
  return async () => {
    const counts = await Promise.all(clusters.map(({ nodes }) => Promise.all(nodes.map(keysOf))));
    await Promise.all(clusters.map((cluster) => cluster[Symbol.asyncDispose]()));
    console.log(`The tests left keys on the primaries of the Clusters: ${counts.map((each) => each.join(', ')).join('; ')}.`);
    const used = new Set(readFileSync(usedBy, 'utf8').split('\n'));
    rmSync(folder, { recursive: true });
    const ran = project.vitest.state.getTestModules().filter((module) => module.project.name === project.name);
    // A part of the files may leave too few keys.
    if (ran.length < testFiles.length) return;
    const sums = counts[0]!.map((_, place) => counts.reduce((sum, each) => sum + each[place]!, 0));
    const problems = [
      ...(sums.some((sum) => sum < LEAST_KEYS) ? ['The tests did not use all primaries of the Clusters.'] : []),
      ...testFiles
        .filter((file) => !used.has(file))
        .map((file) => `${relative('.', file)} never used a Cluster: list it in APART of vitest.config.ts.`),
    ];
    for (const problem of problems) console.error(problem);
    if (problems.length > 0) process.exitCode = 1;
  };
}

/** The number of keys besides the marks. A Cluster that no file used has none of either. */
async function keysOf(node: TestNode): Promise<number> {
  const slots = node.slots.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  return Math.max(0, Number(await node.call('DBSIZE')) - slots * MARKS_OF_SLOT);
}
