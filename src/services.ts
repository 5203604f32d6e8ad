import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { Catalogue } from './features/catalogue/model.ts';
import type { BoardCache } from './features/highscores/model.ts';
import type { RedisHealth } from './redis/connect.ts';
import type { Scripts } from './redis/script.ts';
import { endpointFor } from './server/endpoint.ts';
import type { Metrics } from './server/metrics.ts';
import type { Sessions } from './server/sessions.ts';
import type { TokenSigner } from './server/signed-token.ts';

/** What `main.ts` makes and every handler is handed. Nothing here is global: a test starts as many as it likes. */
export interface Services {
  readonly config: Config;
  readonly scripts: Scripts;
  readonly sessions: Sessions;
  readonly tokens: TokenSigner;
  readonly catalogue: Catalogue;
  readonly boards: BoardCache;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Why this process should get no traffic, if it should not. */
  readonly readiness: () => Promise<RedisHealth>;
  /** Prometheus text of every worker together. */
  readonly metricsText: () => Promise<string>;
}

export const endpoint = endpointFor<Services>();
