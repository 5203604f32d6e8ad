import type { Logger } from 'pino';
import { CallerScripts } from '../accounts/caller-scripts.ts';
import { SettingError, type Config } from '../config.ts';
import { hasEventLog } from '../features/events/event-log.ts';
import { openConnections, type RedisConnections } from '../redis/redis-connections.ts';
import { readRedisClock } from '../redis/redis-clock.ts';
import { neededRights } from '../serving/needed-rights.ts';
import { openRedis } from '../process/opened-redis.ts';

/** The Redis or the Cluster that an operator's command reads and changes. */
export interface OperatedRedis {
  readonly connections: RedisConnections;
  readonly scripts: CallerScripts;
  /** The time by Redis's clock, in milliseconds since 1970. */
  readonly now: () => number;
  /** The reason why a part of a Cluster cannot be reached. Undefined: every part can be reached. */
  readonly degraded: string | undefined;
  close(): Promise<void>;
}

/**
 * Opens the Redis of the settings as `openRedis` does, with the connections of a service. A part of a Cluster may be down, because
 * operators are needed most at such a time. A change waits for REDIS_WAIT_REPLICAS replicas, as it does in a service.
 * @throws SettingError if no Redis answers, if it has no data, or if it is a replica, which accepts no change
 */
export async function openOperatedRedis(config: Config, log: Logger): Promise<OperatedRedis> {
  const opened = await openRedis(config, log, { clusterMust: 'serve' });
  try {
    if ('redis' in opened.source && /^role:slave/m.test(await opened.source.redis.info('replication')))
      throw new SettingError('This Redis is a replica, which takes no change: set REDIS_URL to its primary.');
    const connections = openConnections(opened.location, config.REDIS_WAIT_REPLICAS, log, neededRights);
    const close = async (): Promise<void> => {
      connections.disconnect();
      await opened.close();
    };
    try {
      await connections.opened();
      if (connections.problem !== undefined) throw new SettingError(`This tool cannot work: ${connections.problem}.`);
    } catch (error) {
      connections.disconnect();
      throw error;
    }
    const { now } = await readRedisClock(connections.source);
    const parts = { now, replicas: config.REDIS_WAIT_REPLICAS, durable: connections.durable };
    // Changes of operators emit events if a service with EVENTS=on has ever run on this data. The setting EVENTS of the command itself is
    // ignored.
    const hasEvents = await hasEventLog(new CallerScripts(connections.scripts, parts));
    return {
      connections,
      scripts: new CallerScripts(connections.scripts, { ...parts, emitted: hasEvents ? () => {} : undefined }),
      now,
      degraded: opened.degraded,
      close,
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}
