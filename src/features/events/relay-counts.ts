import type { Metrics } from '../../server/metrics.ts';

/** Figures about the relay of events, for the metrics. Only the process that relays reports the figures about the outboxes and the log. */
export class RelayCounts {
  relayed = 0;
  isHolder = false;
  /** Whether any process relays events now. */
  hasRelay = false;
  /** The number of elements that waited in the outboxes when they were last read. */
  waiting = 0;
  lagSeconds = 0;
  /** The number of positions from the oldest event of the log to the log's end. */
  kept = 0;

  constructor(metrics: Metrics) {
    metrics.count({
      name: 'coinop_events_relayed_total',
      help: 'Events that this process carried from the outboxes into the log.',
      value: () => this.relayed,
    });
    metrics.gauge({
      name: 'coinop_events_relay_up',
      help: '1 while some process carries events into the log.',
      aggregator: 'max',
      value: () => (this.hasRelay ? 1 : 0),
    });
    const ofRelay = (name: string, help: string, value: () => number): void =>
      metrics.gauge({ name, help, aggregator: 'max', value: () => (this.isHolder ? value() : undefined) });
    ofRelay('coinop_events_outbox_batches', 'Batches of events that wait in the outboxes.', () => this.waiting);
    ofRelay('coinop_events_lag_seconds', 'Age of the oldest event that waits in an outbox.', () => this.lagSeconds);
    ofRelay(
      'coinop_events_log_events',
      'About the number of events in the log: the positions from the oldest event to the end.',
      () => this.kept,
    );
  }
}
