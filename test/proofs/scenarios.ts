import { acting, type Plan } from './acting-rooms.ts';
import { times } from './client.ts';
import { AHEAD, HASTY, HASTY_HOOKS, type Change } from './copies.ts';
import { credits } from './credits.ts';
import { Events } from './events.ts';
import { cutSubscribers, dying, inTurn, kill, killProcess, killRedis, partition, reshard, standStill } from './faults.ts';
import { Ghosts } from './ghosts.ts';
import { Moves } from './moves.ts';
import {
  AFTER_THE_SCRIPT,
  BLIND_SAVES,
  CURSOR_BY_TIME,
  FORGOTTEN_HOLDING,
  GRANT_BEFORE_CLAIM,
  ID_IS_PROOF,
  PERCENTAGE_CUT,
  REFUND_BY_ADD,
  REFUND_OF_CLIENT,
  STATE_OF_CLIENT,
  UNCHECKED_FIRST_USE,
  UNGUARDED,
} from './mutants.ts';
import type { PlaceOptions } from './place.ts';
import type { Part } from './proof.ts';
import { Purchases, SHOP } from './purchases.ts';
import { PlayedSaves } from './saves.ts';
import { partOf, Together, type Fault, type Scenario } from './scenario.ts';
import { CUPS, Season } from './seasons.ts';
import { outages, Reconnections } from './reconnections.ts';
import { storesOf } from './shops.ts';
import { SignIns } from './sign-ins.ts';
import { SignOuts } from './sign-outs.ts';
import { Subscriptions } from './subscriptions.ts';
import { WatchedRooms } from './watched-rooms.ts';

/**
 * The rows of `prove:cluster`, `prove:realtime`, `prove:seasons`, `prove:purchases`, `prove:events`, `prove:saves` and `prove:sign-ins`: which
 * load meets which fault, where, and what its books may differ in. Nothing that is not named in `allows` may.
 */

type Rows = Readonly<Record<string, Omit<Scenario, 'proof' | 'name'>>>;

const WAIT = { REDIS_WAIT_REPLICAS: '1' };
const REPLICATED = { on: { replicas: 1 } } as const;
const WAITING = { on: { replicas: 2 }, settings: WAIT } as const;
const SECURE = { on: { replicas: 1, tls: true, password: 'secret' } };

/** Asynchronous replication loses what it has not sent. */
const MAY_LOSE = { allows: { lost: 'any' } } as const;
const LOSES = { allows: { lost: 'some' } } as const;

/** Credits on a Cluster, which tell how long the accounts that the fault hits are without a service. */
const coins = (about: string, place: PlaceOptions, fault: Fault, more: Partial<Scenario> = {}): Rows[string] => ({
  ...{ takes: 45, seconds: 16, load: credits({ downSeconds: 8 }), about, place, fault },
  ...more,
});

/** At 1,500 credits a second each account ends with a thousand entries, in an index of 30 keys. A key is split every 0.6 s. */
const MANY_KEYS = { accounts: 30, haveRecords: true };
const BY_KEY = reshard({ pipeline: 1 });

const cluster: Rows = {
  'single-kill': coins('kill -9 of the one Redis, appendfsync always; the service starts it again', {}, killRedis, {
    seconds: 12,
    load: credits({ downSeconds: 5 }),
  }),
  kill: coins('kill -9 of a primary, asynchronous replication', REPLICATED, kill, MAY_LOSE),
  'kill-lag': coins(
    'kill -9 of a primary whose replica lags by 20 ms, asynchronous replication',
    { ...REPLICATED, lagMs: 20 },
    kill,
    LOSES,
  ),
  'kill-lag-wait': coins('the same with two replicas and REDIS_WAIT_REPLICAS=1', { ...WAITING, lagMs: 20 }, kill),
  'kill-wait': coins('kill -9 of the busiest primary, two replicas each and REDIS_WAIT_REPLICAS=1', WAITING, kill),
  'kill-tls': coins('kill -9 of a primary, all connections over TLS, with a password', SECURE, kill, MAY_LOSE),
  pause: coins('a primary stands still for 6 s (SIGSTOP), and finds itself a replica', REPLICATED, standStill(6000), MAY_LOSE),
  partition: coins('a primary cut off from all nodes for 8 s, but not from the service', REPLICATED, partition(8000), {
    ...LOSES,
    seconds: 20,
  }),
  'partition-wait': coins('the same with two replicas and REDIS_WAIT_REPLICAS=1', WAITING, partition(8000), { seconds: 20 }),
  reshard: coins('slots of accounts move from primary to primary, the classic way, under load', { on: {} }, reshard(), {
    seconds: 20,
    load: credits({ longestMs: 1000 }),
  }),
  'reshard-keys': coins('slots of accounts with many keys move from primary to primary, key by key, under load', { on: {} }, BY_KEY, {
    seconds: 20,
    load: credits(MANY_KEYS),
  }),
  'reshard-unguarded': coins('the same without the guard of moving slots: the checks have to fail', { on: {} }, BY_KEY, {
    seconds: 20,
    load: credits({ ...MANY_KEYS, lastWaitMs: 5000 }),
    mutant: UNGUARDED,
  }),
  moves: {
    about: 'guests move into store accounts; service processes die all the time, and a primary with REDIS_WAIT_REPLICAS=1 once',
    ...{ takes: 75, seconds: 20, place: { ...WAITING, processes: 3 }, load: Moves.open, fault: dying({ betweenMs: 700 }) },
  },
  'sign-out': {
    about: 'sessions sign out while they call without pause; room, board and pairing lie on other primaries than the account',
    ...{ takes: 25, least: 15, place: { on: {}, processes: 2 }, load: (...at) => new SignOuts(...at) },
  },
  subscriptions: {
    about: 'watchers of rooms on two processes; slots of the rooms move, and a primary dies whose replica lags by 20 ms',
    ...{ takes: 60, seconds: 24, place: { ...REPLICATED, lagMs: 20, processes: 2 } },
    load: (_, place) =>
      WatchedRooms.open({
        urls: () => place.running.map(({ url }) => url),
        ...{ rooms: 200, watchersPerRoom: 2, perSecond: 500 },
        // A channel whose room went back to an earlier state is closed with this code.
        codes: [4009],
      }),
    fault: inTurn(reshard({ seconds: 7 }), kill),
    allows: { 'answers of 500 and above': 'any' },
  },
};

