import { BackgroundAudit } from '../consistency/background.ts';
import type { Config } from '../config.ts';
import type { Services } from '../declare.ts';
import { DELETIONS_DUE } from '../accounts/tombstones.ts';
import { AddressGrowth } from '../features/coins/address-growth.ts';
import { Relay } from '../features/events/relay.ts';
import { purchaseKeys } from '../features/purchases/coins/model.ts';
import { RefundQuestions } from '../features/purchases/coins/refund-questions.ts';
import { subscriptionKeys } from '../features/purchases/subscription/model.ts';
import { purchaseChecks } from '../features/purchases/subscription/purchase-check.ts';
import { unownedChecks } from '../features/purchases/subscription/unowned-purchase.ts';
import { Webhooks } from '../features/webhooks/webhooks.ts';
import type { StoreName } from '../stores/stores.ts';
import { QueueCount } from '../redis/queue-count.ts';
import type { Admission } from '../server/admission.ts';
import { addAuditMetrics } from '../server/audit-metrics.ts';
import type { ServiceOptions } from './options.ts';

/** The work of a process besides answering requests: the work of the queues, audits, and counts. */
export interface BackgroundWork {
  /** Takes no more work from the queues, and waits until the work that has begun is done. */
  closeQueues(): Promise<unknown>;
  /**
   * Stops audits and counts. Must be called after the last request, because that request's ledger entry must still be added to the count of
   * its address.
   */
  close(): Promise<unknown>;
}

/** @param mayWrite false while the private Redis would end at its next write. Polling the app store for refunds then waits */
export function startBackgroundWork(
  config: Config,
  runAudit: ServiceOptions['audit'],
  admission: Admission,
  services: Services,
  mayWrite: () => boolean,
): BackgroundWork {
  const { stores, metrics, events } = services;
  const queues = [
    services.moves.takeOver(),
    services.deletions.takeOver(),
    services.bans.takeOver(),
    services.seasons.takeOver(),
    ...(stores.all.length === 0 ? [] : [purchaseChecks(services), unownedChecks(services)]),
    services.purchases.takeOver(),
    services.keptNotices.takeOver(),
    services.roomIndex,
    ...(services.outboxNews === undefined ? [] : [new Relay({ ...services, outboxNews: services.outboxNews })]),
    ...(events === undefined ? [] : [new Webhooks({ ...services, events, counts: services.webhookCounts })]),
    ...stores.all.flatMap(({ name, products }) =>
      products === undefined
        ? []
        : [new RefundQuestions({ ...services, store: name as StoreName, counts: services.purchaseCounts, mayWrite })],
    ),
  ];
  const counts = [
    {
      name: 'coinop_account_deletions_waiting',
      help: 'Deleted accounts that were not erased yet, counted some seconds ago.',
      queue: DELETIONS_DUE,
    },
    {
      name: 'coinop_subscriptions_without_owner',
      help: 'Subscriptions that the store has reported and that no account owns, counted some seconds ago.',
      queue: subscriptionKeys.unowned,
    },
    {
      name: 'coinop_purchase_notices_waiting',
      help:
        'Notifications of purchases of coins that wait until the store knows the purchase, or the catalogue its product, some ' +
        'seconds ago.',
      queue: purchaseKeys.noticesDue,
    },
  ].map(({ name, help, queue }) => {
    const waiting = new QueueCount(queue, services);
    // The metric is the maximum over all workers, not the sum, because all workers count the same queue.
    metrics.gauge({ name, help, aggregator: 'max', value: () => waiting.count ?? 0 });
    return waiting;
  });
  const audit = runAudit && backgroundAudit(config, runAudit, services);
  const budget = admission.daily('entries');
  const growth = budget && new AddressGrowth({ ...services, budget });
  return {
    closeQueues: () => Promise.all(queues.map((queue) => queue.close())),
    close() {
      for (const count of counts) count.close();
      return Promise.all([audit?.close(), growth?.close(), services.activity.close()]);
    },
  };
}

function backgroundAudit(
  config: Config,
  runAudit: NonNullable<ServiceOptions['audit']>,
  { scripts, metrics, log }: Services,
): BackgroundAudit | undefined {
  const { AUDIT_EVERY_HOURS, REDIS_URL, DATA_DIR } = config;
  if (AUDIT_EVERY_HOURS === 0) return undefined;
  const settings: Record<string, string> = REDIS_URL === undefined ? { DATA_DIR } : { REDIS_URL };
  const run = (signal: AbortSignal) => runAudit(settings, signal);
  const audit = new BackgroundAudit({ scripts, everyMs: AUDIT_EVERY_HOURS * 3_600_000, run, log });
  addAuditMetrics(metrics, AUDIT_EVERY_HOURS, audit);
  return audit;
}
