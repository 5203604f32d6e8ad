import { setTimeout as pause } from 'node:timers/promises';
import type { ClusterOptions, TestNode } from '../cluster-nodes.ts';
import type { ProxiedCluster } from '../cluster-proxy.ts';

/** What a fault may do. */
export interface Stage {
  /** The cluster, and the primary that the fault hits. */
  readonly cluster: ProxiedCluster;
  readonly target: TestNode;
  /** Writes an event into the history. The first one is the time of the fault. */
  event(event: string): void;
}

export interface Scenario {
  readonly name: string;
  readonly about: string;
  readonly cluster: ClusterOptions;
  /** Settings of coinop. */
  readonly settings?: Record<string, string>;
  /** Milliseconds by which what a primary sends reaches its replicas late, and is destroyed with it. */
  readonly lagMs?: number;
  /** How long credits are sent. The fault begins after a quarter of it. */
  readonly seconds: number;
  fault(stage: Stage): Promise<void>;
  readonly bounds: Bounds;
}

/** What is neither doubled, nor forgotten, nor has a wrong sum is not bounded here: there must be none of it. */
export interface Bounds {
  /** Acknowledged credits that may be lost: at most so many. `some`: replication is asynchronous, and the scenario shows it. */
  readonly lost: number | 'some' | 'any';
  /** The longest time without an acknowledged credit of the accounts that the fault hits. */
  readonly downSeconds?: number;
  /** The longest wait of one credit for its acknowledgement, in milliseconds. */
  readonly longestMs?: number;
}

/** The one Redis of the service, which has no cluster around it. */
export interface SingleScenario extends Omit<Scenario, 'cluster' | 'fault' | 'lagMs'> {
  fault(stage: { readonly pid: number; event(event: string): void }): Promise<void>;
}

const kill: Scenario['fault'] = async ({ cluster, target, event }) => {
  event(`SIGKILL for the primary of port ${target.port}`);
  await cluster.kill(target);
  const heir = await cluster.untilFailedOver(target);
  event(`the node of port ${heir.port} took over`);
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
];