const SHARED = { on: 'shared', processes: 2 } as const;

const usual: Plan = { data: 6, messages: 3, secrets: 4, everyMs: 700, textBytes: 40 };
const directed: Plan = { ...usual, directed: true };
/** Large pushes fill the buffers of a link that nobody reads: the kernel's buffers take some megabytes. */
const heavy: Plan = { data: 5, messages: 2, secrets: 1, everyMs: 300, textBytes: 950, stateBytes: 8000, isSlow: true };
const onlySecrets: Plan = { data: 0, messages: 0, secrets: 18, everyMs: 650, textBytes: 0 };
const rooms = (count: number, ...plans: Plan[]): Plan[] => times(count, () => plans).flat();

const storm = (about: string, count: number): Pick<Rows[string], 'about' | 'load'> => ({
  about,
  load: (_, { running }) =>
    WatchedRooms.open({ urls: () => running.map(({ url }) => url), rooms: count, watchersPerRoom: 10, reconnects: 0.15 }),
});

const RECONNECTING = { settings: { RATE_LIMIT: 'off' } } as const;

const realtime: Rows = {
  storm: {
    ...storm(
      'random acts and reconnections on two processes, whose subscriptions are cut for 5 s: all watchers end with what Redis has',
      50,
    ),
    ...{ takes: 45, seconds: 16, place: SHARED, fault: cutSubscribers(5) },
  },
  'storm-workers': {
    ...storm('the same on two workers of one process, without cuts', 10),
    ...{ takes: 20, seconds: 5, place: { settings: { WORKERS: '2' } } },
  },
  acts: {
    about: 'bursts of acts over channels that break, and links that nobody reads for 20 s',
    ...{ takes: 45, seconds: 20, place: SHARED },
    load: acting({ plans: [...rooms(4, usual, directed), heavy, heavy], cutEveryMs: 500 }),
  },
  'acts-killed': {
    about: 'a process dies among its players, who go to the other one',
    ...{ takes: 30, seconds: 12, place: SHARED, load: acting({ plans: rooms(8, usual) }), fault: killProcess },
  },
  'acts-failover': {
    about: 'a primary dies whose replicas lag by 20 ms, with REDIS_WAIT_REPLICAS=1',
    // When one replica takes over, the other one acknowledges writes.
    ...{ takes: 50, seconds: 16, place: { ...WAITING, lagMs: 20, processes: 2 }, load: acting({ plans: rooms(12, usual) }), fault: kill },
  },
  ghosts: {
    about: '100 players in quick matches, of whom 30 close or lose their network at random times: nobody waits with a player who is gone',
    ...{ takes: 60, least: 50, seconds: 40, place: { ...SHARED, settings: { RATE_LIMIT: 'off' } }, load: (...at) => new Ghosts(...at) },
  },
  reconnections: {
    about: '1,000 players on one process, which is away for 1, 3, 15 and 60 s: each is back within 2 s after 3 s, and within 5 s after any',
    ...{ takes: 150, least: 150, seconds: 4, place: RECONNECTING, load: (stand, place) => Reconnections.open(stand, place, 1000) },
    fault: outages(1, 3, 15, 60),
  },
  'reconnections-crowd': {
    about: '5,000 players from a hundred addresses on one process, which is away for 3 s: they come back at its rate, and it stays quick',
    ...{ takes: 60, least: 60, seconds: 4, place: RECONNECTING, load: (stand, place) => Reconnections.open(stand, place, 5000) },
    fault: outages(3),
  },
  private: {
    about: '20,000 private parts, over two processes whose links break now and then (--size 50 for a million)',
    ...{ takes: 40, place: SHARED, load: acting({ plans: rooms(30, onlySecrets), cutEveryMs: 500, secrets: 20_000 }) },
  },
};

