import type { Metrics, ReadGauge } from './metrics.ts';

/** The figures of the background audits that the metrics show. */
export interface WatchedAudit {
  readonly last: { readonly endedAt: number; readonly seconds: number; readonly findings: number } | undefined;
  readonly failures: number;
}

/** @param everyHours AUDIT_EVERY_HOURS */
export function addAuditMetrics(metrics: Metrics, everyHours: number, audit: WatchedAudit): void {
  // The last audit of any process. All workers report the same one, some of them a little later.
  const gauge = (name: string, help: string, value: ReadGauge['value']): void => metrics.gauge({ name, help, aggregator: 'max', value });
  gauge('coinop_audit_interval_seconds', 'AUDIT_EVERY_HOURS in seconds.', () => everyHours * 3600);
  gauge('coinop_audit_last_run_timestamp_seconds', 'End of the last complete audit, in seconds since 1970.', () =>
    audit.last === undefined ? undefined : audit.last.endedAt / 1000,
  );
  gauge('coinop_audit_last_run_duration_seconds', 'Duration of the last complete audit.', () => audit.last?.seconds);
  gauge('coinop_audit_findings', 'Findings of the last complete audit: contradictions in the data.', () => audit.last?.findings);
  metrics.count({
    name: 'coinop_audit_failures_total',
    help: 'Audits in the background that were not complete.',
    value: () => audit.failures,
  });
}
