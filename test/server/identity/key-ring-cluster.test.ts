import { expect, test } from 'vitest';
import { slotOf } from '../../../src/redis/slots.ts';
import { runAdmin } from '../../operator/terminal/command.ts';
import { startCluster } from '../../cluster-nodes.ts';
import { forFile, start } from '../../harness.ts';
import { eventually } from '../../realtime/watcher.ts';
import { keyChangesOf, statusWith } from '../../server-keys.ts';

/** Two services on a Redis Cluster whose nodes die and whose slots move. */

const cluster = await forFile(startCluster({ replicas: 1, settings: ['--cluster-node-timeout', '500'] }));
const services = [await forFile(start({ redis: { url: cluster.url } })), await forFile(start({ redis: { url: cluster.url } }))];
const changes = keyChangesOf(services[0]!);

const statuses = (token: string) => Promise.all(services.map(({ url }) => statusWith(url, token)));
const become = (token: string, status: number) => eventually(async () => (await statuses(token)).every((found) => found === status));

test('a key is made and revoked by the tool, and every service knows at once', async () => {
  const settings = { REDIS_URL: cluster.url };
  const made = await runAdmin(['keys', 'create', '--name', 'a', '--scopes', 'coins', '--json', '--yes'], settings);
  const { id, token } = JSON.parse(made.out);
  await become(token, 200);
  expect((await runAdmin(['keys', 'revoke', id, '--yes'], settings)).code).toBe(0);
  await become(token, 401);
  expect(JSON.parse((await runAdmin(['keys', 'list', '--json'], settings)).out).keys).toMatchObject([{ id, state: 'revoked' }]);
});

test('a revocation arrives after the slot of the keys has moved, and after a failover; no revoked key comes back', async () => {
  const old = await changes.create({ name: 'old', scopes: ['coins'] });
  await become(old.token, 200);
  await changes.revoke(old.id);
  await become(old.token, 401);

  const first = await changes.create({ name: 'first', scopes: ['coins'] });
  await become(first.token, 200);
  const slot = slotOf('{server-keys}');
  const home = await cluster.primaryOf(slot);
  const target = cluster.nodes.find(({ id, role }) => role === 'primary' && id !== home.id)!;
  await cluster.moveSlot(slot, target);
  expect(await statuses(first.token)).toEqual([200, 200]);
  await changes.revoke(first.id);
  await become(first.token, 401);

  const second = await changes.create({ name: 'second', scopes: ['coins'] });
  await become(second.token, 200);
  const lost = await cluster.primaryOf(slot);
  await cluster.kill(lost);
  await cluster.untilFailedOver(lost);
  expect(await statuses(second.token)).toEqual([200, 200]);
  // The client may not know the new primary yet.
  await eventually(async () => (await changes.revoke(second.id).catch(() => undefined)) !== undefined);
  await become(second.token, 401);
  for (const token of [old.token, first.token, second.token]) expect(await statuses(token)).toEqual([401, 401]);
});