const season = (players: number) =>
  ({
    takes: 160,
    least: 75,
    copy: AHEAD,
    catalogue: CUPS,
    load: (stand, place) => Season.open(stand, place, players),
  }) satisfies Partial<Scenario>;

const seasons: Rows = {
  'season-kill': {
    about: 'a season ends while two workers and their Redis die again and again',
    ...{ ...season(100_000), place: { settings: { WORKERS: '2' } }, fault: dying({ betweenMs: 700 }) },
  },
  'season-failover': {
    about: 'the same on a Cluster whose primary of the board dies, with REDIS_WAIT_REPLICAS=1',
    ...{ ...season(20_000), place: { ...WAITING, processes: 3 }, fault: dying({ betweenMs: 700 }) },
  },
};

/**
 * A killed process may leave a check of a purchase under its lease of 30 s, and the process that takes it over may be killed too: another
 * 30 s. The rest is for a poll and the store's failures.
 */
const AGREED_WITHIN_MS = 90_000;
/** Without kills, ledgers and books of a service without a mistake agree sooner than this. */
const MISTAKE_SHOWS_MS = 30_000;

const CHAOS = { SANDBOX_CHAOS: '32' };
/** @param only the store that has the mistake. Default: `--store` */
const sale = (purchases: number, agreedWithinMs: number, only?: keyof typeof storesOf) =>
  ({
    ...{ copy: HASTY, catalogue: SHOP },
    load(stand, place) {
      const stores = storesOf[only ?? stand.flags.store];
      const bought = new Purchases(stand, place, { purchases, stores, agreedWithinMs });
      return only === undefined
        ? new Together(bought, new Subscriptions(stand, place, { subscriptions: purchases / 4, stores, agreedWithinMs }))
        : bought;
    },
  }) satisfies Partial<Scenario>;
const sold = {
  ...{ ...sale(10_000, AGREED_WITHIN_MS), takes: 360, least: 150 },
  fault: dying({ betweenMs: 3000, leastWork: 500 }),
};
const wrongSale = (only: keyof typeof storesOf, about: string, mutant: readonly Change[]): Rows[string] => ({
  ...{ ...sale(1000, MISTAKE_SHOWS_MS, only), takes: 75, place: { settings: { ...CHAOS, WORKERS: '2' } }, about, mutant },
});

const purchases: Rows = {
  'purchase-kill': {
    about:
      'coins and subscriptions are bought and refunded at two stores in chaos, while the service, its workers and their Redis die again and again',
    ...{ ...sold, place: { settings: { ...CHAOS, WORKERS: '2' } } },
  },
  'purchase-failover': {
    about: 'the same with three processes on a Cluster of which a primary dies, with REDIS_WAIT_REPLICAS=1',
    ...{ ...sold, place: { on: { replicas: 2 }, processes: 3, settings: { ...CHAOS, ...WAIT } } },
  },
  'purchase-client-state': wrongSale(
    'google',
    'a mutant that believes the state that the client sends: the checks find coins that nobody paid for',
    STATE_OF_CLIENT,
  ),
  'purchase-refund-add': wrongSale(
    'google',
    'a mutant that takes refunded units again at each check: the checks find coins that are missing',
    REFUND_BY_ADD,
  ),
  'purchase-grant-first': wrongSale(
    'google',
    'a mutant that grants before it records the owner: the checks find coins of a thief',
    GRANT_BEFORE_CLAIM,
  ),
  'purchase-client-refund': wrongSale(
    'apple',
    'a mutant that believes the refund that the client sends: the checks find coins that were refunded',
    REFUND_OF_CLIENT,
  ),
  'purchase-bare-id': wrongSale(
    'apple',
    'a mutant that takes the id of a transaction for a proof: the checks find coins of a thief',
    ID_IS_PROOF,
  ),
  'purchase-percentage': wrongSale(
    'apple',
    'a mutant that cuts the percentage of a refund: the checks find coins that were refunded',
    PERCENTAGE_CUT,
  ),
};

