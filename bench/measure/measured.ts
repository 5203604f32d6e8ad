import type { Redis } from 'ioredis';
import type { Cluster } from '../../src/redis/cluster-client.ts';
import { processCpu, processMemory, processPreemptions } from './cpu.ts';
import { redisMainThreadCpu, scriptBatches } from './redis.ts';

/** A server process under measurement, and its Redis. */
export interface Measured {
  readonly url: string;
  readonly port: number;
  /** Undefined with --url. */
  readonly pid: number | undefined;
  /** All processes of the server: `pid`, and the workers of a service with several. Empty with --url. */
  readonly pids: readonly number[];
  /** A connection to the server's Redis, for preparing and checking data. Undefined with --url and for a server without one. */
  readonly redis: Redis | undefined;
  /** Connections to each Redis that takes the server's writes: one, the primaries of a Cluster, or none. */
  readonly primaries: readonly Redis[];
  /** The bench's own connections to the server's Cluster. Undefined on one Redis. */
  readonly cluster: Cluster | undefined;
  /** CPU time of all processes so far, over all their threads, in µs; NaN when unknown. */
  serverCpu(): Promise<number>;
  /** CPU time of the Redis main thread so far, in µs, of all primaries together; NaN when unknown. */
  redisCpu(): Promise<number>;
  /** EVALSHA commands so far, of all primaries together. Only of a service that `--cluster` compares. */
  batches?(): Promise<number>;
  /** Involuntary context switches so far; NaN when unknown. */
  preemptions(): number;
  /** Resident memory of the process, in bytes; NaN when unknown. */
  residentBytes(): Promise<number>;
  /** Only for a server that was started with `fresh`. The shared servers end with the run. */
  stop(): Promise<void>;
}

/** A server process on this machine, measured through /proc. `pids` are all its processes, the first of which is `pid`. */
export function measuredProcess(
  url: string,
  pids: readonly [pid: number, ...workers: number[]],
  redis: Redis | undefined,
  stop: () => Promise<void>,
  { primaries = redis === undefined ? [] : [redis], cluster, countsBatches = false }: Engines = {},
): Measured {
  const sumOf = (figure: (pid: number) => number): number => pids.reduce((sum, pid) => sum + figure(pid), 0);
  return {
    url,
    port: Number(new URL(url).port),
    pid: pids[0],
    pids,
    redis,
    primaries,
    cluster,
    serverCpu: async () => sumOf(processCpu),
    redisCpu: async () => (primaries.length === 0 ? Number.NaN : sumOver(primaries, redisMainThreadCpu)),
    ...(countsBatches ? { batches: () => sumOver(primaries, scriptBatches) } : {}),
    preemptions: () => sumOf(processPreemptions),
    residentBytes: async () => sumOf(processMemory),
    stop,
  };
}

interface Engines {
  readonly primaries?: readonly Redis[];
  readonly cluster?: Cluster | undefined;
  readonly countsBatches?: boolean;
}

async function sumOver(primaries: readonly Redis[], figure: (redis: Redis) => Promise<number>): Promise<number> {
  return (await Promise.all(primaries.map(figure))).reduce((sum, value) => sum + value, 0);
}

/** A service at --url, measured through its /metrics. Figures are NaN when it does not show them. */
export function measuredAtUrl(url: string): Measured {
  const { port, protocol } = new URL(url);
  return {
    url: url.replace(/\/+$/, ''),
    port: Number(port) || (protocol === 'https:' ? 443 : 80),
    pid: undefined,
    pids: [],
    redis: undefined,
    primaries: [],
    cluster: undefined,
    serverCpu: async () => (await ownMetric(url, 'process_cpu_seconds_total')) * 1e6,
    redisCpu: async () => Number.NaN,
    preemptions: () => Number.NaN,
    residentBytes: () => ownMetric(url, 'process_resident_memory_bytes'),
    stop: async () => {},
  };
}

/** The service caches its /metrics for this long. */
const METRICS_KEPT_MS = 1000;

async function ownMetric(url: string, name: string): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, METRICS_KEPT_MS));
  // A failed request gives NaN and does not end the load.
  const metrics = await fetch(new URL('/metrics', url))
    .then((response) => (response.ok ? response.text() : ''))
    .catch(() => '');
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1] ?? Number.NaN);
}
