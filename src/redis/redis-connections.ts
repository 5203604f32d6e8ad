import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { SettingError } from '../config.ts';
import { channelPrefix } from './channels.ts';
import { Cluster } from './cluster-client.ts';
import { ClusterSubscriber } from './cluster-subscriber.ts';
import { checkDatabase, checkRedis, connectRedis, type RedisHealth, type RedisLocation } from './connect.ts';
import { clusterSeedsOf, isClusterUrl } from './cluster-url.ts';
import { checkDataAtStart, checkDataVersion } from './data-version.ts';
import { ScriptLink } from './script-link.ts';
import type { ScriptConnection, ShardMap } from './script-runner.ts';
import { Subscriber, type Subscriptions } from './subscriber.ts';
import { withWrites } from './write-probe.ts';

/** A process's connections to one Redis, or to a Redis Cluster. */
export interface RedisConnections {
  /** The connection on which a ScriptRunner runs scripts. */
  readonly scripts: ScriptConnection | ShardMap;
  /** On one Redis with REDIS_WAIT_REPLICAS: the connection for durable scripts. */
  readonly durable: ScriptConnection | undefined;
  readonly subscriber: Subscriptions;
  /** The Redis that keeps the data, or the Cluster. */
  readonly source: Redis | Cluster;
  readonly isReady: boolean;
  /** Whether no script can run on any node. `health` may give the reason. */
  readonly isAway: boolean;
  health(): Promise<RedisHealth>;
  /** One Redis, or the primaries of a Cluster: those that are connected. */
  readonly nodes: readonly { readonly name: string | undefined; readonly redis: Redis }[];
  /**
   * Waits until Redis answers and the connections are open, 2 s at most each. If Redis stays down, the service starts anyway, is not ready,
   * and answers 503.
   * @throws SettingError for data of a newer version, or a database that Redis refuses
   */
  opened(): Promise<void>;
  disconnect(): void;
}

/** @param replicas for how many of them durable scripts wait, on a connection of their own. 0: none */
export function openConnections(location: RedisLocation, replicas: number, log: Logger): RedisConnections {
  return 'url' in location && isClusterUrl(location.url)
    ? openCluster(location.url, replicas, log)
    : openSingle(location, replicas > 0, log);
}

/** The same, with the connection and the link of a single Redis. */
export interface SingleConnections extends RedisConnections {
  readonly source: Redis;
  readonly scripts: ScriptLink;
}

function openSingle(location: RedisLocation, waits: boolean, log: Logger): SingleConnections {
  const redis = connectRedis(location, log);
  const link = new ScriptLink(redis);
  const durable = waits ? new ScriptLink(redis) : undefined;
  const subscriber = new Subscriber(redis, channelPrefix(redis.options.db));
  return {
    scripts: link,
    durable,
    subscriber,
    source: redis,
    get isReady() {
      return redis.status === 'ready' && link.isReady && durable?.isReady !== false;
    },
    get isAway() {
      return !this.isReady;
    },
    health: () => withWrites(checkRedis(redis), redis),
    get nodes() {
      return redis.status === 'ready' ? [{ name: undefined, redis }] : [];
    },
    async opened() {
      await firstAnswer(redis);
      await checkDatabase(redis);
      await checkDataAtStart(redis);
      if (redis.status === 'ready') await Promise.all([link.opened(), durable?.opened()]);
    },
    disconnect() {
      subscriber.disconnect();
      link.disconnect();
      durable?.disconnect();
      redis.disconnect();
    },
  };
}

function openCluster(url: string, replicas: number, log: Logger): RedisConnections {
  const { seeds, options } = clusterSeedsOf(url);
  const cluster = new Cluster(seeds, options, replicas, log);
  const subscriber = new ClusterSubscriber(cluster);
  return {
    scripts: cluster,
    durable: undefined,
    subscriber,
    source: cluster,
    get isReady() {
      return cluster.isReady;
    },
    // For a Cluster `health` gives the reason.
    isAway: false,
    health: () => cluster.health(),
    get nodes() {
      return cluster.shards.filter(({ redis }) => redis.status === 'ready');
    },
    async opened() {
      await cluster.opened();
      await Promise.all(cluster.shards.map(({ redis }) => checkDataVersion(redis).catch(onlySettings)));
    },
    disconnect() {
      subscriber.disconnect();
      cluster.disconnect();
    },
  };
}

/** If a primary dies during the start, the start must go on: the others serve. */
function onlySettings(error: unknown): void {
  if (error instanceof SettingError) throw error;
}

function firstAnswer(redis: Redis): Promise<void> {
  return new Promise((resolve) => {
    if (redis.status === 'ready') return resolve();
    const timer = setTimeout(resolve, 2000);
    redis.once('ready', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
