import { pino } from 'pino';
import { expect, test } from 'vitest';
import { boardsOf } from '../../src/features/highscores/account-scores.ts';
import { Cluster } from '../../src/redis/cluster-client.ts';
import { clusterSeedsOf } from '../../src/redis/cluster-url.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { startCluster } from '../cluster-nodes.ts';

test('a script runs in the slot of its key, whether the key has a hash tag or is one itself', async () => {
  await using nodes = await startCluster();
  const { seeds, options } = clusterSeedsOf(nodes.url);
  const cluster = new Cluster(seeds, options, 0, pino({ level: 'silent' }));
  try {
    await cluster.opened();
    const scripts = new ScriptRunner(cluster, { now: Date.now });
    const keys = Array.from({ length: 20 }, (_, index) => [`boards:${index}`, `{boards:${index}}:of`]).flat();
    const answers = await Promise.all(keys.map((boards) => scripts.run(boardsOf, { boards }, {})));
    expect(answers).toEqual(keys.map(() => ['boards']));
  } finally {
    cluster.disconnect();
  }
});
