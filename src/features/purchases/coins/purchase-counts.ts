import type { Metrics } from '../../../server/metrics.ts';
import { STORE_NAMES, type StoreName } from '../../../stores/stores.ts';

const calls = ['look', 'finish', 'list'] as const;

const outcomes = ['granted', 'refunded', 'reversed'] as const;

/** Counts this process's work on purchases of coins for the metrics, by store. */
export class PurchaseCounts {
  readonly #failures = countsOf(calls);
  readonly #booked = countsOf(outcomes);
  /** The number of checks that found that a grant was still not reported to the app store after a day. */
  readonly #overdue = countsOf(['overdue']);
  /** For each app store, the time at which any process last asked it for refunds, in milliseconds since 1970. 0: never. */
  readonly askedAt = new Map<StoreName, number>();

  constructor(metrics: Metrics) {
    metrics.countByEach({
      name: 'coinop_purchases_total',
      help: 'Purchases of coins that were granted, refunded, or given back after a refund.',
      labels: ['store', 'outcome'],
      counts: () => [...this.#booked].map(([key, count]) => [key.split(' '), count]),
    });
    metrics.countByEach({
      name: 'coinop_purchase_store_failures_total',
      help: 'Calls to the app store about purchases of coins that the service made in the background and that failed after all retries, by kind of call.',
      labels: ['store', 'call'],
      counts: () => [...this.#failures].map(([key, count]) => [key.split(' '), count]),
    });
    metrics.countBy({
      name: 'coinop_purchases_overdue_total',
      help: 'Checks that found a purchase of coins which was granted more than a day ago but not reported to the app store yet.',
      label: 'store',
      counts: () => [...this.#overdue].map(([key, count]) => [key.split(' ')[0]!, count]),
    });
    metrics.gaugeByEach({
      name: 'coinop_purchase_refunds_asked_timestamp_seconds',
      help: 'When the app store was last asked for refunds, in seconds since 1970.',
      // All workers read the same time from Redis, so the highest of their values is the right one.
      aggregator: 'max',
      label: 'store',
      values: () => [...this.askedAt].flatMap(([store, at]) => (at === 0 ? [] : [[store, at / 1000] as const])),
    });
  }

  failed(store: StoreName, call: (typeof calls)[number]): void {
    add(this.#failures, store, call);
  }

  overdue(store: StoreName): void {
    add(this.#overdue, store, 'overdue');
  }

  booked(store: StoreName, type: 'topup' | 'refund', coins: number): void {
    add(this.#booked, store, type === 'topup' ? 'granted' : coins < 0 ? 'refunded' : 'reversed');
  }
}

/** Begins each series with 0, because Prometheus sees no increase in a series that begins with 1. */
function countsOf(kinds: readonly string[]): Map<string, number> {
  return new Map(STORE_NAMES.flatMap((store) => kinds.map((kind) => [`${store} ${kind}`, 0] as const)));
}

function add(counts: Map<string, number>, store: StoreName, kind: string): void {
  const key = `${store} ${kind}`;
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
