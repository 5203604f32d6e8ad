import { Cluster } from 'ioredis';
import { expect, test } from 'vitest';
import { startCluster } from '../../cluster-nodes.ts';
import { usePlace } from '../../commands/place.ts';
import { paste } from './paste.ts';
import { examine as report } from './report.ts';

const place = usePlace();
/** The findings about the Cluster, without those about this machine and the defaults of development. */
async function examine(url: string, settings: Record<string, string> = {}) {
  const { findings, facts } = await report({ REDIS_URL: url, DATA_DIR: place.folder, ...settings });
  const others = ['client_mints', 'sandbox', 'sample_catalogue', 'overcommit', 'huge_pages', 'no_maxmemory'];
  return { found: findings.filter(({ kind }) => !others.includes(kind)), facts };
}

test('the doctor reports on the primaries, replicas, settings and boards of a Cluster', async () => {
  await using cluster = await startCluster({ settings: ['--appendfsync', 'always'] });
  const names = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`);
  const client = new Cluster([{ host: '127.0.0.1', port: cluster.nodes[0]!.port }]);
  try {
    for (let from = 0; from < 100_000; from += 1000)
      await client.zadd(
        '{board:huge}:scores',
        ...Array.from({ length: 1000 }, (_, index) => [from + index, `entry-${from + index}`]).flat(),
      );
    for (const node of client.nodes('master')) await node.config('SET', 'cluster-require-full-coverage', 'yes');
  } finally {
    client.disconnect();
  }
  const { found, facts } = await examine(cluster.url, { REDIS_WAIT_REPLICAS: '1' });
  expect(facts['redis']).toBe('Cluster of 3 primaries');
  const kinds = Object.fromEntries(found.map(({ kind, where = [] }) => [kind, where.toSorted()]));
  expect(kinds).toMatchObject({ no_replica: names.toSorted(), full_coverage: names.toSorted(), too_few_replicas: names.toSorted() });
  expect(found.find(({ kind }) => kind === 'big_board')).toMatchObject({ level: 'warning', text: 'The board huge has 100000 entries.' });
});

test('the doctor names the rights that the user lacks on all nodes of a Cluster, none of which tells its slots then, or on one node', async () => {
  await using cluster = await startCluster();
  const setUser = async (nodes: typeof cluster.nodes, ...rules: string[]): Promise<void> => {
    for (const node of nodes) await node.call('ACL', 'SETUSER', 'app', 'reset', 'on', '>pw', '~*', '+@all', ...rules);
  };
  const url = cluster.url.replace('//', '//app:pw@');
  await setUser(cluster.nodes, '-cluster', '&standings');
  const { found, facts } = await examine(url);
  const [first] = cluster.nodes;
  expect(found.map(({ kind, where, level }) => [kind, where, level])).toContainEqual(['forbidden', [`127.0.0.1:${first!.port}`], 'danger']);
  expect(found.find(({ kind }) => kind === 'forbidden')!.text).toMatch(
    /lacks &\{\* &events &outboxes \+cluster\|info \+cluster\|slots \(docs\/operating\.md#the-redis-user\)\.$/,
  );
  expect(facts[`127.0.0.1:${first!.port}`]).toBe('does not allow what coinop needs');
  await setUser(cluster.nodes, '&*');
  await setUser([first!], '&*', '-spublish');
  const ofOne = (await examine(url)).found.filter(({ kind }) => kind === 'forbidden');
  expect(ofOne.map(({ text, where }) => [text.includes('lacks +spublish '), where])).toEqual([[true, [`127.0.0.1:${first!.port}`]]]);
});

test('the doctor reports a missing primary of a Cluster', async () => {
  await using cluster = await startCluster({ settings: ['--cluster-require-full-coverage', 'no', '--cluster-node-timeout', '500'] });
  await cluster.kill(cluster.nodes[0]!);
  await expect
    .poll(async () => (await examine(cluster.url)).found.filter(({ level }) => level === 'danger').map(({ kind }) => kind))
    .toContain('cluster_degraded');
});

test('a pasted line fixes all nodes of a Cluster, and asks for the password', async () => {
  await using cluster = await startCluster({ replicas: 1, password: 'secret', settings: ['--cluster-require-full-coverage', 'yes'] });
  const { found } = await examine(cluster.url);
  expect(JSON.stringify(found)).not.toContain('secret');
  for (const kind of ['full_coverage', 'appendfsync']) paste(found.find((each) => each.kind === kind)!.mend, 'secret\n');
  for (const node of cluster.nodes)
    expect(await node.call('CONFIG', 'GET', 'cluster-require-full-coverage')).toEqual(['cluster-require-full-coverage', 'no']);
  const mended = await examine(cluster.url);
  // By its version number the Redis of these tests may have vulnerabilities in Lua.
  expect(mended.found.filter(({ level, kind }) => level !== 'note' && kind !== 'lua_holes')).toEqual([]);
});
