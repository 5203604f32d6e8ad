import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { accountKey } from '../../src/accounts/account-keys.ts';
import { openConnections } from '../../src/redis/redis-connections.ts';
import { DueQueue } from '../../src/redis/due-queue.ts';
import { Queue, queueKeyOf } from '../../src/redis/queue.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { CLUSTER_QUEUE_TAGS, slotOf } from '../../src/redis/slots.ts';
import { isWhole, startCluster, type TestNode } from '../cluster-nodes.ts';
import { start } from '../harness.ts';

const log = pino({ level: 'silent' });

const hasSlot = ({ slots }: TestNode, key: string): boolean => slots.some(([first, last]) => first <= slotOf(key) && slotOf(key) <= last);

test('work is queued and done while the primary of its sorted set is away, and later returns to that set', async () => {
  await using cluster = await startCluster();
  const connections = openConnections({ url: cluster.url }, 0, log);
  const done: string[] = [];
  let queue: DueQueue | undefined;
  try {
    await connections.opened();
    const scripts = new ScriptRunner(connections.scripts, { now: Date.now });
    const lost = await cluster.primaryOf(slotOf('{due:0}'));
    const own = (member: string): string => queueKeyOf('due', member, CLUSTER_QUEUE_TAGS);
    const isOfLost = (member: string): boolean => hasSlot(lost, own(member));
    const members = Array.from({ length: 60 }, (_, index) => `member-${index}`);
    expect(members.filter(isOfLost).length).toBeGreaterThan(5);
    await cluster.kill(lost);
    await pause(600);

    const waiting = new Queue('due', scripts);
    const aheads = await Promise.all(members.map((member) => waiting.ahead(member, Date.now())));
    expect(aheads.filter(({ key }, index) => key !== own(members[index]!))).toHaveLength(members.filter(isOfLost).length);
    // An act that ends as usual takes its entry out of the other set.
    await waiting.settle(members[0]!, aheads[0]!, undefined);
    queue = new DueQueue({
      name: 'due',
      scripts,
      log,
      now: Date.now,
      leaseMs: 2000,
      pollIntervalMs: 100,
      work: async (member) => {
        done.push(member);
        return Date.now() + 3_600_000;
      },
    });
    await expect.poll(() => new Set(done).size).toBe(members.length - 1);
    expect(done).not.toContain(members[0]);

    await cluster.start(lost);
    await cluster.untilAgreed();
    const lastOf = async (member: string): Promise<unknown> =>
      (await cluster.primaryOf(slotOf(own(member)))).call('ZSCORE', own(member), member);
    for (const member of members.slice(1)) await expect.poll(() => lastOf(member)).not.toBeNull();
  } finally {
    await queue?.close();
    connections.disconnect();
  }
});

test('rooms, pairings and nonces are made on other primaries while one is away', async () => {
  await using cluster = await startCluster();
  await using service = await start({ redis: { url: cluster.url } });
  await isWhole(service);
  const lost = cluster.nodes[0]!;
  const installs = Array.from({ length: 60 }, (_, index) => `install-away-${index}`).filter(
    (installId) => !hasSlot(lost, accountKey(accountIdOf(installId))),
  );
  await cluster.kill(lost);
  await pause(600);
  const asked = installs.flatMap((installId) => [
    service.post('/v1/rooms', { installId }),
    service.post('/v1/pair/new'),
    service.get('/v1/account/store-install/nonce', { headers: { 'x-install-id': installId } }),
  ]);
  const replies = await Promise.all(asked);
  expect(replies.filter(({ status }) => status !== 200).map(({ body }) => body)).toEqual([]);
  expect(replies.length).toBeGreaterThan(90);
});
