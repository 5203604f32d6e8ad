import { AggregatorRegistry } from '@prometheus-io/client';

/** What `Registry.getMetricsAsJSON` of a worker gives. */
type Part = readonly { readonly type: string }[];

/**
 * The metrics of all workers together. Counters never fall: the counts of a worker that has ended stay, as it last told them, and those
 * of a worker that does not answer stand in for its answer. A sum that fell would be taken for a restart, and all that the other
 * workers ever counted for new: coins that came in within the hour, for example.
 */
export class WorkerMetrics {
  readonly #last = new Map<number, Part>();
  /** Counters and histograms of workers that have ended. */
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

  text(): Promise<string> {
    return AggregatorRegistry.aggregate([...this.#last.values(), this.#ended] as never).metrics();
  }
}
