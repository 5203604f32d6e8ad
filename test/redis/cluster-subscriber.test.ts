import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { clusterSeedsOf } from '../../src/redis/cluster-url.ts';
import { Cluster } from '../../src/redis/cluster-client.ts';
import { ClusterSubscriber } from '../../src/redis/cluster-subscriber.ts';
import type { Shard } from '../../src/redis/shard.ts';
import { slotOf, tagOf } from '../../src/redis/slots.ts';
import { startCluster, type TestCluster, type TestNode } from '../cluster-nodes.ts';
import { PATIENT } from '../patience.ts';

let nodes: TestCluster;
let cluster: Cluster;
let subscriber: ClusterSubscriber;
let heard: string[];
/** Channels that a user of the subscriptions wants: it subscribes again at each `ready`, as WatchedTopics does. */
let wanted: Set<string>;
let lost: string[];

async function open(options: Parameters<typeof startCluster>[0] = {}): Promise<void> {
  nodes = await startCluster(options);
  const { seeds, options: access } = clusterSeedsOf(nodes.url);
  cluster = new Cluster(seeds, access, 0, pino({ level: 'silent' }));
  subscriber = new ClusterSubscriber(cluster);
  [heard, wanted, lost] = [[], new Set(), []];
  subscriber.on('message', (channel, message) => heard.push(`${channel} ${message}`));
  subscriber.on('close', (isLost) => lost.push(...[...wanted].filter(isLost)));
  subscriber.on('ready', (isConcerned) => {
    const concerned = [...wanted].filter(isConcerned);
    if (concerned.length > 0) subscriber.subscribe(...concerned).catch(() => {});
  });
  await cluster.opened();
}

afterEach(async () => {
  subscriber.disconnect();
  cluster.disconnect();
  await nodes[Symbol.asyncDispose]();
});

const channelOf = (slot: number, name = ''): string => `${tagOf(slot)}${name}`;

async function want(...channels: string[]): Promise<void> {
  for (const channel of channels) wanted.add(channel);
  await subscriber.subscribe(...channels);
}

async function publish(channel: string, message: string): Promise<number> {
  const node = await nodes.primaryOf(slotOf(channel));
  return Number(await node.call('SPUBLISH', channel, message));
}

async function listeners(node: TestNode, channel: string): Promise<number> {
  return Number(((await node.call('PUBSUB', 'SHARDNUMSUB', channel)) as [string, number])[1]);
}

const shardAt = (node: TestNode): Shard => cluster.shards.find(({ address }) => address.port === node.port)!;

const hears = (...channels: string[]): boolean[] => channels.map((channel) => subscriber.hears(channel));

describe('on three primaries', () => {
  beforeEach(() => open());

  test('messages of sharded channels arrive from all primaries, and those of a channel without a tag', async () => {
    const channels = [0, 6000, 16_000].map((slot) => channelOf(slot));
    await want(...channels, 'standings');
    expect(hears(...channels, 'standings')).toEqual([true, true, true, true]);
    for (const channel of channels) expect(await publish(channel, 'x')).toBe(1);
    for (const node of nodes.nodes) await node.call('PUBLISH', 'standings', String(node.index));
    await vi.waitFor(
      () =>
        expect(heard.toSorted()).toEqual(
          [...channels.map((channel) => `${channel} x`), 'standings 0', 'standings 1', 'standings 2'].toSorted(),
        ),
      PATIENT,
    );
    await subscriber.unsubscribe(channels[0]!, 'standings');
    expect([subscriber.hears(channels[0]!), await publish(channels[0]!, 'y'), await publish(channels[1]!, 'y')]).toEqual([false, 0, 1]);
  });

  test('the channels of a slot that moves are subscribed to at its new primary, and at no other', async () => {
    const [channel, same, stays] = [channelOf(1), channelOf(1, ':other'), channelOf(2)];
    await want(channel, same, stays);
    const [from, to] = [nodes.nodes[0]!, nodes.nodes[1]!];
    await nodes.moveSlot(1, to);
    await vi.waitFor(async () => expect([await listeners(to, channel), await listeners(to, same)]).toEqual([1, 1]), PATIENT);
    await vi.waitFor(() => expect(hears(channel, same, stays)).toEqual([true, true, true]), PATIENT);
    expect([await listeners(from, channel), lost.includes(channel), lost.includes(stays)]).toEqual([0, true, false]);
    expect(await publish(channel, 'there')).toBe(1);
    await vi.waitFor(() => expect(heard).toEqual([`${channel} there`]), PATIENT);
    await nodes.moveSlot(1, from);
    await vi.waitFor(async () => expect([await listeners(to, channel), await listeners(from, channel)]).toEqual([0, 1]), PATIENT);
  });

  test('after subscribing and unsubscribing while the slot moves, the last call counts', async () => {
    const channels = Array.from({ length: 40 }, (_, index) => channelOf(3, `:${index}`));
    const [from, to] = [nodes.nodes[0]!, nodes.nodes[2]!];
    let isMoving = true;
    const subscribing = (async () => {
      for (let round = 0; isMoving; round++) {
        const channel = channels[round % channels.length]!;
        if (wanted.delete(channel)) void subscriber.unsubscribe(channel);
        else void want(channel).catch(() => {});
        await pause(round % 3);
      }
    })();
    // For a moment after a move no node may claim the slot. Then the next move follows.
    for (let round = 0; round < 6; round++) await nodes.moveSlot(3, round % 2 === 0 ? to : from).catch(() => pause(50));
    // Moves that follow each other so fast may leave the slot without an owner for good, which Redis's gossip does not mend.
    for (let owner; (owner = await nodes.primaryOf(3).catch(() => undefined)) !== from; await pause(50)) {
      if (owner !== undefined) await nodes.moveSlot(3, from).catch(() => {});
      else for (const node of nodes.nodes) await node.call('CLUSTER', 'SETSLOT', 3, 'NODE', from.id).catch(() => {});
    }
    isMoving = false;
    await subscribing;
    await vi.waitFor(async () => {
      const counts: number[] = [];
      for (const channel of channels) counts.push(await listeners(from, channel));
      expect(counts).toEqual(channels.map((channel) => (wanted.has(channel) ? 1 : 0)));
      expect(hears(...channels)).toEqual(channels.map((channel) => wanted.has(channel)));
    }, PATIENT);
    for (const channel of channels) expect(await listeners(to, channel)).toBe(0);
  });

  test('a subscription that a node refuses is tried again', async () => {
    // The node learns late that it lost the slot; this process has the old map.
    const channel = channelOf(4);
    const [from, to] = [nodes.nodes[0]!, nodes.nodes[1]!];
    vi.spyOn(cluster, 'shardOf').mockImplementationOnce(() => shardAt(to));
    wanted.add(channel);
    await expect(subscriber.subscribe(channel)).rejects.toThrow('MOVED');
    expect(subscriber.hears(channel)).toBe(false);
    await vi.waitFor(() => expect(subscriber.hears(channel)).toBe(true), PATIENT);
    expect(await listeners(from, channel)).toBe(1);
  });

  test('channels of the whole cluster move to another node when the connection to theirs breaks', async () => {
    await want('standings');
    const all = cluster.shards;
    for (const node of nodes.nodes) await node.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await vi.waitFor(
      () => expect([subscriber.hears('standings'), all.every(({ subscriber: link }) => link.isReady)]).toEqual([true, true]),
      PATIENT,
    );
    heard.length = 0;
    await nodes.nodes[2]!.call('PUBLISH', 'standings', 'again');
    await vi.waitFor(() => expect(heard).toEqual(['standings again']), PATIENT);
  });
});