const EVENTS = { EVENTS: 'on', WEBHOOKS_PRIVATE: 'on', LEDGER_ENTRIES_PER_DAY: '0' };
const KILLS = { betweenMs: 1500, leastWork: 200 };
/** @param hasHooks the mutants concern the log only */
const telling = (hasHooks: boolean) =>
  ({
    ...{ copy: HASTY_HOOKS, place: { settings: { ...EVENTS, WORKERS: '2' } } },
    load: (stand, place) => Events.open(stand, place, hasHooks),
  }) satisfies Partial<Scenario>;
const tellingOnCluster = { ...telling(true), place: { on: { replicas: 2 }, processes: 3, settings: { ...EVENTS, ...WAIT } } };

const events: Rows = {
  'event-kill': {
    about: 'coins change while the service, its workers and their Redis die again and again; a reader goes on by cursor',
    ...{ ...telling(true), takes: 1200, least: 200, seconds: 60, fault: dying({ ...KILLS, least: 100 }) },
  },
  'event-failover': {
    about: 'the same with three processes on a Cluster of which a primary dies, with REDIS_WAIT_REPLICAS=1',
    ...{ ...tellingOnCluster, takes: 400, least: 150, seconds: 40, fault: dying({ ...KILLS, least: 10 }) },
  },
  'event-reshard': {
    about: 'coins change while the slots of the log, the webhooks and accounts move from primary to primary of a Cluster',
    ...{ ...tellingOnCluster, takes: 300, least: 150, seconds: 40, fault: reshard() },
  },
  'event-late': {
    about: 'a mutant that writes events after the script: the checks find lost events',
    ...{ ...telling(false), takes: 120, least: 100, seconds: 20, mutant: AFTER_THE_SCRIPT, fault: dying(KILLS) },
  },
  'event-by-time': {
    about: 'a mutant whose cursor is a time: the checks find events that were missed',
    ...{ ...telling(false), takes: 100, least: 80, seconds: 12, mutant: CURSOR_BY_TIME },
  },
};

const UNBOUND = { SAVE_BYTES_PER_DAY: '0' };
const played = { takes: 60, seconds: 20, load: (...at) => new PlayedSaves(...at) } satisfies Partial<Scenario>;

const saves: Rows = {
  'save-kill': {
    about: 'players on two devices go offline in turns and crash, while the service, its workers and their Redis die again and again',
    ...{ ...played, place: { settings: { ...UNBOUND, WORKERS: '2' } }, fault: dying({ betweenMs: 1500 }) },
  },
  'save-failover': {
    about: 'the same with three processes on a Cluster of which a primary dies, with REDIS_WAIT_REPLICAS=1',
    ...{ ...played, place: { ...WAITING, processes: 3, settings: { ...UNBOUND, ...WAIT } }, fault: dying({ betweenMs: 1500 }) },
  },
  'save-blind': {
    about: 'a mutant that writes a save whatever stands: the checks find lost marks',
    ...{ ...played, takes: 120, place: { settings: UNBOUND }, mutant: BLIND_SAVES },
  },
};

/** Number of acts at full size. */
const ACTS = 20_000;
const UNCOUNTED = { ...UNBOUND, LEDGER_ENTRIES_PER_DAY: '0', BOARDS: 'open' };
const signedIn = (count: number) => ({ catalogue: SHOP, load: (...at) => new SignIns(...at, count) }) satisfies Partial<Scenario>;
const wrongMerge = (about: string, mutant: readonly Change[]): Rows[string] => ({
  ...{ ...signedIn(3000), takes: 90, place: { settings: { ...UNCOUNTED, WORKERS: '2' } }, about, mutant },
});
const people = { ...signedIn(ACTS), takes: 600, least: 80, fault: dying({ betweenMs: 2500, leastWork: 100 }) };

const signIns: Rows = {
  'sign-in-kill': {
    about: 'people sign in, link, merge, remove and delete, while the service, its workers and their Redis die again and again',
    ...{ ...people, place: { settings: { ...UNCOUNTED, WORKERS: '2' } } },
  },
  'sign-in-failover': {
    about: 'the same with three processes on a Cluster of which a primary dies, with REDIS_WAIT_REPLICAS=1',
    ...{ ...people, place: { on: { replicas: 2 }, processes: 3, settings: { ...UNCOUNTED, ...WAIT } } },
  },
  'sign-in-unchecked': wrongMerge(
    'a mutant that adds a sign-in without a check of its first use: the checks find two accounts',
    UNCHECKED_FIRST_USE,
  ),
  'sign-in-forgotten': wrongMerge('a mutant whose moves forget the saves: the checks find saves that are missing', FORGOTTEN_HOLDING),
};

const proofs = { cluster, realtime, seasons, purchases, events, saves, 'sign-ins': signIns };

export const parts: readonly Part[] = Object.entries(proofs).flatMap(([proof, rows]) =>
  Object.entries(rows).map(([name, row]) => partOf({ proof, name, ...row })),
);
