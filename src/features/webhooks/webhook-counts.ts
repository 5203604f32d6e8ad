import type { Metrics } from '../../server/metrics.ts';

const outcomes = ['delivered', 'failed', 'given_up'] as const;

export type WebhookOutcome = (typeof outcomes)[number];

/** Figures about a hook to which this process delivers. */
export interface HookFigures {
  readonly id: string;
  /**
   * The age in seconds of the oldest event that is read but not delivered yet. Events of accounts that wait for a next attempt do not
   * count.
   */
  readonly lagSeconds: number;
  readonly waitingAccounts: number;
  readonly isDown: boolean;
}

/**
 * Figures about this process's deliveries, for the metrics. The label `hook` has at most 50 values, one per hook. The counts of a removed
 * hook are dropped.
 */
export class WebhookCounts {
  readonly #counts = new Map<string, Record<WebhookOutcome, number>>();
  /** The number of hooks that were disabled because their endpoints answered 410. */
  gone = 0;
  /** Gives the figures about the hooks to which this process delivers. */
  figures: () => readonly HookFigures[] = () => [];

  constructor(metrics: Metrics) {
    metrics.countByEach({
      name: 'coinop_webhook_attempts_total',
      help: 'Attempts to deliver an event to a hook: delivered, failed (it is tried again), or given up after three days.',
      labels: ['hook', 'outcome'],
      counts: () => [...this.#counts].flatMap(([hook, counts]) => outcomes.map((outcome) => [[hook, outcome], counts[outcome]] as const)),
    });
    metrics.count({
      name: 'coinop_webhooks_gone_total',
      help: 'Hooks that were disabled because their endpoint answered 410.',
      value: () => this.gone,
    });
    const gauges = [
      [
        'coinop_webhook_lag_seconds',
        'Age of the oldest event that a hook has not received. Accounts that wait for a next attempt do not count.',
        'lagSeconds',
      ],
      [
        'coinop_webhook_waiting_accounts',
        'Accounts of a hook that wait for the next attempt, because one of their events failed.',
        'waitingAccounts',
      ],
    ] as const;
    for (const [name, help, figure] of gauges)
      metrics.gaugeByEach({
        name,
        help,
        label: 'hook',
        aggregator: 'max',
        values: () => this.figures().map((of) => [of.id, of[figure]]),
      });
    metrics.gaugeByEach({
      name: 'coinop_webhook_down',
      help: '1 while the endpoint of a hook accepts no events: one attempt at a time probes it.',
      label: 'hook',
      aggregator: 'max',
      values: () => this.figures().map(({ id, isDown }) => [id, isDown ? 1 : 0]),
    });
  }

  /** To be called when this process begins to deliver to a hook. The hook's counts begin with 0. */
  begun(hook: string): void {
    if (!this.#counts.has(hook)) this.#counts.set(hook, { delivered: 0, failed: 0, given_up: 0 });
  }

  counted(hook: string, outcome: WebhookOutcome): void {
    const counts = this.#counts.get(hook);
    if (counts !== undefined) counts[outcome]++;
  }

  removed(hook: string): void {
    this.#counts.delete(hook);
  }
}
