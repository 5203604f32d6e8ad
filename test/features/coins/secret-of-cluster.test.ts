import { afterEach, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { KEY_SECRET } from '../../../src/features/coins/secret-keys.ts';
import { DATA_VERSION_KEY } from '../../../src/redis/data/data-version.ts';
import { isWhole, startCluster, TestCluster, type TestNode } from '../../cluster-nodes.ts';
import { freePorts } from '../../free-port.ts';
import { start, type TestService } from '../../harness.ts';

let cluster: TestCluster | undefined;
afterEach(async () => {
  await cluster?.[Symbol.asyncDispose]();
  cluster = undefined;
});

const credit = (to: TestService, installId: string, key: string) => to.post('/v1/coins/credit', { installId, coins: 1, key });

/** An install whose account is on the given primary. */
function installOn({ slots }: TestNode): string {
  for (let number = 0; ; number++) {
    const installId = `install-secret-${number}`;
    const slot = cluster!.slotOf(coinKeys.ledger(accountIdOf(installId)));
    if (slots.some(([first, last]) => first <= slot && slot <= last)) return installId;
  }
}

/** The state after `redis-cli --cluster reshard` was stopped before it moved the keys of a slot. */
async function breakOffMove(key: string): Promise<void> {
  const slot = cluster!.slotOf(key);
  const from = await cluster!.primaryOf(slot);
  const to = cluster!.nodes.find((node) => node !== from)!;
  await to.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id);
  await from.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id);
  await from.call('MIGRATE', '127.0.0.1', to.port, key, 0, 5000);
}

test('a service that starts before its cluster serves once the cluster is there', async () => {
  const first = await freePorts(6);
  const ports = [first, first + 1, first + 2];
  cluster = new TestCluster({}, { places: ports.map((port) => ({ port, busPort: port + 3 })), ports });
  await using service = await start({ redis: { url: cluster.url } });
  expect((await service.get('/ready')).status).toBe(503);
  await cluster.open();
  await expect.poll(async () => (await service.get('/ready')).status).toBe(200);
  expect((await credit(service, 'install-secret', 'k')).status).toBe(200);
});

test('a service starts and replays while the slots of the secret and of the data version are moving', async () => {
  cluster = await startCluster();
  const installs = cluster.nodes.map(installOn);
  {
    await using before = await start({ redis: { url: cluster.url } });
    await isWhole(before);
    for (const installId of installs) expect((await credit(before, installId, 'k')).status).toBe(200);
  }
  for (const key of [DATA_VERSION_KEY, KEY_SECRET]) await breakOffMove(key);
  await using service = await start({ redis: { url: cluster.url } });
  await expect.poll(async () => (await service.get('/ready')).status).toBe(200);
  for (const installId of installs) expect((await credit(service, installId, 'k')).body).toMatchObject({ replayed: true });
});

test('a secret that its primary has lost is taken from the copies of the slots', async () => {
  cluster = await startCluster();
  const [installId] = cluster.nodes.map(installOn);
  {
    await using before = await start({ redis: { url: cluster.url } });
    await isWhole(before);
    await credit(before, installId!, 'k');
  }
  await (await cluster.primaryOf(cluster.slotOf(KEY_SECRET))).call('DEL', KEY_SECRET);
  await using service = await start({ redis: { url: cluster.url } });
  await isWhole(service);
  expect((await credit(service, installId!, 'k')).body).toMatchObject({ replayed: true });
  expect(await (await cluster.primaryOf(cluster.slotOf(KEY_SECRET))).call('GET', KEY_SECRET)).toMatch(/^[0-9a-f]{16}$/);
});
