import { CallerScripts } from '../accounts/caller-scripts.ts';
import { consoleOf, type Config } from '../config.ts';
import type { Services } from '../declare.ts';
import { WatchingCallers } from '../features/account-watch/callers.ts';
import { accountFeed } from '../features/account-watch/feed.ts';
import { BanJournal } from '../features/bans/ban-journal.ts';
import { DeletionJournal } from '../features/deletion/deletion-journal.ts';
import { Catalogue } from '../features/catalogue/file.ts';
import { Bookings } from '../features/coins/bookings.ts';
import { CoinTotals } from '../features/coins/coin-totals.ts';
import { KeySecret } from '../features/coins/key-secret.ts';
import { Proofs } from '../features/entitlement/proof.ts';
import { ProofKeys } from '../features/entitlement/proof-keys.ts';
import { BoardCache } from '../features/highscores/board-cache.ts';
import { Seasons } from '../features/highscores/seasons.ts';
import { boardFeed } from '../features/highscores/board-feed.ts';
import { PlayerNames } from '../features/names/player-names.ts';
import { pairFeed } from '../features/pairing/feed.ts';
import { KeptNotices } from '../features/purchases/coins/kept-notices.ts';
import { PurchaseCounts } from '../features/purchases/coins/purchase-counts.ts';
import { CoinPurchases } from '../features/purchases/coins/coin-purchases.ts';
import { TestCoins } from '../features/purchases/coins/test-coins.ts';
import { ActCounts } from '../features/rooms/act-counts.ts';
import { OutboxNews } from '../features/events/outbox-news.ts';
import { EventLog } from '../features/events/event-log.ts';
import { roomFeed } from '../features/rooms/feed.ts';
import { Matches } from '../features/rooms/match/matches.ts';
import { Presence } from '../features/rooms/presence.ts';
import { lobbyFeed } from '../features/rooms/list/lobby-feed.ts';
import { FirstPages } from '../features/rooms/list/first-pages.ts';
import { ListWriter } from '../features/rooms/list/list-writer.ts';
import { RoomActs } from '../features/rooms/room-acts.ts';
import { RoomIndex } from '../features/rooms/room-index.ts';
import { SeatBudgets } from '../features/rooms/seat-budgets.ts';
import { Activity } from '../features/numbers/activity.ts';
import { MoveJournal } from '../features/guest-moves/move-journal.ts';
import { ProviderNames } from '../features/sign-in/provider-names.ts';
import { Hooks } from '../features/webhooks/hooks.ts';
import { WebhookCounts } from '../features/webhooks/webhook-counts.ts';
import { holdings } from '../holdings.ts';
import { GrantPace } from '../operator/grant-pace.ts';
import { AppleRevocation, revocationSettings } from '../stores/openid/apple-revocation.ts';
import { ConsoleSignIn } from '../operator/sign-in/console-sign-in.ts';
import { Providers } from '../stores/openid/providers.ts';
import { nameOfProvider, providersOf } from '../stores/openid/provider-table.ts';
import { UserEventCounts } from '../stores/openid/user-event.ts';
import { openStores, Stores } from '../stores/stores.ts';
import { docsOf } from '../web/documents/documents.ts';
import { channels, features } from '../api.ts';
import type { Doors } from '../apart/doors.ts';
import { operatorApi } from '../operator/endpoints.ts';
import { consoleModules } from '../operator/page/page.ts';
import { upgrades } from '../upgrades.ts';
import type { RedisClock } from '../redis/redis-clock.ts';
import type { RedisConnections } from '../redis/redis-connections.ts';
import type { DataGuard } from '../redis/data/data-guard.ts';
import { ConsoleSessions } from '../server/identity/console-sessions.ts';
import { SealedTexts } from '../server/identity/sealed-texts.ts';
import { KeyRing } from '../server/identity/key-ring.ts';
import { Sessions } from '../server/identity/sessions.ts';
import { TokenSigner } from '../server/identity/signed-token.ts';
import { Arrivals } from '../server/live/arrivals.ts';
import { WatchedTopics } from '../server/live/watched-topics.ts';
import { LiveCounts } from '../server/live/live-counts.ts';
import { Metrics, METRICS_KEPT_MS } from '../server/metrics.ts';
import { monotonic as processClock } from '../server/monotonic.ts';
import { keptFor, oneAtATime } from '../server/shared-call.ts';
import type { ServiceOptions } from './options.ts';
import { readinessOf } from './readiness.ts';

