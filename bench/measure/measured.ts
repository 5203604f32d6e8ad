import type { Redis } from 'ioredis';
import { processCpu, processMemory, processPreemptions } from './cpu.ts';
import { redisMainThreadCpu } from './redis.ts';

/** A server process that is looked at from outside, and its Redis if it has one. */
export interface Measured {
  readonly url: string;
  readonly port: number;
  /** Undefined at --url, where no process can be looked into. */
  readonly pid: number | undefined;
  /** A connection to its Redis, for setting up and for looking into; undefined at --url and where there is none. */
  readonly redis: Redis | undefined;
  /** CPU time that the process has used so far, all its threads, in µs; NaN where it cannot be known. */
  serverCpu(): Promise<number>;
  /** CPU time that its Redis's main thread has used so far, in µs; NaN where it cannot be known. */
  redisCpu(): Promise<number>;
  /** Involuntary context switches so far; NaN where they cannot be known. */
  preemptions(): number;
  /** Resident memory of the process, in bytes; NaN where it cannot be known. */
  residentBytes(): Promise<number>;
  /** Only what was started `fresh`; the rest ends with the run. */
  stop(): Promise<void>;
}

/** A process of this machine. */
export function measuredProcess(url: string, pid: number, redis: Redis | undefined, stop: () => Promise<void>): Measured {
  return {
    url,
    port: Number(new URL(url).port),
    pid,
    redis,
    serverCpu: async () => processCpu(pid),
    redisCpu: async () => (redis === undefined ? Number.NaN : redisMainThreadCpu(redis)),
    preemptions: () => processPreemptions(pid),
    residentBytes: async () => processMemory(pid),
    stop,
  };
}

/** A service that runs elsewhere: what it says of itself in /metrics, if it shows that to us. */
export function measuredElsewhere(url: string): Measured {
  const { port, protocol } = new URL(url);
  return {
    url: url.replace(/\/+$/, ''),
    port: Number(port) || (protocol === 'https:' ? 443 : 80),
    pid: undefined,
    redis: undefined,
    serverCpu: async () => (await ownMetric(url, 'process_cpu_seconds_total')) * 1e6,
    redisCpu: async () => Number.NaN,
    preemptions: () => Number.NaN,
    residentBytes: () => ownMetric(url, 'process_resident_memory_bytes'),
    stop: async () => {},
  };
}

/** For so long it shows the same. */
const METRICS_KEPT_MS = 1000;

async function ownMetric(url: string, name: string): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, METRICS_KEPT_MS));
  // A service that is away for a moment is loaded on.
  const metrics = await fetch(new URL('/metrics', url))
    .then((response) => (response.ok ? response.text() : ''))
    .catch(() => '');
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1] ?? Number.NaN);
}
