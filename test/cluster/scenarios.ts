import { setTimeout as pause } from 'node:timers/promises';
import type { ClusterOptions, TestNode } from '../cluster-nodes.ts';
import type { ProxiedCluster } from '../cluster-proxy.ts';
import { now } from './history.ts';

/** The means of a fault. */
export interface Stage {
  /** The cluster, and the primary that the fault hits. */
  readonly cluster: ProxiedCluster;
  readonly target: TestNode;
  /** The slots of the target with accounts of the load. */
  readonly slots: readonly number[];
  /** The time at which the load ends, on the clock of `now`. */
  readonly endAt: number;
  /** Writes an event into the history. The first one is the time of the fault. */
  event(event: string): void;
}

export interface Scenario {
  readonly name: string;
  readonly about: string;
  readonly cluster: ClusterOptions;
  /** Settings of coinop. */
  readonly settings?: Record<string, string>;
  /** The delay of replication in milliseconds. Delayed data is lost with its primary. */
  readonly lagMs?: number;
  /** Number of accounts that get the credits. Default: 600. */
  readonly accounts?: number;
  /** The accounts have a standing on record (`Load.giveRecords`). */
  readonly haveRecords?: boolean;
  /** The fault hits the primary with the most credits, instead of each primary in turn. */
  readonly hitsBusiest?: boolean;
  /** The service runs without the guard of moving slots (`unguarded.ts`), and the checks have to find the damage. */
  readonly isUnguarded?: boolean;
  /** The duration of the load. The fault begins after a quarter of it. */
  readonly seconds: number;
  fault(stage: Stage): Promise<void>;
  readonly bounds: Bounds;
}

/** Doubled credits, forgotten credits and wrong sums have no bounds here: none are allowed. */
export interface Bounds {
  /** The most acknowledged credits that may be lost. `some`: asynchronous replication has to lose some in this scenario. */
  readonly lost: number | 'some' | 'any';
  /** The longest time without an acknowledged credit of the accounts that the fault hits. */
  readonly downSeconds?: number;
  /** The longest wait of one credit for its acknowledgement, in milliseconds. */
  readonly longestMs?: number;
}

/** A scenario on a single Redis. */
export interface SingleScenario extends Omit<Scenario, 'cluster' | 'fault' | 'lagMs' | 'hitsBusiest'> {
  fault(stage: { readonly pid: number; event(event: string): void }): Promise<void>;
}

/** At 1,500 credits a second each account ends with a thousand entries, in an index of 30 keys. A key is split every 0.6 s. */
const MANY_KEYS_ACCOUNTS = 30;

const kill: Scenario['fault'] = async ({ cluster, target, event }) => {
  event(`SIGKILL for the primary of port ${target.port}`);
  await cluster.kill(target);
  const heir = await cluster.untilFailedOver(target);
  event(`the node of port ${heir.port} took over`);
};

/** Moves the slots of accounts to another primary and back, one key at a time, until the load ends. */
const reshardKeyByKey: Scenario['fault'] = async ({ cluster, target, slots, endAt, event }) => {
  const other = cluster.nodes.find((node) => node !== target)!;
  event(`moving ${slots.length} slots of accounts, key by key`);
  let moves = 0;
  for (let round = 0; now() < endAt; round++) {
    for (const slot of slots) {
      if (now() >= endAt) break;
      await cluster.moveSlot(slot, round % 2 === 0 ? other : target, { pipeline: 1 });
      moves++;
    }
  }
  event(`moved ${moves} times`);
};

export const single: readonly SingleScenario[] = [
  {
    name: 'single-kill',
    about: 'kill -9 of the one Redis, appendfsync always; the service starts it again',
    seconds: 12,
    async fault({ pid, event }) {
      event(`SIGKILL for the Redis of process ${pid}`);
      process.kill(pid, 'SIGKILL');
    },
    bounds: { lost: 0, downSeconds: 5 },
  },
];

