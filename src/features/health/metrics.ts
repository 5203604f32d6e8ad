import { z } from 'zod';
import { Encoded } from '../../server/http/endpoint.ts';
import { endpoint, type Services } from '../../declare.ts';

export const metrics = endpoint({
  method: 'GET',
  path: '/metrics',
  operationId: 'getMetrics',
  caller: 'none',
  summary: 'Metrics of this service in the Prometheus text format.',
  description:
    'Requests by route template and status, refusals by code, latencies, Redis latency by script, event-loop lag, coins by type, accounts created. ' +
    'No secrets, no identifiers. With METRICS_PORT the service answers there instead of here. ' +
    'The service encodes the metrics at most once a second, so requests within a second get the same text.',
  reply: z.object({}),
  mediaType: 'text/plain; version=0.0.4; charset=utf-8',
  probe: true,
  hasOwnPort: true,
  example: `curl -s $base/metrics`,
  handle: async (_call, { metricsText }: Pick<Services, 'metricsText'>) => new Encoded(await metricsText()),
});
