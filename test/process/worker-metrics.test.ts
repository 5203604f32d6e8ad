import { Counter, Gauge, Registry } from '@prometheus-io/client';
import { describe, expect, test } from 'vitest';
import { WorkerMetrics } from '../../src/process/worker-metrics.ts';
import { Metrics } from '../../src/server/metrics.ts';
import { addProcessMetrics } from '../../src/server/process-metrics.ts';

async function partOf(coins: number, sockets: number): Promise<unknown> {
  const registers = [new Registry()];
  new Counter({ name: 'coins_total', help: 'Coins.', labelNames: ['type'], registers }).inc({ type: 'credit' }, coins);
  new Gauge({ name: 'sockets', help: 'Sockets.', registers }).set(sockets);
  // As a message between processes.
  return JSON.parse(JSON.stringify(await registers[0]!.getMetricsAsJSON()));
}

async function figures(metrics: WorkerMetrics): Promise<[coins: number, sockets: number]> {
  const text = await metrics.text();
  const of = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  return [of('coins_total\\{type="credit"\\}'), of('sockets')];
}

describe('the metrics of all workers', () => {
  test('are added up, and keep the counts of workers that have ended, but not their gauges', async () => {
    const metrics = new WorkerMetrics();
    metrics.take(1, await partOf(1, 3));
    expect(await figures(metrics)).toEqual([1, 3]);
    for (const worker of [1, 2, 3]) metrics.take(worker, await partOf(10 ** worker, 1));
    expect(await figures(metrics)).toEqual([1110, 3]);
    for (const worker of [1, 3]) metrics.ended(worker);
    expect(await figures(metrics)).toEqual([1110, 1]);
    metrics.take(4, await partOf(1, 5));
    expect(await figures(metrics)).toEqual([1111, 6]);
    for (const worker of [2, 4, 5]) metrics.ended(worker);
    expect(await figures(metrics)).toEqual([1111, NaN]);
  });

  test('report a blocked event loop for a worker that does not answer', async () => {
    const ofWorker = new Metrics();
    addProcessMetrics(ofWorker, { version: '1.0.0', revision: 'abc' });
    const metrics = new WorkerMetrics();
    for (const worker of [1, 2]) metrics.take(worker, JSON.parse(JSON.stringify(await ofWorker.registry.getMetricsAsJSON())));
    const lag = async (...silent: number[]) => Number(/^coinop_event_loop_lag_seconds (\S+)$/m.exec(await metrics.text(silent))![1]);
    expect(await lag()).not.toBe(1);
    expect(await lag(2)).toBe(1);
    // A worker that is still starting has reported nothing yet.
    expect(await lag(3)).not.toBe(1);
  });
});
