import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { Gauge } from '@prometheus-io/client';
import type { Metrics } from './metrics.ts';
import { uwsVersion } from './uws.ts';

export interface Build {
  readonly version: string;
  readonly revision: string;
}

/** Adds the metrics of the process itself. @param build the version and the revision of the service */
export function addProcessMetrics(metrics: Metrics, { version, revision }: Build): void {
  new Gauge({
    name: 'coinop_build_info',
    help: 'Always 1. The labels have the version and the revision of the service, and the versions of Node and of uWebSockets.js.',
    labelNames: ['version', 'revision', 'node', 'uws'],
    // All workers have the same versions. The sum over all workers would be the number of workers.
    aggregator: 'max',
    registers: [metrics.registry],
  }).set({ version, revision, node: process.versions.node, uws: uwsVersion }, 1);
  metrics.gauge({
    name: 'process_start_time_seconds',
    help: 'Start of the process, in seconds since 1970; with several workers, the latest start.',
    aggregator: 'max',
    value: () => Math.round(performance.timeOrigin) / 1000,
  });
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  metrics.gauge({
    name: 'coinop_event_loop_lag_seconds',
    help: 'Delay of the event loop since the last scrape, 99th percentile; with several workers, the longest delay.',
    aggregator: 'max',
    value() {
      // The monitor counts its own resolution of 10 ms as a delay.
      const seconds = Math.max(0, (delay.percentile(99) || 0) / 1e9 - 0.01);
      delay.reset();
      return seconds;
    },
  });
  metrics.gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory size in bytes.',
    value: () => process.memoryUsage.rss(),
  });
  metrics.count({
    name: 'process_cpu_seconds_total',
    help: 'Total user and system CPU time spent in seconds.',
    value() {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
  });
}
