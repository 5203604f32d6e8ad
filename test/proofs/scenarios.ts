import { AHEAD, HASTY, HASTY_HOOKS } from './copies.ts';
import { credits } from './credits.ts';
import { Events } from './events.ts';
import { dying, inTurn, kill, killRedis, partition, reshard, standStill } from './faults.ts';
import { Moves } from './moves.ts';
import { AFTER_THE_SCRIPT, CURSOR_BY_TIME, GRANT_BEFORE_CLAIM, REFUND_BY_ADD, STATE_OF_CLIENT, UNGUARDED } from './mutants.ts';
import type { Part } from './proof.ts';
import { Purchases, SHOP } from './purchases.ts';
import { partOf, type Scenario } from './scenario.ts';
import { CUPS, Season } from './seasons.ts';
import { SignOuts } from './sign-outs.ts';
import { WatchedRooms } from './watched-rooms.ts';

/**
 * The rows of `prove:cluster`, `prove:seasons`, `prove:purchases` and `prove:events`: which load meets which fault, where, and what its books
 * may differ in. Nothing that is not named in `allows` may.
 */

const WAIT = { REDIS_WAIT_REPLICAS: '1' };
const WAITING = { on: { replicas: 2 }, settings: WAIT } as const;

/** At 1,500 credits a second each account ends with a thousand entries, in an index of 30 keys. A key is split every 0.6 s. */
const MANY_KEYS = { accounts: 30, haveRecords: true };

const row = (proof: string, takes: number, least?: number): Pick<Scenario, 'proof' | 'takes' | 'least'> => ({
  ...{ proof, takes },
  ...(least === undefined ? {} : { least }),
});

/** A row of credits on a Cluster, which tells how long the accounts that the fault hits are without a service. */
const coins = { ...row('cluster', 45), seconds: 16, load: credits({ downSeconds: 8 }) } as const;

const ofCoins: readonly Scenario[] = [
  {
    ...{ ...coins, seconds: 12, load: credits({ downSeconds: 5 }) },
    name: 'single-kill',
    about: 'kill -9 of the one Redis, appendfsync always; the service starts it again',
    place: {},
    fault: killRedis,
  },
  {
    ...coins,
    name: 'kill',
    about: 'kill -9 of a primary, asynchronous replication',
    place: { on: { replicas: 1 } },
    fault: kill,
    allows: { lost: 'any' },
  },
  {
    ...coins,
    name: 'kill-lag',
    about: 'kill -9 of a primary whose replica lags by 20 ms, asynchronous replication',
    place: { on: { replicas: 1 }, lagMs: 20 },
    fault: kill,
    allows: { lost: 'some' },
  },
  {
    ...coins,
    name: 'kill-lag-wait',
    about: 'the same with two replicas and REDIS_WAIT_REPLICAS=1',
    place: { ...WAITING, lagMs: 20 },
    fault: kill,
  },
  {
    ...coins,
    name: 'kill-wait',
    about: 'kill -9 of the busiest primary, two replicas each and REDIS_WAIT_REPLICAS=1',
    place: WAITING,
    fault: kill,
  },
  {
    ...coins,
    name: 'kill-tls',
    about: 'kill -9 of a primary, all connections over TLS, with a password',
    place: { on: { replicas: 1, tls: true, password: 'secret' } },
    fault: kill,
    allows: { lost: 'any' },
  },
  {
    ...coins,
    name: 'pause',
    about: 'a primary stands still for 6 s (SIGSTOP), and finds itself a replica',
    place: { on: { replicas: 1 } },
    fault: standStill(6000),
    allows: { lost: 'any' },
  },
  {
    ...{ ...coins, seconds: 20 },
    name: 'partition',
    about: 'a primary cut off from all nodes for 8 s, but not from the service',
    place: { on: { replicas: 1 } },
    fault: partition(8000),
    allows: { lost: 'some' },
  },
  {
    ...{ ...coins, seconds: 20 },
    name: 'partition-wait',
    about: 'the same with two replicas and REDIS_WAIT_REPLICAS=1',
    place: WAITING,
    fault: partition(8000),
  },
  {
    ...{ ...coins, seconds: 20, load: credits({ longestMs: 1000 }) },
    name: 'reshard',
    about: 'slots of accounts move from primary to primary, the classic way, under load',
    place: { on: {} },
    fault: reshard(),
  },
  {
    ...{ ...coins, seconds: 20, load: credits(MANY_KEYS) },
    name: 'reshard-keys',
    about: 'slots of accounts with many keys move from primary to primary, key by key, under load',
    place: { on: {} },
    fault: reshard({ pipeline: 1 }),
  },
  {
    ...{ ...coins, seconds: 20, load: credits({ ...MANY_KEYS, lastWaitMs: 5000 }) },
    name: 'reshard-unguarded',
    about: 'the same without the guard of moving slots: the checks have to fail',
    place: { on: {} },
    mutant: UNGUARDED,
    fault: reshard({ pipeline: 1 }),
  },
];

