import { Gauge } from '@prometheus-io/client';
import type { RedisFigures } from '../redis/node-figures.ts';
import type { Metrics, ReadGauge } from './metrics.ts';

export interface WatchedRedis {
  /** Whether the process can run scripts in Redis. */
  readonly isUp: () => boolean;
  /** Whether Redis has other data than the process knows: it lost data, or an older state was restored. */
  readonly isLost: () => boolean;
  readonly figures: () => Promise<readonly RedisFigures[]>;
  /** Free and total bytes of the disk on which the private Redis keeps its data. Undefined without a private Redis. */
  readonly disk: () => DiskRoom | undefined;
}

/** The free and the total bytes of a disk. */
export interface DiskRoom {
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

export function addRedisMetrics(metrics: Metrics, { isUp, isLost, figures, disk }: WatchedRedis): void {
  metrics.gauge({
    name: 'coinop_redis_up',
    help: 'Whether the process can run scripts in Redis (a Cluster: on at least one primary), 0 or 1. Several workers: whether all can.',
    aggregator: 'min',
    value: () => (isUp() ? 1 : 0),
  });
  metrics.gauge({
    name: 'coinop_data_lost',
    help: 'Whether Redis has other data than the process knows, 0 or 1: it lost its data, or has an older state. The service serves none of this data.',
    // If one worker knows of the loss, the combined metric is 1.
    aggregator: 'max',
    value: () => (isLost() ? 1 : 0),
  });
  const perNode = (name: string, help: string, aggregator: 'max' | 'min', value: (node: RedisFigures) => number | undefined): void => {
    new Gauge({
      name,
      help,
      labelNames: ['node'],
      aggregator,
      registers: [metrics.registry],
      async collect() {
        const nodes = await figures();
        // The samples are removed first, so that a node that is unreachable has none.
        this.reset();
        for (const of of nodes) {
          const figure = value(of);
          if (figure !== undefined) this.set(of.node === undefined ? {} : { node: of.node }, figure);
        }
      },
    });
  };
  perNode('coinop_redis_memory_used_bytes', 'Memory that Redis uses (used_memory).', 'max', ({ usedBytes }) => usedBytes);
  perNode(
    'coinop_redis_memory_max_bytes',
    'The most memory that Redis may use: maxmemory, or the memory of its machine if maxmemory is not set.',
    'min',
    ({ mostBytes }) => mostBytes,
  );
  perNode('coinop_redis_takes_writes', 'Whether Redis takes writes, 0 or 1.', 'min', ({ takesWrites }) => (takesWrites ? 1 : 0));
  const ofMost = (name: string, help: string, value: (node: RedisFigures) => number | undefined): void => perNode(name, help, 'max', value);
  ofMost(
    'coinop_redis_memory_resident_bytes',
    'Memory that the system has given to Redis (used_memory_rss).',
    ({ residentBytes }) => residentBytes,
  );
  ofMost('coinop_redis_append_only_file_bytes', 'Size of the append-only file.', ({ appendOnlyBytes }) => appendOnlyBytes);
  ofMost(
    'coinop_redis_replication_lag_bytes',
    'Bytes that the slowest replica has not received yet, 0 without replicas.',
    ({ lag }) => lag?.bytes,
  );
  ofMost(
    'coinop_redis_replication_lag_seconds',
    'Seconds since the slowest replica last reported, 0 without replicas.',
    ({ lag }) => lag?.seconds,
  );
  perNode('coinop_redis_replicas', 'Replicas of Redis that are online.', 'min', ({ replicas }) => replicas);
  perNode(
    'coinop_redis_persists',
    'Whether the last write to disk, the last rewrite and the last snapshot succeeded, 0 or 1.',
    'min',
    ({ persists }) => (persists ? 1 : 0),
  );
  const ofDisk = (name: string, help: string, value: ReadGauge['value']): void => metrics.gauge({ name, help, aggregator: 'min', value });
  ofDisk('coinop_data_disk_free_bytes', 'Room on the disk of DATA_DIR, where the private Redis keeps its data.', () => disk()?.freeBytes);
  ofDisk('coinop_data_disk_size_bytes', 'Size of the disk of DATA_DIR, where the private Redis keeps its data.', () => disk()?.sizeBytes);
}
