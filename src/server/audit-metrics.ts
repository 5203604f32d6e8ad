import type { Metrics, ReadGauge } from './metrics.ts';

/** The results of the background audits, from which the metrics are made. */
export interface WatchedAudit {
  readonly last: { readonly endedAt: number; readonly seconds: number; readonly findings: number } | undefined;
  readonly failures: number;
}

/** @param everyHours the setting AUDIT_EVERY_HOURS: the interval between two audits */
export function addAuditMetrics(metrics: Metrics, everyHours: number, audit: WatchedAudit): void {
  // The gauges show the last audit of the whole service, whichever process ran it. Every worker reports the same audit, some workers a
  // little later than others: `max` picks the newest.
  const gauge = (name: string, help: string, value: ReadGauge['value']): void => metrics.gauge({ name, help, aggregator: 'max', value });
  gauge('coinop_audit_interval_seconds', 'AUDIT_EVERY_HOURS in seconds.', () => everyHours * 3600);
  gauge('coinop_audit_last_run_timestamp_seconds', 'End of the last complete audit, in seconds since 1970.', () =>
    audit.last === undefined ? undefined : audit.last.endedAt / 1000,
  );
  gauge('coinop_audit_last_run_duration_seconds', 'Duration of the last complete audit.', () => audit.last?.seconds);
  gauge('coinop_audit_findings', 'Findings of the last complete audit: contradictions in the data.', () => audit.last?.findings);
  metrics.count({
    name: 'coinop_audit_failures_total',
    help: 'The number of background audits that could not be completed.',
    value: () => audit.failures,
  });
}
