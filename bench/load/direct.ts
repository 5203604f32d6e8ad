import type { Redis } from 'ioredis';
import { readConfig } from '../../src/config.ts';
import { Scripts } from '../../src/redis/script.ts';
import { accountIdOf, callerFrom } from '../../src/server/caller.ts';
import type { Endpoint } from '../../src/server/endpoint.ts';
import type { Services } from '../../src/services.ts';

/**
 * The service's own handlers, straight on a Redis and without a server: their keys, encodings and scripts, by the million.
 * What it writes is what the service would have written.
 */
export function directly(redis: Redis): (endpoint: Endpoint<Services>, call: DirectCall) => Promise<unknown> {
  const now = Date.now;
  const services = {
    config: readConfig({}),
    scripts: new Scripts(redis, { now }),
    now,
    metrics: { coinsReplayed: { inc() {} } },
    boards: { teller: 'bench', submit: (_game: string, submission: () => Promise<unknown>) => submission() },
    catalogue: { orderOf: () => 'desc' },
  } as unknown as Services;
  return async (endpoint, { installId, params = {}, body = {} }) => {
    const caller = callerFrom('127.0.0.1', accountIdOf(installId), undefined, undefined, now);
    return endpoint.handle({ params, query: {}, body, caller, meta: {} } as never, services);
  };
}

export interface DirectCall {
  readonly installId: string;
  /** As the endpoint's shapes give them: nothing is checked here. */
  readonly params?: object;
  readonly body?: object;
}