const others: readonly Scenario[] = [
  {
    ...row('cluster', 75),
    name: 'moves',
    about: 'guests move into store accounts; service processes die all the time, and a primary with REDIS_WAIT_REPLICAS=1 once',
    seconds: 20,
    place: { ...WAITING, processes: 3 },
    load: (stand, place) => Moves.open(stand, place),
    fault: dying({ betweenMs: 700 }),
  },
  {
    ...row('cluster', 25, 15),
    name: 'sign-out',
    about: 'sessions sign out while they call without pause; room, board and pairing lie on other primaries than the account',
    place: { on: {}, processes: 2 },
    load: (stand, place) => new SignOuts(stand, place),
  },
  {
    ...row('cluster', 60),
    name: 'subscriptions',
    about: 'watchers of rooms on two processes; slots of the rooms move, and a primary dies whose replica lags by 20 ms',
    seconds: 24,
    place: { on: { replicas: 1 }, lagMs: 20, processes: 2 },
    load: ({ figures }, place) =>
      WatchedRooms.open({
        urls: () => place.running.map(({ url }) => url),
        ...{ rooms: 200, watchersPerRoom: 2, perSecond: 500 },
        // A channel whose room went back to an earlier state is closed with this code.
        codes: [4009],
        report: (what, figure) => figures.report(what, figure),
      }),
    fault: inTurn(reshard({ seconds: 7 }), kill),
    allows: { 'answers of 500 and above': 'any' },
  },
];

const season = { ...row('seasons', 160, 75), copy: AHEAD, catalogue: CUPS } as const;

const ofSeasons: readonly Scenario[] = [
  {
    ...season,
    name: 'season-kill',
    about: 'a season ends while two workers and their Redis die again and again',
    place: { settings: { WORKERS: '2' } },
    load: (stand, place) => Season.open(stand, place, 100_000),
    fault: dying({ betweenMs: 700 }),
  },
  {
    ...season,
    name: 'season-failover',
    about: 'the same on a Cluster whose primary of the board dies, with REDIS_WAIT_REPLICAS=1',
    place: { ...WAITING, processes: 3 },
    load: (stand, place) => Season.open(stand, place, 20_000),
    fault: dying({ betweenMs: 700 }),
  },
  {
    ...season,
    name: 'season-quiet',
    about: 'a season ends with nothing killed: how long the prizes take, and what credits beside them wait',
    place: { settings: { WORKERS: '2' } },
    load: (stand, place) => Season.open(stand, place, 100_000, true),
  },
];

/**
 * A killed process may leave a check of a purchase under its lease of 30 s, and the process that takes it over may be killed too: another
 * 30 s. The rest is for a poll and the store's failures.
 */
const AGREED_WITHIN_MS = 90_000;
/** Without kills, ledgers and books of a service without a mistake agree sooner than this. */
const MISTAKE_SHOWS_MS = 30_000;

const CHAOS = { SANDBOX_CHAOS: '32' };
const sale = { ...row('purchases', 300, 130), copy: HASTY, catalogue: SHOP } as const;
const wrongSale = {
  ...{ ...sale, takes: 75, least: 75 },
  place: { settings: { ...CHAOS, WORKERS: '2' } },
  load: (stand, place) => new Purchases(stand, place, { purchases: 1000, agreedWithinMs: MISTAKE_SHOWS_MS }),
} satisfies Partial<Scenario>;

