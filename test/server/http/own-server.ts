import { notFoundPage } from '../../../src/web/pages/not-found.ts';
import { pino } from 'pino';
import { Admission } from '../../../src/server/admission.ts';
import { DailyBudget } from '../../../src/server/daily-budget.ts';
import { ClientAddresses } from '../../../src/server/address.ts';
import type { Endpoint } from '../../../src/server/http/endpoint.ts';
import type { LoggedRequests } from '../../../src/server/http/answer-log.ts';
import { Server } from '../../../src/server/http/server.ts';
import type { KeyRing } from '../../../src/server/identity/key-ring.ts';
import type { ConsoleSessions } from '../../../src/server/identity/console-sessions.ts';
import { Origins } from '../../../src/server/identity/origin.ts';
import { Sessions } from '../../../src/server/identity/sessions.ts';
import { TokenSigner } from '../../../src/server/identity/signed-token.ts';
import { Arrivals } from '../../../src/server/live/arrivals.ts';
import type { WatchedTopics } from '../../../src/server/live/watched-topics.ts';
import { Metrics } from '../../../src/server/metrics.ts';
import { monotonic } from '../../../src/server/monotonic.ts';
import { OwnReservations, type Reservations } from '../../../src/server/reservations.ts';
import { testKeys } from '../../harness.ts';

export interface OwnServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly logLines: string[];
}

/** The server alone, without Redis and features: it serves the test's own endpoints. */
export async function startServer(
  endpoints: readonly Endpoint<object>[],
  reservations?: Reservations,
  {
    slowRequestMs = 0,
    loggedRequests = 'off',
    perSecond = 10_000,
    maxInFlight = 100,
  }: { slowRequestMs?: number; loggedRequests?: LoggedRequests; perSecond?: number; maxInFlight?: number } = {},
): Promise<OwnServer> {
  const logLines: string[] = [];
  const perMinute = { creations: 1000, misses: 1000 };
  const server = new Server({
    notFoundPage,
    services: {},
    endpoints,
    channels: [],
    sessions: new Sessions(new TokenSigner(testKeys), { now: Date.now }),
    origins: new Origins([]),
    addresses: new ClientAddresses([]),
    admission: new Admission({
      requests: { perSecond, burst: perSecond },
      actsPerSecond: 1000,
      keyedPerSecond: perSecond,
      uncountedPerSecond: 10_000,
      maxInFlight,
      daily: { entries: reservations && new DailyBudget('entries', 100, reservations), saveBytes: undefined },
      reservations:
        reservations ?? new OwnReservations({ perMinute, sockets: 100, perDay: { entries: undefined, saveBytes: undefined } }, monotonic),
      monotonic,
    }),
    noteSession: async () => {},
    checkCaller: () => Promise.reject(new Error('no endpoint here has a caller')),
    followMove: async (accountId) => accountId,
    // Without Redis no key is known, and none is sent here.
    serverKeys: { isKnown: false, onChange() {} } as unknown as KeyRing,
    consoleSessions: {} as ConsoleSessions,
    servedHosts: undefined,
    takesConsole: false,
    secureCookies: false,
    sameSite: 'lax',
    log: pino({ level: 'debug' }, { write: (line: string) => void logLines.push(line) }),
    monotonic,
    // A drain asks the topics to end the long-polls and to close. Without channels there are none.
    topics: { drain() {}, close() {} } as WatchedTopics,
    watchersPerTopic: 1,
    arrivals: new Arrivals(1000),
    metrics: new Metrics(),
    connections: undefined,
    bodiesPerAddress: 100,
    slowRequestMs,
    loggedRequests,
  });
  const port = await server.listen('127.0.0.1', 0, false);
  return { url: `http://127.0.0.1:${port}`, port, logLines, [Symbol.asyncDispose]: () => server.drain(1000, 0) };
}
