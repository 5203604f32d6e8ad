import type { Redis } from 'ioredis';
import { refusalOfWrites } from './write-probe.ts';

/** The memory, the disk and the replicas of one Redis in figures. */
export interface RedisFigures {
  /** `host:port` of a Cluster's node. Undefined on one Redis. */
  readonly node: string | undefined;
  readonly usedBytes: number;
  /** Redis's maxmemory in bytes, or the memory of its machine if maxmemory is not set. */
  readonly mostBytes: number;
  readonly takesWrites: boolean;
  /** Memory that the system has given to Redis. With fragmentation, and during a fork, it is more than `usedBytes`. */
  readonly residentBytes: number;
  /** Size of the append-only file. Undefined: Redis writes none. */
  readonly appendOnlyBytes: number | undefined;
  /** False if Redis failed to write its file, to rewrite it or to save a snapshot the last time. */
  readonly persists: boolean;
  /** Number of replicas that are online. Undefined if the node itself is a replica. */
  readonly replicas: number | undefined;
  /** By how many bytes the slowest replica is behind; 0 without replicas. Undefined if the node itself is a replica. */
  readonly lag: { readonly bytes: number; readonly seconds: number } | undefined;
}

/** @param memoryBytes the memory of this machine or container. Infinity: Redis runs elsewhere */
export async function figuresOf(node: string | undefined, redis: Redis, memoryBytes = Infinity): Promise<RedisFigures> {
  const sections = (['memory', 'persistence', 'replication'] as const).map((section) => redis.info(section));
  const [memory = '', persistence = '', replication = ''] = await Promise.all(sections);
  const isReplica = /^role:slave/m.test(replication);
  const refusal = isReplica ? 'READONLY' : await refusalOfWrites(redis);
  const numberIn = (text: string, name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1] ?? 0);
  const numberOf = (name: string): number => numberIn(memory, name);
  const maxmemory = numberOf('maxmemory');
  return {
    node,
    usedBytes: numberOf('used_memory'),
    mostBytes: maxmemory > 0 ? maxmemory : Math.min(numberOf('total_system_memory'), memoryBytes),
    takesWrites: refusal === undefined && !/^aof_last_write_status:err/m.test(persistence),
    residentBytes: numberOf('used_memory_rss'),
    appendOnlyBytes: /^aof_enabled:1/m.test(persistence) ? numberIn(persistence, 'aof_current_size') : undefined,
    persists: !/^(?:aof_last_write_status|aof_last_bgrewrite_status|rdb_last_bgsave_status):err/m.test(persistence),
    ...followersIn(replication, isReplica),
  };
}

/** Reads the replicas from lines such as `slave0:ip=10.0.0.6,port=6379,state=online,offset=28,lag=1`. */
function followersIn(replication: string, isReplica: boolean): Pick<RedisFigures, 'replicas' | 'lag'> {
  if (isReplica) return { replicas: undefined, lag: undefined };
  const written = Number(/^master_repl_offset:(\d+)/m.exec(replication)?.[1] ?? 0);
  const online = [...replication.matchAll(/^slave\d+:.*\bstate=online,offset=(?<offset>\d+),lag=(?<lag>\d+)/gm)];
  const bytes = Math.max(0, ...online.map(({ groups }) => written - Number(groups!['offset'])));
  return { replicas: online.length, lag: { bytes, seconds: Math.max(0, ...online.map(({ groups }) => Number(groups!['lag']))) } };
}