const ofPurchases: readonly Scenario[] = [
  {
    ...sale,
    name: 'purchase-kill',
    about: 'coins are bought and refunded at a store in chaos, while the service, its workers and their Redis die again and again',
    place: { settings: { ...CHAOS, WORKERS: '2' } },
    load: (stand, place) => new Purchases(stand, place, { purchases: 10_000, agreedWithinMs: AGREED_WITHIN_MS }),
    fault: dying({ betweenMs: 3000, leastWork: 500 }),
  },
  {
    ...sale,
    name: 'purchase-failover',
    about: 'the same with three processes on a Cluster of which a primary dies, with REDIS_WAIT_REPLICAS=1',
    place: { on: { replicas: 2 }, processes: 3, settings: { ...CHAOS, ...WAIT } },
    load: (stand, place) => new Purchases(stand, place, { purchases: 10_000, agreedWithinMs: AGREED_WITHIN_MS }),
    fault: dying({ betweenMs: 3000, leastWork: 500 }),
  },
  {
    ...wrongSale,
    name: 'purchase-client-state',
    about: 'a mutant that believes the state that the client sends: the checks find coins that nobody paid for',
    mutant: STATE_OF_CLIENT,
  },
  {
    ...wrongSale,
    name: 'purchase-refund-add',
    about: 'a mutant that takes refunded units again at each check: the checks find coins that are missing',
    mutant: REFUND_BY_ADD,
  },
  {
    ...wrongSale,
    name: 'purchase-grant-first',
    about: 'a mutant that grants before it records the owner: the checks find coins of a thief',
    mutant: GRANT_BEFORE_CLAIM,
  },
];

const EVENTS = { EVENTS: 'on', WEBHOOKS_PRIVATE: 'on', LEDGER_ENTRIES_PER_DAY: '0' };
const KILLS = { betweenMs: 1500, leastWork: 200 };
const telling = {
  copy: HASTY_HOOKS,
  place: { settings: { ...EVENTS, WORKERS: '2' } },
  load: (stand, place) => Events.open(stand, place, true),
} satisfies Partial<Scenario>;
const tellingOnCluster = { ...telling, place: { on: { replicas: 2 }, processes: 3, settings: { ...EVENTS, ...WAIT } } } as const;
// The mutants concern the log only.
const wrongTelling = { ...telling, load: (stand, place) => Events.open(stand, place, false) } satisfies Partial<Scenario>;

const ofEvents: readonly Scenario[] = [
  {
    ...{ ...row('events', 1200, 200), ...telling },
    name: 'event-kill',
    about: 'coins change while the service, its workers and their Redis die again and again; a reader goes on by cursor',
    seconds: 60,
    fault: dying({ ...KILLS, least: 100 }),
  },
  {
    ...{ ...row('events', 400, 150), ...tellingOnCluster },
    name: 'event-failover',
    about: 'the same with three processes on a Cluster of which a primary dies, with REDIS_WAIT_REPLICAS=1',
    seconds: 40,
    fault: dying({ ...KILLS, least: 10 }),
  },
  {
    ...{ ...row('events', 300, 150), ...tellingOnCluster },
    name: 'event-reshard',
    about: 'coins change while the slots of the log, the webhooks and accounts move from primary to primary of a Cluster',
    seconds: 40,
    fault: reshard(),
  },
  {
    ...{ ...row('events', 120, 100), ...wrongTelling },
    name: 'event-late',
    about: 'a mutant that writes events after the script: the checks find lost events',
    seconds: 20,
    mutant: AFTER_THE_SCRIPT,
    fault: dying(KILLS),
  },
  {
    ...{ ...row('events', 100, 80), ...wrongTelling },
    name: 'event-by-time',
    about: 'a mutant whose cursor is a time: the checks find events that were missed',
    seconds: 12,
    mutant: CURSOR_BY_TIME,
  },
];

export const parts: readonly Part[] = [...ofCoins, ...others, ...ofSeasons, ...ofPurchases, ...ofEvents].map(partOf);
