import type { RequestPlan } from '../load/order.ts';
import type { Engine } from '../processes/engines.ts';
import type { Bench, Contestant, Scenario, Side, Target } from '../scenario.ts';
import { creditBySession, day } from './coins.ts';
import { MOST_SECONDS, oneRoom, openService, WARM_UP_SECONDS, type Sizes } from './fan-out.ts';
import { openWatchedRooms } from './growth-rooms.ts';
import { openAccounts, openBoard, openLedgers } from './growth.ts';
import { httpSide, type HttpSide } from './http.ts';

/**
 * The scenarios of `--cluster`: the service on a Cluster of three primaries, and the same service on one Redis, which also
 * listens on loopback and writes with the same settings. Redis's CPU is that of all primaries together. A batch is an EVALSHA.
 */

const CLUSTER: Engine = { primaries: 3, replicas: 0 };
const ONE: Engine = { primaries: 1, replicas: 0 };

const cluster = { id: 'cluster', name: 'Cluster', kind: 'service' } as const;
const one = { id: 'one', name: 'one Redis', kind: 'service' } as const;

/** Requests in flight in the scenarios that end in `-512`. */
const MANY = 512;

const common = { operation: 'request', anywhere: false, comparesRedis: true, targets: [] as readonly Target[] } as const;

const credits = { callers: 'sessions', requests: [creditBySession] as readonly RequestPlan[] } as const;

type HttpWork = Pick<HttpSide, 'callers' | 'prepare' | 'requests' | 'connections'>;

function bothOver(work: HttpWork): readonly Side[] {
  return [over(cluster, CLUSTER, work), over(one, ONE, work)];
}

function over(side: Pick<Side, 'id' | 'name' | 'kind'>, engine: Engine, work: HttpWork): Side {
  return httpSide({ ...side, server: (bench) => bench.service({ engine }), ...work });
}

function cpuAtMost(most: number): readonly Target[] {
  return [{ what: 'server CPU against one Redis', figure: 'serverCpu', side: cluster.id, against: one.id, most }];
}

const creditSession: Scenario = {
  ...common,
  name: 'credit-session',
  title: 'Cluster: credit by session',
  summary: 'POST of a credit with a new key by session, 64 in flight.',
  sides: bothOver(credits),
  targets: cpuAtMost(1.1),
};

const creditSessionMany: Scenario = {
  ...common,
  name: 'credit-session-512',
  family: 'credit-session',
  title: `Cluster: credit by session, ${MANY} in flight`,
  summary: `The same from ${MANY} connections.`,
  sides: bothOver({ ...credits, connections: MANY }),
  targets: cpuAtMost(1),
};

const mixedDay: Scenario = {
  ...common,
  name: 'mixed-day',
  title: 'Cluster: a mixed day',
  summary: '40 % top-10 reads, 40 % balances, 12 % credits, 8 % scores, by session, 64 in flight.',
  sides: bothOver(day),
  targets: cpuAtMost(1.15),
};

const mixedDayMany: Scenario = {
  ...common,
  name: 'mixed-day-512',
  family: 'mixed-day',
  title: `Cluster: a mixed day, ${MANY} in flight`,
  summary: `The same from ${MANY} connections.`,
  sides: bothOver({ ...day, connections: MANY }),
  targets: cpuAtMost(1),
};

const many64: Sizes = {
  full: { rooms: 64, watchers: 50, changesPerSecond: 400 },
  quick: { rooms: 8, watchers: 15, changesPerSecond: 100 },
};

const many512: Sizes = {
  full: { rooms: 512, watchers: 10, changesPerSecond: 1000 },
  quick: { rooms: 20, watchers: 5, changesPerSecond: 200 },
};

const fanOuts: readonly Scenario[] = [
  fanOut('fan-out-room', 'one room, 5,000 watchers', oneRoom),
  fanOut('fan-out-rooms-64', '64 rooms, 50 watchers each', many64),
  fanOut('fan-out-rooms-512', '512 rooms, 10 watchers each', many512),
];

function fanOut(name: string, title: string, sizes: Sizes): Scenario {
  const { watchers, changesPerSecond } = sizes.full;
  const side = (of: typeof cluster | typeof one, engine: Engine): Side => ({
    ...of,
    open: (bench) => openService(bench, sizes, engine),
  });
  return {
    ...common,
    name,
    family: 'fan-out',
    title: `Cluster: ${title}`,
    summary: `${changesPerSecond.toLocaleString('en')} changes a second from another process, ${(changesPerSecond * watchers).toLocaleString('en')} deliveries of a kilobyte.`,
    operation: 'delivery',
    sides: [side(cluster, CLUSTER), side(one, ONE)],
    mostSeconds: MOST_SECONDS,
    warmUpSeconds: WARM_UP_SECONDS,
  };
}

const growths: readonly Scenario[] = [
  ...[1e3, 1e5].map((size) =>
    growth('accounts', size, 'credit', `A credit by installId while ${text(size)} accounts have a ledger.`, openAccounts),
  ),
  ...[1e3, 1e6].map((size) => growth('board', size, 'submission', `A score submitted to a board of ${text(size)} players.`, openBoard)),
  ...[1e2, 1e4].map((size) =>
    growth('ledger', size, 'credit', `A credit to an account whose ledger has ${text(size)} entries.`, openLedgers),
  ),
  growth('rooms', 1e3, 'change', 'State changes over HTTP in 100 of 1,000 rooms with one watcher each.', openWatchedRooms),
];

function growth(
  of: string,
  size: number,
  operation: string,
  summary: string,
  open: (bench: Bench, size: number, engine: Engine) => Promise<Contestant>,
): Scenario {
  const side = (shape: typeof cluster | typeof one, engine: Engine): Side => ({
    ...shape,
    open: (bench) => open(bench, bench.settings.quick ? Math.max(10, size / 100) : size, engine),
  });
  return {
    ...common,
    name: `growth-${of}-${size}`,
    family: 'growth',
    title: `Cluster growth: ${of}, ${text(size)}`,
    summary,
    operation,
    sides: [side(cluster, CLUSTER), side(one, ONE)],
    rounds: 6,
  };
}

function text(size: number): string {
  return size.toLocaleString('en');
}

function creditReplicas(replicas: number): Scenario {
  const name = `${cluster.name}, ${replicas} replica${replicas > 1 ? 's' : ''} each, WAIT 1`;
  return {
    ...common,
    name: `credit-replicas-${replicas}`,
    family: 'credit-replicas',
    title: `Cluster: credit by session, ${replicas === 1 ? 'one replica' : `${replicas} replicas`} of each primary`,
    summary:
      'The same credits with REDIS_WAIT_REPLICAS=1: an answer waits until a replica has the write. Against the Cluster without replicas.',
    sides: [over({ id: 'replicas', name, kind: 'service' }, { ...CLUSTER, replicas }, credits), over(cluster, CLUSTER, credits)],
  };
}

/** The scenarios of a run with `--cluster`. */
export const clusterScenarios: readonly Scenario[] = [
  creditSession,
  creditSessionMany,
  mixedDay,
  mixedDayMany,
  ...fanOuts,
  ...growths,
  creditReplicas(1),
  creditReplicas(2),
];
