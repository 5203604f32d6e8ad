import type { Metrics } from '../../../server/metrics.ts';

const calls = ['look', 'finish', 'list'] as const;

const outcomes = ['granted', 'refunded', 'reversed'] as const;

/** Numbers for the metrics of this process's work on purchases of coins. */
export class PurchaseCounts {
  readonly #failures = { look: 0, finish: 0, list: 0 };
  readonly #booked = { granted: 0, refunded: 0, reversed: 0 };
  /** The number of checks that found a grant still not reported to the app store after a day. */
  overdue = 0;
  /** When any process last asked each app store for refunds, in milliseconds since 1970. 0: never. */
  readonly askedAt = new Map<string, number>();

  constructor(metrics: Metrics) {
    metrics.countBy({
      name: 'coinop_purchases_total',
      help: 'Purchases of coins that were granted, refunded, or given back after a refund.',
      label: 'outcome',
      counts: () => outcomes.map((outcome) => [outcome, this.#booked[outcome]]),
    });
    metrics.countBy({
      name: 'coinop_purchase_store_failures_total',
      help: 'Calls to the app store about purchases of coins that failed after all retries, by kind of call, in the background.',
      label: 'call',
      counts: () => calls.map((call) => [call, this.#failures[call]]),
    });
    metrics.count({
      name: 'coinop_purchases_overdue_total',
      help: 'Checks of purchases of coins that were granted a day ago and are not reported to the app store yet.',
      value: () => this.overdue,
    });
    metrics.gauge({
      name: 'coinop_purchase_refunds_asked_timestamp_seconds',
      help: 'When the app store was last asked for refunds, in seconds since 1970.',
      // All workers report the same time, so the highest of their values is the time.
      aggregator: 'max',
      value: () => {
        const first = Math.min(...this.askedAt.values());
        return first === 0 || first === Infinity ? undefined : first / 1000;
      },
    });
  }

  failed(call: (typeof calls)[number]): void {
    this.#failures[call]++;
  }

  booked(type: 'topup' | 'refund', coins: number): void {
    this.#booked[type === 'topup' ? 'granted' : coins < 0 ? 'refunded' : 'reversed']++;
  }
}
