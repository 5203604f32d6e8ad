import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { WatchingCallers } from './features/account-watch/callers.ts';
import type { BanJournal } from './features/bans/ban-journal.ts';
import type { DeletionJournal } from './features/deletion/deletion-journal.ts';
import type { Catalogue } from './features/catalogue/file.ts';
import type { Bookings } from './features/coins/bookings.ts';
import type { Activity } from './features/numbers/activity.ts';
import type { CoinTotals } from './features/coins/coin-totals.ts';
import type { KeySecret } from './features/coins/key-secret.ts';
import type { Proofs } from './features/entitlement/proof.ts';
import type { EventLog } from './features/events/event-log.ts';
import type { OutboxNews } from './features/events/outbox-news.ts';
import type { BoardCache } from './features/highscores/board-cache.ts';
import type { KeptNotices } from './features/purchases/coins/kept-notices.ts';
import type { PurchaseCounts } from './features/purchases/coins/purchase-counts.ts';
import type { CoinPurchases } from './features/purchases/coins/coin-purchases.ts';
import type { PlayerNames } from './features/names/player-names.ts';
import type { Seasons } from './features/highscores/seasons.ts';
import type { ActCounts } from './features/rooms/act-counts.ts';
import type { Matches } from './features/rooms/match/matches.ts';
import type { Presence } from './features/rooms/presence.ts';
import type { FirstPages } from './features/rooms/list/first-pages.ts';
import type { ListWriter } from './features/rooms/list/list-writer.ts';
import type { RoomActs } from './features/rooms/room-acts.ts';
import type { RoomIndex } from './features/rooms/room-index.ts';
import type { SeatBudgets } from './features/rooms/seat-budgets.ts';
import type { Hooks } from './features/webhooks/hooks.ts';
import type { WebhookCounts } from './features/webhooks/webhook-counts.ts';
import type { Sandbox } from './apart/sandbox/sandbox.ts';
import type { ProviderNames } from './features/sign-in/provider-names.ts';
import type { MoveJournal } from './features/guest-moves/move-journal.ts';
import type { AppleRevocation } from './stores/openid/apple-revocation.ts';
import type { Providers } from './stores/openid/providers.ts';
import type { Stores } from './stores/stores.ts';
import type { BrowserModules } from './web/browser-modules.ts';
import type { StyleSheet } from './web/style/style-sheet.ts';
import type { Docs } from './web/documents/served-documents.ts';
import type { RedisHealth } from './redis/connect.ts';
import type { CallerScripts } from './accounts/caller-scripts.ts';
import type { Feed } from './server/live/feed-types.ts';
import type { Arrivals } from './server/live/arrivals.ts';
import type { WatchedTopics } from './server/live/watched-topics.ts';
import type { GrantPace } from './operator/grant-pace.ts';
import type { Metrics } from './server/metrics.ts';
import type { ConsoleSignIn } from './operator/sign-in/console-sign-in.ts';
import type { ConsoleSessions } from './server/identity/console-sessions.ts';
import type { KeyRing } from './server/identity/key-ring.ts';
import type { Sessions } from './server/identity/sessions.ts';
import type { TokenSigner } from './server/identity/signed-token.ts';

export { endpoint } from './server/http/endpoint.ts';
export { channel } from './server/live/channel.ts';

/**
 * The services of a serving process that handlers may take. The type of a handler's second parameter names the services that the handler
 * takes. If a handler takes anything else, `api.ts` does not compile. No service is global, so a test can run the services of several
 * processes.
 */
export interface Services {
  readonly config: Config;
  readonly scripts: CallerScripts;
  readonly sessions: Sessions;
  readonly tokens: TokenSigner;
  readonly proofs: Proofs;
  readonly catalogue: Catalogue;
  readonly boards: BoardCache;
  readonly names: PlayerNames;
  readonly seasons: Seasons;
  readonly keySecret: KeySecret;
  readonly serverKeys: KeyRing;
  readonly consoleSessions: ConsoleSessions;
  /** Undefined without CONSOLE_SIGN_IN. Operators then type server keys into the console. */
  readonly consoleSignIn: ConsoleSignIn | undefined;
  readonly moves: MoveJournal;
  readonly deletions: DeletionJournal;
  readonly bans: BanJournal;
  readonly grantPace: GrantPace;
  readonly topics: WatchedTopics;
  readonly arrivals: Arrivals;
  readonly feeds: { readonly room: Feed; readonly pair: Feed; readonly lobby: Feed; readonly board: Feed; readonly account: Feed };
  readonly watchingCallers: WatchingCallers;
  readonly presence: Presence;
  readonly roomActs: RoomActs;
  readonly listWriter: ListWriter;
  readonly roomIndex: RoomIndex;
  readonly firstPages: FirstPages;
  readonly matches: Matches;
  readonly seatBudgets: SeatBudgets;
  readonly actCounts: ActCounts;
  readonly metrics: Metrics;
  readonly activity: Activity;
  readonly coinTotals: CoinTotals;
  /** Writes the ledger entries of the service itself: for bought coins and for prizes. */
  readonly bookings: Bookings;
  /** Tells the relay of events which outboxes have new events. Undefined with EVENTS=off, like `events`. */
  readonly outboxNews: OutboxNews | undefined;
  readonly events: EventLog | undefined;
  readonly hooks: Hooks;
  readonly webhookCounts: WebhookCounts;
  /** The issuers of ID tokens with which players sign in. */
  readonly providers: Providers;
  readonly providerNames: ProviderNames;
  readonly appleRevocation: AppleRevocation;
  /** The app stores of the setting STORE. */
  readonly stores: Stores;
  /** The journal of purchases of coins. */
  readonly purchases: CoinPurchases;
  readonly purchaseCounts: PurchaseCounts;
  readonly keptNotices: KeptNotices;
  /** The sandbox store. Undefined unless STORE=sandbox. */
  readonly sandbox: Sandbox | undefined;
  /** The playground's part of the pages. Undefined unless PLAYGROUND=on. */
  readonly playground: { readonly style: StyleSheet } | undefined;
  /** Browser modules besides those of `web/browser/`: the modules of the console and of the playground. */
  readonly pageModules: readonly BrowserModules[];
  readonly docs: () => Docs;
  readonly log: Logger;
  /** The time by Redis's clock, in milliseconds since 1970. It is used for all times that Redis keeps, and for due work. */
  readonly now: () => number;
  /**
   * The time by this machine's clock, in milliseconds since 1970. It is used for times that other machines compare with their own clocks.
   */
  readonly wallClock: () => number;
  /** A monotonic clock for intervals, in milliseconds. */
  readonly monotonic: () => number;
  /** Whether this process should get traffic, and the reason if it should not. */
  readonly readiness: () => Promise<RedisHealth>;
  /** The metrics of all workers together, in the Prometheus text format. */
  readonly metricsText: () => Promise<string>;
}

/** The services that run scripts, and that give scripts the time by Redis's clock. */
export type ScriptServices = Pick<Services, 'scripts' | 'now'>;
