import { pino } from 'pino';
import type { CallerScripts } from '../../src/accounts/caller-scripts.ts';
import { readConfig } from '../../src/config.ts';
import type { Services } from '../../src/declare.ts';
import { WatchingCallers } from '../../src/features/account-watch/callers.ts';
import { accountFeed } from '../../src/features/account-watch/feed.ts';
import { Catalogue, type GameSeasons } from '../../src/features/catalogue/file.ts';
import { Bookings } from '../../src/features/coins/bookings.ts';
import { CoinTotals } from '../../src/features/coins/coin-totals.ts';
import type { KeySecret } from '../../src/features/coins/key-secret.ts';
import { ProofKeys } from '../../src/features/entitlement/proof-keys.ts';
import { Proofs } from '../../src/features/entitlement/proof.ts';
import { BoardCache, type BoardCall } from '../../src/features/highscores/board-cache.ts';
import { boardFeed } from '../../src/features/highscores/board-feed.ts';
import { Seasons } from '../../src/features/highscores/seasons.ts';
import { PlayerNames } from '../../src/features/names/player-names.ts';
import { pairFeed } from '../../src/features/pairing/feed.ts';
import { ActCounts } from '../../src/features/rooms/act-counts.ts';
import { roomFeed } from '../../src/features/rooms/feed.ts';
import { lobbyFeed } from '../../src/features/rooms/list/lobby-feed.ts';
import { ListWriter } from '../../src/features/rooms/list/list-writer.ts';
import { RoomActs } from '../../src/features/rooms/room-acts.ts';
import { RoomIndex } from '../../src/features/rooms/room-index.ts';
import { SeatBudgets } from '../../src/features/rooms/seat-budgets.ts';
import type { Subscriptions } from '../../src/redis/subscriber.ts';
import { Sessions } from '../../src/server/identity/sessions.ts';
import { TokenSigner } from '../../src/server/identity/signed-token.ts';
import { Arrivals } from '../../src/server/live/arrivals.ts';
import { WatchedTopics } from '../../src/server/live/watched-topics.ts';
import { LiveCounts } from '../../src/server/live/live-counts.ts';
import { Metrics } from '../../src/server/metrics.ts';

/**
 * The services that the bench gives the handlers that it calls without a server: those of the service, except that they write nothing
 * beside the handler's own scripts. A handler that takes another service does not compile as an argument of `DirectCaller`.
 */
export type DirectServices = Pick<
  Services,
  | 'config'
  | 'scripts'
  | 'now'
  | 'wallClock'
  | 'log'
  | 'roomActs'
  | 'listWriter'
  | 'roomIndex'
  | 'actCounts'
  | 'keySecret'
  | 'metrics'
  | 'names'
  | 'topics'
  | 'arrivals'
  | 'feeds'
  | 'proofs'
  | 'boards'
  | 'catalogue'
  | 'seasons'
  | 'sessions'
  | 'tokens'
>;

/** The game that has seasons. */
export const SEASONAL_GAME = 'bench-season';

const config = readConfig({});
const sessionKeys = [{ kid: 'bench', secret: Buffer.alloc(32) }];
const now = Date.now;
const log = pino({ level: 'silent' });

/** No message ever arrives, and no subscription is ever confirmed. */
export const silence: Subscriptions = {
  on() {},
  hears: () => false,
  subscribe: () => new Promise(() => {}),
  unsubscribe: async () => {},
  ping: async () => {},
  disconnect() {},
};

export function directServices(scripts: CallerScripts, keySecret: KeySecret): DirectServices {
  const metrics = new Metrics();
  const listWriter = new SilentListWriter({ scripts, log, now, metrics });
  const names = new PlayerNames(config, { scripts, subscriber: silence, log });
  const topics = new WatchedTopics({ publish() {}, bytesPerSecond: 0, subscriber: silence, counts: new LiveCounts(), log, now });
  // Each of them works by a timer too.
  topics.close();
  void listWriter.close();
  names.close();
  const tokens = new UnsignedTokens(sessionKeys);
  const catalogue = new OpenCatalogue(undefined, log);
  const bookings = new Bookings({ scripts, keySecret, coinTotals: new CoinTotals(metrics), config });
  return {
    config,
    scripts,
    now,
    wallClock: now,
    log,
    roomActs: roomActsOf(scripts, listWriter),
    listWriter,
    roomIndex: closedRoomIndex(scripts),
    actCounts: new ActCounts(metrics),
    keySecret,
    metrics,
    names,
    topics,
    arrivals: new Arrivals(config.CHANNELS_PER_SECOND),
    feeds: {
      room: roomFeed(scripts),
      pair: pairFeed(scripts, now),
      lobby: lobbyFeed({ scripts, listWriter, now }),
      board: boardFeed({ scripts, catalogue }),
      account: accountFeed({ scripts, callers: new WatchingCallers(), config, log, now }),
    },
    proofs: new Proofs(new ProofKeys(sessionKeys)),
    // No other process submits to this Redis.
    boards: new UnsharedBoards(silence, true),
    catalogue,
    seasons: new UnpaidSeasons({ scripts, bookings, log, now }),
    sessions: new UnsignedSessions(tokens, { now }),
    tokens,
  };
}

/** Acts without a limit of messages. */
export function roomActsOf(scripts: CallerScripts, listWriter: ListWriter = closedListWriter(scripts)): RoomActs {
  const roomIndex = closedRoomIndex(scripts);
  const presence = { checkSoon: async () => {} };
  return new RoomActs({ scripts, config, now, budgets: new OpenBudgets(() => 0), listWriter, roomIndex, presence });
}

/** It takes new rooms, and checks none. */
function closedRoomIndex(scripts: CallerScripts): RoomIndex {
  const roomIndex = new RoomIndex({ scripts, config, log, now });
  void roomIndex.close();
  return roomIndex;
}

function closedListWriter(scripts: CallerScripts): ListWriter {
  const listWriter = new SilentListWriter({ scripts, log, now, metrics: new Metrics() });
  void listWriter.close();
  return listWriter;
}

class OpenBudgets extends SeatBudgets {
  override chargeMessage(): number {
    return 0;
  }
}

class SilentListWriter extends ListWriter {
  override changed(): void {}
  override touched(): void {}
}

/** Each reader runs the script, and each submission knows the board's last version. */
class UnsharedBoards extends BoardCache {
  readonly #versions = new Map<string, string>();

  override find(): undefined {}

  override async heard(): Promise<void> {}

  override call(game: string): BoardCall {
    return {
      known: this.#versions.get(game) ?? '',
      others: () => 0,
      listOf: ([, , version]) => {
        if (version !== undefined) this.#versions.set(game, version);
        return { text: '[]', season: '' };
      },
    };
  }
}

class OpenCatalogue extends Catalogue {
  override orderOf(): 'desc' {
    return 'desc';
  }

  override scoreAuthorityOf(): 'client' {
    return 'client';
  }

  override seasonsOf(game: string): GameSeasons | undefined {
    return game === SEASONAL_GAME ? { period: 'weekly', payAfterMs: 0, keep: 12, prizes: '' } : undefined;
  }
}

class UnpaidSeasons extends Seasons {
  override async queue(): Promise<void> {}
}

/** A signature costs the bench more than the call of the script. */
class UnsignedTokens extends TokenSigner {
  override sign(): string {
    return '';
  }
}

class UnsignedSessions extends Sessions {
  override markEnded(): void {}
}
