import { expect, test } from 'vitest';
import { startCluster } from '../cluster-nodes.ts';
import { freshId, start } from '../harness.ts';
import { audited } from './audited.ts';
test('try', { timeout: 60_000 }, async () => {
  await using cluster = await startCluster();
  const location = { url: cluster.url };
  await using service = await start({ redis: location });
  for (let i = 0; i < 60; i++) {
    const installId = freshId();
    for (let k = 0; k < 3; k++) expect((await service.post('/v1/coins/credit', { installId, coins: 5, key: `k${k}` })).status).toBe(200);
    const { status, body } = await service.post(`/v1/highscores/g${i % 3}`, { installId, score: 3, name: 'Ada' });
    expect([status, body]).toMatchObject([200, {}]);
  }
  for (let i = 0; i < 3; i++) {
    const c = process.cpuUsage();
    const t = performance.now();
    await audited(location);
    console.log(performance.now() - t, process.cpuUsage(c));
  }
  const t = performance.now();
  const { findings, counts } = await audited(location);
  console.log(performance.now() - t, findings, counts);
});
