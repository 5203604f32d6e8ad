import { z } from 'zod';
import { refuse } from '../../errors.ts';
import { endpoint, type Services } from '../../declare.ts';
import { whoMintsCoins } from '../coins/model.ts';

export const ready = endpoint({
  method: 'GET',
  path: '/ready',
  operationId: 'getReadiness',
  caller: 'none',
  summary: 'Tells a load balancer whether this process should get traffic.',
  description:
    '503 while Redis does not answer, while it has other data than the service knows, while its settings could lose coins (an evicting maxmemory-policy), and while the process drains. ' +
    'On a Redis Cluster 200 while any primary serves; `degraded` then says what is wrong with the others.',
  reply: z.object({
    service: z.string().meta({ example: 'coinop' }),
    degraded: z.array(z.string()).optional().meta({
      description:
        'The primaries of a Redis Cluster that do not serve requests, and the slots that no primary serves. Left out if there are none.',
    }),
    coinAuthority: z.string().meta({
      description: 'Who can mint coins, in one line: the word of COIN_AUTHORITY (`client` or `server`), a colon, and what it means.',
      example: 'server: only server keys with the scope coins, and operators, can mint coins',
    }),
  }),
  errors: ['store_unavailable'],
  probe: true,
  example: `curl -s $base/ready`,
  async handle(_call, { config, readiness }: Pick<Services, 'config' | 'readiness'>) {
    const { ok, problem, degraded } = await readiness();
    if (!ok) return refuse('store_unavailable', { message: `Not ready: ${problem}.`, retryAfterMs: 1000 });
    return { service: 'coinop', degraded, coinAuthority: whoMintsCoins(config) };
  },
});
