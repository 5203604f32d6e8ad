import { settled } from '../accounts/standing-reader.ts';
import { checkCaller } from '../accounts/account.ts';
import { noteSession } from '../accounts/session-list.ts';
import type { Holding } from '../accounts/holdings.ts';
import { api, channels } from '../api.ts';
import { allowsLoopbackOrigins, consoleOf, type Config } from '../config.ts';
import type { Services } from '../declare.ts';
import { exportAccount } from '../features/export/export.ts';
import { holdings } from '../holdings.ts';
import { operatorApi } from '../operator/endpoints.ts';
import { consoleEndpoints } from '../operator/page/endpoints.ts';
import type { ServiceOptions } from './options.ts';
import { ClientAddresses } from '../server/address.ts';
import type { Admission } from '../server/admission.ts';
import { Connections } from '../server/open-connections.ts';
import type { Endpoint } from '../server/http/endpoint.ts';
import { Server } from '../server/http/server.ts';
import { Origins } from '../server/identity/origin.ts';
import { servedHosts } from '../server/identity/served-hosts.ts';
import { unlessOff } from '../server/limit-settings.ts';
import { notFoundPage } from '../web/pages/not-found.ts';

/** Makes the HTTP server of a process, with its endpoints and channels and with the checks in Redis that run before handlers. */
export function serverOf(
  config: Config,
  admission: Admission,
  services: Services,
  { holdings: held = holdings, redisDeadlineMs }: Pick<ServiceOptions, 'holdings' | 'redisDeadlineMs'>,
  sandbox: readonly Endpoint<Services>[] = [],
): Server<Services> {
  const { scripts, topics, arrivals, sessions, serverKeys, consoleSessions, metrics, log, now, monotonic } = services;
  const addresses = new ClientAddresses(config.TRUSTED_PROXIES);
  return new Server({
    endpoints: [...endpointsOf(config, held), ...sandbox],
    channels,
    topics,
    watchersPerTopic: config.WATCHERS_PER_ROOM,
    arrivals,
    services,
    sessions,
    checkCaller: (caller) => scripts.runAs(caller, checkCaller, {}, {}),
    noteSession: (caller, userAgent) => noteSession(caller, userAgent, { scripts, now }),
    followMove: async (accountId) => (await settled(accountId, scripts)).accountId,
    serverKeys,
    servedHosts: servedHosts(config.HOST, config),
    consoleSessions,
    takesConsole: consoleOf(config) === 'open',
    metrics,
    log,
    monotonic,
    origins: new Origins(config.ALLOWED_ORIGINS, config.PUBLIC_URL, allowsLoopbackOrigins(config)),
    sameSite: config.COOKIE_SAME_SITE,
    secureCookies: config.production || config.PUBLIC_URL?.startsWith('https:') === true,
    addresses,
    admission,
    redisDeadlineMs,
    connections: unlessOff(
      config,
      new Connections({
        perAddress: config.CONNECTIONS_PER_ADDRESS,
        workers: config.WORKERS,
        isTrusted: (address) => addresses.isTrusted(address),
        log,
      }),
    ),
    bodiesPerAddress: config.BODIES_PER_ADDRESS,
    slowRequestMs: config.SLOW_REQUEST_MS,
    loggedRequests: config.LOG_REQUESTS,
    notFoundPage,
  });
}

function endpointsOf(config: Config, held: readonly Holding[]): readonly Endpoint<Services>[] {
  const { ADMIN_API, METRICS_PORT } = config;
  const all = held === holdings ? api : api.map((declared) => (declared.operationId === 'exportAccount' ? exportAccount(held) : declared));
  const served = all.filter(({ hasOwnPort }) => hasOwnPort !== true || METRICS_PORT === undefined);
  return [...served, ...(ADMIN_API === 'on' ? operatorApi : []), ...consoleEndpoints(config)];
}