export const scenarios: readonly Scenario[] = [
  {
    name: 'kill',
    about: 'kill -9 of a primary, asynchronous replication',
    cluster: { replicas: 1 },
    seconds: 16,
    fault: kill,
    bounds: { lost: 'any', downSeconds: 8 },
  },
  {
    name: 'kill-lag',
    about: 'kill -9 of a primary whose replica lags by 20 ms, asynchronous replication',
    cluster: { replicas: 1 },
    lagMs: 20,
    seconds: 16,
    fault: kill,
    bounds: { lost: 'some', downSeconds: 8 },
  },
  {
    name: 'kill-lag-wait',
    about: 'the same with two replicas and REDIS_WAIT_REPLICAS=1',
    cluster: { replicas: 2 },
    settings: { REDIS_WAIT_REPLICAS: '1' },
    lagMs: 20,
    seconds: 16,
    fault: kill,
    bounds: { lost: 0, downSeconds: 8 },
  },
  {
    name: 'kill-wait',
    about: 'kill -9 of the busiest primary, two replicas each and REDIS_WAIT_REPLICAS=1',
    cluster: { replicas: 2 },
    settings: { REDIS_WAIT_REPLICAS: '1' },
    hitsBusiest: true,
    seconds: 12,
    fault: kill,
    bounds: { lost: 0, downSeconds: 8 },
  },
  {
    name: 'kill-tls',
    about: 'kill -9 of a primary, all connections over TLS, with a password',
    cluster: { replicas: 1, tls: true, password: 'secret' },
    seconds: 16,
    fault: kill,
    bounds: { lost: 'any', downSeconds: 8 },
  },
  {
    name: 'pause',
    about: 'a primary stands still for 6 s (SIGSTOP), and finds itself a replica',
    cluster: { replicas: 1 },
    seconds: 16,
    async fault({ cluster, target, event }) {
      event(`SIGSTOP for the primary of port ${target.port}`);
      await cluster.pause(target);
      await pause(6000);
      await cluster.resume(target);
      event('SIGCONT');
      await cluster.untilAgreed();
    },
    bounds: { lost: 'any', downSeconds: 8 },
  },
  {
    name: 'partition',
    about: 'a primary cut off from all nodes for 8 s, but not from the service',
    cluster: { replicas: 1 },
    seconds: 20,
    async fault({ cluster, target, event }) {
      await cluster.partition([target]);
      event(`the primary of port ${target.port} is cut off`);
      await pause(8000);
      await cluster.heal();
      event('healed');
      await cluster.untilAgreed();
    },
    bounds: { lost: 'some', downSeconds: 8 },
  },
  {
    name: 'partition-wait',
    about: 'the same with two replicas and REDIS_WAIT_REPLICAS=1',
    cluster: { replicas: 2 },
    settings: { REDIS_WAIT_REPLICAS: '1' },
    seconds: 20,
    async fault(stage) {
      await scenarios.find(({ name }) => name === 'partition')!.fault(stage);
    },
    bounds: { lost: 0, downSeconds: 8 },
  },
  {
    name: 'reshard',
    about: 'slots move from one primary to another and back, the classic way, under load',
    cluster: {},
    seconds: 20,
    async fault({ cluster, target, event }) {
      const other = cluster.nodes.find((node) => node !== target)!;
      const [[first]] = target.slots as [[number, number]];
      event('moving 200 slots');
      for (const to of [other, target]) for (let slot = first; slot < first + 200; slot++) await cluster.moveSlot(slot, to);
      event('moved');
    },
    bounds: { lost: 0, longestMs: 1000 },
  },
  {
    name: 'reshard-keys',
    about: 'slots of accounts with many keys move there and back all the time, key by key, under load',
    cluster: {},
    accounts: MANY_KEYS_ACCOUNTS,
    haveRecords: true,
    seconds: 20,
    fault: reshardKeyByKey,
    bounds: { lost: 0 },
  },
  {
    name: 'reshard-unguarded',
    about: 'the same without the guard of moving slots: the checks have to fail',
    cluster: {},
    accounts: MANY_KEYS_ACCOUNTS,
    haveRecords: true,
    isUnguarded: true,
    seconds: 20,
    fault: reshardKeyByKey,
    bounds: { lost: 'any' },
  },
];
