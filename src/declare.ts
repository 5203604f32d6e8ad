import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { Catalogue } from './features/catalogue/file.ts';
import type { KeySecret } from './features/coins/key-secret.ts';
import type { ProofKeys } from './features/entitlement/proof-keys.ts';
import type { BoardCache } from './features/highscores/board-cache.ts';
import type { Presence } from './features/rooms/presence.ts';
import type { Sandbox } from './features/sandbox/sandbox.ts';
import type { AppStore } from './google/app-store.ts';
import type { RedisHealth } from './redis/connect.ts';
import type { AccountScripts } from './accounts/scripts.ts';
import { channelFor } from './server/live/channel.ts';
import { endpointFor } from './server/http/endpoint.ts';
import type { Feed } from './server/live/feed.ts';
import type { Hub } from './server/live/hub.ts';
import type { Metrics } from './server/metrics.ts';
import type { Sessions } from './server/identity/sessions.ts';
import type { TokenSigner } from './server/identity/signed-token.ts';

/** What `service.ts` makes and every handler is handed. Nothing here is global: a test starts as many as it likes. */
export interface Services {
  readonly config: Config;
  readonly scripts: AccountScripts;
  readonly sessions: Sessions;
  readonly tokens: TokenSigner;
  readonly proofKeys: ProofKeys;
  readonly catalogue: Catalogue;
  readonly boards: BoardCache;
  readonly keySecret: KeySecret;
  readonly hub: Hub;
  readonly feeds: { readonly room: Feed; readonly pair: Feed };
  readonly presence: Presence;
  readonly metrics: Metrics;
  /** The app store that is believed. Undefined: STORE=off. */
  readonly store: AppStore | undefined;
  /** The stand-in for it, there with STORE=sandbox. */
  readonly sandbox: Sandbox | undefined;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Why this process should get no traffic, if it should not. */
  readonly readiness: () => Promise<RedisHealth>;
  /** Prometheus text of every worker together. */
  readonly metricsText: () => Promise<string>;
}

export const endpoint = endpointFor<Services>();
export const channel = channelFor<Services>();
