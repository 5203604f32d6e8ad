import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { SettingError } from '../config.ts';
import { LACKS_RIGHT, type Rights } from './user-rights.ts';
import { channelPrefix } from './channels.ts';
import { Cluster } from './cluster-client.ts';
import { ClusterSubscriber } from './cluster-subscriber.ts';
import { checkRedis, redisAt, type RedisHealth, type RedisLocation } from './connect.ts';
import { clusterSeedsOf, isClusterUrl } from './cluster-url.ts';
import { checkDataAtStart } from './data/data-version.ts';
import type { ScriptLink } from './script-link.ts';
import type { ScriptConnection, ShardMap } from './script-runner.ts';
import { RedisNode } from './shard.ts';
import type { Subscriptions } from './subscriber.ts';
import { TrackedKeys, type TrackedReads } from './tracked.ts';
import { withWrites } from './write-probe.ts';

/** Gives the rights that the Redis user needs, depending on how Redis is used. */
export type RightsFor = (use: RedisUse) => Rights;

export interface RedisUse {
  readonly isCluster: boolean;
  readonly database: number;
  /** Whether scripts declared `durable` wait for replicas (REDIS_WAIT_REPLICAS). */
  readonly waits: boolean;
}

/** A process's connections to one Redis, or to a Redis Cluster. */
export interface RedisConnections {
  /** The connection to one Redis, or the map of a Cluster, on which a ScriptRunner runs scripts. */
  readonly scripts: ScriptConnection | ShardMap;
  /** The connection for scripts that wait for replicas. Undefined without REDIS_WAIT_REPLICAS, and on a Cluster. */
  readonly durable: ScriptConnection | undefined;
  /** The connection for scripts declared `tracked`. Undefined on a Cluster, whose primaries have one each. */
  readonly tracked: TrackedReads | undefined;
  readonly trackedKeys: TrackedKeys;
  readonly subscriber: Subscriptions;
  /** The connection of the single Redis for commands other than scripts, or the Cluster. */
  readonly source: Redis | Cluster;
  readonly isReady: boolean;
  /** Why scripts cannot run. Undefined: scripts can run. On a Cluster `health` gives the reason. */
  readonly problem: string | undefined;
  /**
   * Must be called when a script failed, with the error's message. If Redis refused a command to its user, the rights of the user are then
   * checked at once.
   */
  met(message: string): void;
  health(): Promise<RedisHealth>;
  /** The connected nodes: one Redis, or the primaries of a Cluster. */
  readonly nodes: readonly { readonly name: string | undefined; readonly redis: Redis }[];
  /**
   * Waits until Redis answers and the connections are open, at most 2 s for each connection. If Redis is unreachable or refuses a
   * connection, the service starts anyway, is not ready, and answers 503.
   * @throws SettingError for data of a newer version, a Redis that is too old, or a database that does not exist
   */
  opened(): Promise<void>;
  disconnect(): void;
}

/**
 * @param replicas the number of replicas for which scripts declared `durable` wait, on a connection of their own. 0: no script waits
 * @param rightsFor the rights that the Redis user needs before a connection is used. Default: the rights are not checked
 */
export function openConnections(location: RedisLocation, replicas: number, log: Logger, rightsFor?: RightsFor): RedisConnections {
  return 'url' in location && isClusterUrl(location.url)
    ? openCluster(location.url, replicas, log, rightsFor)
    : openSingle(location, replicas > 0, log, rightsFor);
}

/** RedisConnections to a single Redis. The types of `source` and `scripts` are narrower. */
export interface SingleConnections extends RedisConnections {
  readonly source: Redis;
  readonly scripts: ScriptLink;
}

function openSingle(location: RedisLocation, waits: boolean, log: Logger, rightsFor?: RightsFor): SingleConnections {
  const redis = redisAt(location);
  const rights = rightsFor?.({ isCluster: false, database: redis.options.db ?? 0, waits });
  const trackedKeys = new TrackedKeys();
  const node = new RedisNode(redis, { prefix: channelPrefix(redis.options.db), leavesReplica: true, waits, rights, trackedKeys, log });
  const { connection: main, scripts, durable, subscriber, tracked } = node;
  return {
    scripts,
    durable: waits ? durable : undefined,
    tracked,
    trackedKeys,
    subscriber,
    source: redis,
    get isReady() {
      return main.isUsable && scripts.isReady && durable.isReady;
    },
    get problem() {
      if (this.isReady) return undefined;
      return main.problem ?? scripts.problem ?? durable.problem ?? 'redis is away';
    },
    met(message) {
      if (LACKS_RIGHT.test(message)) main.checkRights();
    },
    health: () => withWrites(checkRedis(redis), redis),
    get nodes() {
      return main.isUsable ? [{ name: undefined, redis }] : [];
    },
    async opened() {
      await main.opened();
      if (!main.isUsable) return;
      await checkDataAtStart(redis).catch(onlySettings);
      await Promise.all([scripts.opened(), durable.opened(), subscriber.opened()]);
    },
    disconnect() {
      node.disconnect();
    },
  };
}

function openCluster(url: string, replicas: number, log: Logger, rightsFor?: RightsFor): RedisConnections {
  const { seeds, options } = clusterSeedsOf(url);
  const rights = rightsFor?.({ isCluster: true, database: 0, waits: replicas > 0 });
  const cluster = new Cluster(seeds, options, replicas, log, rights);
  const subscriber = new ClusterSubscriber(cluster);
  return {
    scripts: cluster,
    durable: undefined,
    tracked: undefined,
    trackedKeys: cluster.trackedKeys,
    subscriber,
    source: cluster,
    get isReady() {
      return cluster.isReady;
    },
    problem: undefined,
    met(message) {
      if (LACKS_RIGHT.test(message)) for (const { connection } of cluster.shards) connection.checkRights();
    },
    health: () => cluster.health(),
    get nodes() {
      return cluster.shards.filter(({ connection }) => connection.isUsable);
    },
    async opened() {
      await cluster.opened();
      for (const { connection } of cluster.shards) connection.throwIfSetting();
    },
    disconnect() {
      subscriber.disconnect();
      cluster.disconnect();
    },
  };
}

/** Throws only SettingErrors. If Redis dies during the start, the start must go on; the service is then not ready. */
function onlySettings(error: unknown): void {
  if (error instanceof SettingError) throw error;
}
