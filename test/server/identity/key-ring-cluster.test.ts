import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openConnections, type RedisConnections } from '../../../src/redis/redis-connections.ts';
import { ScriptRunner } from '../../../src/redis/script-runner.ts';
import { slotOf } from '../../../src/redis/slots.ts';
import { ServerKeyChanges } from '../../../src/server/identity/server-key-changes.ts';
import { runAdmin } from '../../operator/console/command.ts';
import { startCluster, type TestCluster } from '../../cluster-nodes.ts';
import { start, type TestService } from '../../harness.ts';
import { eventually } from '../../realtime/watcher.ts';
import { statusWith } from '../../server-keys.ts';

/** Two services on a Redis Cluster whose nodes die and whose slots move. */

let cluster: TestCluster;
let services: TestService[];
let connections: RedisConnections;
let changes: ServerKeyChanges;
beforeAll(async () => {
  cluster = await startCluster({ replicas: 1, settings: ['--cluster-node-timeout', '500'] });
  services = [await start({ redis: { url: cluster.url } }), await start({ redis: { url: cluster.url } })];
  connections = openConnections({ url: cluster.url }, 0, pino({ level: 'silent' }));
  await connections.opened();
  changes = new ServerKeyChanges(new ScriptRunner(connections.scripts, { now: Date.now }), Date.now);
});
afterAll(async () => {
  connections.disconnect();
  for (const service of services) await service[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

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
