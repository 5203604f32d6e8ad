import { expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { slotOf } from '../../../src/redis/slots.ts';
import { startCluster } from '../../cluster-nodes.ts';
import { freshId, start } from '../../harness.ts';
import { makeServerKey } from '../../server-keys.ts';
import { runAdmin } from './command.ts';

/** An install whose account is in these slots. */
function installIn(from: number, to: number): string {
  for (;;) {
    const installId = freshId();
    const slot = slotOf(`{${accountIdOf(installId)}}`);
    if (slot >= from && slot <= to) return installId;
  }
}

test('with a primary down the tool answers for accounts on the others, and names the missing one', async () => {
  await using cluster = await startCluster({ settings: ['--cluster-require-full-coverage', 'no', '--cluster-node-timeout', '2000'] });
  const [first, second] = [installIn(0, 5460), installIn(5461, 10_922)];
  {
    await using service = await start({ redis: { url: cluster.url }, settings: { ADMIN_API: 'on' } });
    for (const installId of [first, second])
      expect((await service.post('/v1/coins/credit', { installId, coins: 5, key: 'a' })).status).toBe(200);
    // Each slot has separate keys, so even the list of two accounts has several pages.
    const { token: bearer } = await makeServerKey(service, ['admin'], { role: 'viewer' });
    const listed: string[] = [];
    for (let cursor = '0.0'; cursor !== undefined;) {
      const { body } = await service.get(`/v1/admin/accounts?cursor=${cursor}`, { bearer });
      listed.push(...body.accounts.map(({ accountId }: { accountId: string }) => accountId));
      cursor = body.nextCursor;
    }
    expect(listed.toSorted()).toEqual([first, second].map(accountIdOf).toSorted());
  }
  const settings = { REDIS_URL: cluster.url };
  const away = cluster.nodes[1]!;
  const whole = await runAdmin(['accounts', 'find', second, '--json'], settings);
  expect([whole.code, whole.error]).toEqual([0, '']);
  await cluster.kill(away);
  const found = await runAdmin(['accounts', 'find', first, '--json'], settings);
  expect([found.code, JSON.parse(found.out).accounts]).toMatchObject([0, [{ accountId: accountIdOf(first) }]]);
  expect(found.error).toContain(`A part of the Cluster is away: 127.0.0.1:${away.port}`);
  const none = await runAdmin(['accounts', 'find', second, '--json'], settings);
  expect([none.code, none.out]).toEqual([2, '']);
  expect(none.error).toContain('Nothing was changed.');
});
