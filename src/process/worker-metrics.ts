import { AggregatorRegistry } from '@prometheus-io/client';

/** What `Registry.getMetricsAsJSON` returned in a worker. */
type Part = readonly { readonly name: string; readonly type: string; readonly values: readonly object[] }[];

const EVENT_LOOP_LAG = 'coinop_event_loop_lag_seconds';

/**
 * Adds up the metrics of all workers. Counters never fall. When a worker ends, its last counts stay in the sum. While a worker does not
 * answer, its last counts are used. If a sum fell, Prometheus would take that for a restart, and count the whole sum of the other workers
 * again, for example as coins of the last hour.
 */
export class WorkerMetrics {
  readonly #last = new Map<number, Part>();
  /** The sum of the counters and histograms of workers that have ended. */
  #ended: Part = [];

  take(worker: number, part: unknown): void {
    this.#last.set(worker, part as Part);
  }

  ended(worker: number): void {
    const last = this.#last.get(worker);
    if (last === undefined) return;
    this.#last.delete(worker);
    const kept = last.filter(({ type }) => type === 'counter' || type === 'histogram');
    this.#ended = AggregatorRegistry.aggregate([this.#ended, kept] as never).getMetricsAsArray() as unknown as Part;
  }

  /** @param silent ids of workers that have not answered for a second: the metric shows a lag of 1 s of their event loops */
  text(silent: Iterable<number> = []): Promise<string> {
    const blocked = [...silent].flatMap((worker) => {
      const lag = this.#last.get(worker)?.find(({ name }) => name === EVENT_LOOP_LAG);
      return lag === undefined ? [] : [[{ ...lag, values: lag.values.map((value) => ({ ...value, value: 1 })) }]];
    });
    return AggregatorRegistry.aggregate([...this.#last.values(), this.#ended, ...blocked] as never).metrics();
  }
}
