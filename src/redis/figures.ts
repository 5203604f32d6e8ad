import type { Redis } from 'ioredis';
import { refusalOfWrites } from './write-probe.ts';

/** What one Redis says of its memory and its disk. */
export interface RedisFigures {
  /** Of a Cluster. */
  readonly node: string | undefined;
  readonly usedBytes: number;
  /** maxmemory, or without one the memory of its machine. */
  readonly mostBytes: number;
  readonly takesWrites: boolean;
}

/** @param memoryBytes the memory of this machine or container, if the Redis runs in it */
export async function figuresOf(node: string | undefined, redis: Redis, memoryBytes = Infinity): Promise<RedisFigures> {
  const sections = (['memory', 'persistence', 'replication'] as const).map((section) => redis.info(section));
  const [memory = '', persistence = '', replication = ''] = await Promise.all(sections);
  const isReplica = /^role:slave/m.test(replication);
  const refusal = isReplica ? 'READONLY' : await refusalOfWrites(redis);
  const numberOf = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(memory)?.[1] ?? 0);
  const maxmemory = numberOf('maxmemory');
  return {
    node,
    usedBytes: numberOf('used_memory'),
    mostBytes: maxmemory > 0 ? maxmemory : Math.min(numberOf('total_system_memory'), memoryBytes),
    takesWrites: refusal === undefined && !/^aof_last_write_status:err/m.test(persistence),
  };
}