/**
 * Functions of the server and of Redis's health checks that the services call. They are passed in, because the server is made after these
 * services.
 */
interface OfServer {
  readonly clock: RedisClock;
  /** Must be called when a script failed, with the error's message. */
  readonly failed: (message: string) => void;
  readonly publish: (topic: string, message: string) => void;
  readonly isDraining: () => boolean;
  /** False while the private Redis would end at its next write. */
  readonly mayWrite: () => boolean;
  /** The URL at which this machine reaches the service. */
  readonly address: () => string;
}

/** The clock of this machine, as `ServiceOptions.wallClock` explains. */
export const wallClockOf = ({ wallClock, now = Date.now }: ServiceOptions): (() => number) => wallClock ?? now;

export function servicesOf(
  config: Config,
  options: ServiceOptions,
  connections: RedisConnections,
  data: DataGuard,
  ofServer: OfServer,
  doors: Doors,
): Services {
  const { log, now = ofServer.clock.now, monotonic = processClock, holdings: held = holdings } = options;
  const wallClock = wallClockOf(options);
  const { publish, failed, isDraining, mayWrite } = ofServer;
  const metrics = new Metrics();
  const { subscriber, durable, tracked, trackedKeys, source } = connections;
  trackedKeys.on('refused', (reason) => log.warn({ reason }, 'redis does not track keys: watched accounts are read all the time'));
  const replicas = config.REDIS_WAIT_REPLICAS;
  const { checksTags, redisAheadMs: timeAheadMs } = options;
  const outboxNews = config.EVENTS === 'on' ? new OutboxNews(() => scripts, subscriber) : undefined;
  const scripts: CallerScripts = new CallerScripts(connections.scripts, {
    now,
    observe: metrics.observeScript,
    failed,
    replicas,
    durable,
    tracked,
    data,
    emitted: outboxNews && ((tag) => outboxNews.emitted(tag)),
    checksTags,
    timeAheadMs,
  });
  const tokens = new TokenSigner(options.sessionKeys);
  const serverKeys = new KeyRing({ scripts, subscriber, log, now });
  const storeParts = { scripts, metrics, address: ofServer.address, log, now, wallClock, monotonic };
  const sandbox = doors.sandbox && new doors.sandbox.Sandbox(scripts, ofServer.address, config.SANDBOX_CHAOS);
  const keySecret = new KeySecret(source, log, { guard: data, upgrades });
  const catalogue = new Catalogue(config.CATALOGUE_FILE, log, config.COIN_AUTHORITY);
  catalogue.warnOfPrizes();
  scripts.accountCreated = () => metrics.accountCreated('install');
  const activity = new Activity({ scripts, log, now, refusals: () => metrics.refusals, mayWrite });
  scripts.accountActed = (standingKey) => activity.acted(standingKey);
  const rows = providersOf(config);
  const counts = new UserEventCounts(metrics);
  const providers = new Providers({ ...storeParts, rows, made: sandbox?.providers, allowsLoopbackHttp: !config.production, counts });
  const providerName = (key: string): string => nameOfProvider(key, config);
  const moves = new MoveJournal({ scripts, catalogue, config, holdings: held, keySecret, providerName, log, now });
  // Tests give a request more time, because a busy machine needs it.
  scripts.helpMove = (accountId) => moves.help(accountId, options.redisDeadlineMs);
  const coinTotals = new CoinTotals(metrics);
  const signIns = config.CONSOLE_SIGN_IN;
  const consoleSignIn =
    signIns.length === 0
      ? undefined
      : new ConsoleSignIn({
          rows: signIns,
          signer: tokens,
          sealed: new SealedTexts(options.sessionKeys, 'coinop:console'),
          allowsLoopbackHttp: !config.production,
          ...{ scripts, log, now, wallClock, monotonic },
        });
  const seatBudgets = new SeatBudgets(monotonic);
  const liveCounts = new LiveCounts();
  liveCounts.addTo(metrics);
  const watchingCallers = new WatchingCallers();
  watchingCallers.addTo(metrics);
  const listWriter = new ListWriter({ scripts, log, now, metrics });
  const roomIndex = new RoomIndex({ scripts, config, log, now });
  const presence = new Presence({ subscriber, scripts, config, listWriter, log, now, isDraining, mayWrite });
  const bookings = new Bookings({ scripts, keySecret, coinTotals, config });
  const stores = options.store === undefined ? openStores(config, storeParts, sandbox) : new Stores([options.store(storeParts)]);
  const purchaseCounts = new PurchaseCounts(metrics);
  const testCoins = new TestCoins({ scripts, config, metrics, now });
  const purchases = new CoinPurchases({ scripts, bookings, catalogue, stores, testCoins, counts: purchaseCounts, log, now });
  const keptNotices = new KeptNotices({ scripts, purchases, counts: purchaseCounts, log, now });
  const topics = new WatchedTopics({
    publish,
    bytesPerSecond: config.ROOM_BYTES_PER_SECOND,
    subscriber,
    trackedKeys,
    counts: liveCounts,
    log,
    now,
  });
  return {
    config,
    scripts,
    topics,
    arrivals: new Arrivals(config.CHANNELS_PER_SECOND),
    feeds: {
      room: roomFeed(scripts),
      pair: pairFeed(scripts, now),
      lobby: lobbyFeed({ scripts, listWriter, now }),
      board: boardFeed({ scripts, catalogue }),
      account: accountFeed({ scripts, callers: watchingCallers, config, log, now }),
    },
    watchingCallers,
    presence,
    roomActs: new RoomActs({ scripts, config, now, budgets: seatBudgets, listWriter, roomIndex, presence }),
    listWriter,
    roomIndex,
    firstPages: new FirstPages({ scripts, now }),
    matches: new Matches({ scripts, config, now, listWriter, roomIndex, log, metrics }),
    seatBudgets,
    actCounts: new ActCounts(metrics),
    sessions: new Sessions(tokens, { now }),
    tokens,
    proofs: new Proofs(new ProofKeys(options.sessionKeys)),
    catalogue,
    names: new PlayerNames(config, { scripts, subscriber, log }),
    boards: new BoardCache(subscriber, options.isAlone ?? false),
    seasons: new Seasons({ scripts, bookings, log, now }),
    keySecret,
    serverKeys,
    consoleSessions: new ConsoleSessions({ signer: tokens, keys: serverKeys, scripts, now, vouching: consoleSignIn }),
    consoleSignIn,
    moves,
    deletions: new DeletionJournal({ scripts, catalogue, config, holdings: held, metrics, log, now }),
    bans: new BanJournal({ scripts, catalogue, config, holdings: held, log, now }),
    grantPace: new GrantPace(),
    metrics,
    activity,
    coinTotals,
    bookings,
    outboxNews,
    events: config.EVENTS === 'on' ? new EventLog({ scripts, subscriber }) : undefined,
    hooks: new Hooks({ scripts, config, now }),
    webhookCounts: new WebhookCounts(metrics),
    providers,
    providerNames: new ProviderNames({ rows, scripts, log }),
    appleRevocation: new AppleRevocation({
      settings: sandbox?.revocation ?? revocationSettings(config),
      wallClock: sandbox === undefined ? wallClock : now,
      log,
    }),
    stores,
    purchases,
    purchaseCounts,
    keptNotices,
    sandbox,
    playground: doors.playground,
    pageModules: [
      ...(consoleOf(config) === 'open' ? consoleModules : []),
      ...(doors.playground === undefined ? [] : [doors.playground.modules]),
    ],
    docs: docsOf({
      features,
      channels,
      operator: config.ADMIN_API === 'on' ? operatorApi : undefined,
      sandbox: doors.sandbox?.endpoints,
      playground: doors.playground,
      hasMetricsPort: config.METRICS_PORT !== undefined,
    }),
    log,
    now,
    wallClock,
    monotonic,
    readiness: readinessOf({ connections, data, keySecret, privateRedis: options.privateRedis, isDraining }),
    metricsText: oneAtATime(
      keptFor(METRICS_KEPT_MS, monotonic, async () => (await options.metricsText?.()) ?? (await metrics.registry.metrics())),
    ),
  };
}
