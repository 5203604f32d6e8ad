import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { TestNode } from '../cluster-nodes.ts';
import type { ProxiedCluster } from '../cluster-proxy.ts';
import { now, within } from './history.ts';
import type { Fault } from './scenario.ts';

/** One kill of this many hits Redis, and one the whole service. */
const REDIS_EVERY = 4;
const SERVICE_EVERY = 10;
/** On a Cluster a primary is killed once, as this one of the kills. */
const FAILOVER = 2;
const LONGEST_BETWEEN_MS = 30_000;

/** The load goes on for so long after a failover, to show that it can. */
const RECOVERED_MS = 3000;

/** kill -9 of a primary. */
export const kill: Fault = async ({ place, target, stand: { history } }) => {
  history.event(`SIGKILL for the primary of port ${target!.port}`);
  const heir = await place.failOver(target!);
  history.event(`the node of port ${heir.port} took over`);
  await pause(RECOVERED_MS);
  return { 'SIGKILL for a primary': 1 };
};

/** kill -9 of the one Redis. */
export const killRedis: Fault = async ({ place }) => {
  await place.killRedis();
  return { 'SIGKILL for Redis': 1 };
};

export const killProcess: Fault = async ({ place }) => ({ 'SIGKILL for a process': Number(await place.killProcess()) });

type OfNode = (cluster: ProxiedCluster, target: TestNode) => Promise<unknown>;

/** A primary has a fault for so long, and finds itself a replica. */
const passing =
  (name: string, begin: OfNode, end: OfNode) =>
  (milliseconds: number): Fault =>
  async ({ place: { cluster }, target, stand: { history } }) => {
    history.event(`${name}: the primary of port ${target!.port}`);
    await begin(cluster!, target!);
    await pause(milliseconds);
    await end(cluster!, target!);
    history.event(`${name}: over`);
    await cluster!.untilAgreed();
    return {};
  };

export const standStill = passing(
  'SIGSTOP',
  (cluster, target) => cluster.pause(target),
  (cluster, target) => cluster.resume(target),
);

/** A primary is cut off from all nodes, but not from the service. */
export const partition = passing(
  'cut off',
  (cluster, target) => cluster.partition([target]),
  (cluster) => cluster.heal(),
);

/** Moves the slots of the load's keys from primary to primary. @param pipeline keys of one MIGRATE */
export function reshard({ pipeline, seconds = Infinity }: { pipeline?: number; seconds?: number } = {}): Fault {
  return async (stage) => {
    const { place, load, stand } = stage;
    const slots = [...new Set(load.keys!.map((key) => place.cluster!.slotOf(key)))];
    stand.history.event(`moving ${slots.length} slots`);
    let moves = 0;
    for (const until = now() + 1000 * seconds; stage.goesOn() && now() < until; moves++)
      await place.moveSlot(slots[moves % slots.length]!, pipeline);
    stand.history.event(`moved ${moves} times`);
    // Another fault may follow. If a primary died with a slot that its replicas do not have yet, the data of the slot would be lost.
    await place.replicated();
    return { 'moves of slots': moves };
  };
}

export function inTurn(...faults: readonly Fault[]): Fault {
  return async (stage) => {
    const counts: Record<string, number> = {};
    for (const fault of faults) Object.assign(counts, await fault(stage));
    return counts;
  };
}

export interface Dying {
  /** Milliseconds between two kills, plus or minus half of it. */
  readonly betweenMs: number;
  /**
   * The least work between two kills: a kill waits for it, but 30 s at most. Otherwise a service on a busy machine, which starts slowly,
   * would hardly serve.
   */
  readonly leastWork?: number;
  /** The least kills at full size. */
  readonly least?: number;
}

/** Kills processes, the service and its Redis in turn. */
export function dying({ betweenMs, leastWork = 0, least = 0 }: Dying): Fault {
  return async (stage) => {
    const { place, load, stand } = stage;
    const isOnCluster = place.cluster !== undefined;
    const ofProcess = 'SIGKILL for a process';
    const ofRedis = isOnCluster ? 'SIGKILL for a primary' : 'SIGKILL for Redis';
    const counts: Record<string, number> = { [ofProcess]: 0, [ofRedis]: 0 };
    for (let count = 1; ; count++) {
      const goesOn = (): boolean => stage.goesOn(count > least * stand.size) && now() < (load.window?.[1] ?? Infinity);
      const workedBefore = load.done;
      await stage.pause(betweenMs * (0.5 + Math.random()));
      await within(LONGEST_BETWEEN_MS - betweenMs, () => !stage.goesOn(false) || load.done >= workedBefore + leastWork, 100);
      if (!goesOn()) return counts;
      const isForRedis = isOnCluster ? count === FAILOVER : count % REDIS_EVERY === FAILOVER;
      const isForService = !isOnCluster && count % SERVICE_EVERY === 5;
      const what = isForRedis ? ofRedis : isForService ? 'SIGKILL for the whole service' : ofProcess;
      stand.history.event(what);
      if (isForRedis && isOnCluster) stand.history.event(`the node of port ${(await place.failOver(stage.target!)).port} took over`);
      else if (isForRedis) await place.killRedis();
      else if (isForService) await place.killService();
      else if (!(await place.killProcess())) continue;
      counts[what] = (counts[what] ?? 0) + 1;
    }
  };
}

/** Cuts every subscription to the one Redis again and again. */
export function cutSubscribers(seconds: number): Fault {
  return async ({ place }) => ({ 'connections of subscribers cut': await cutSubscriptions(place.redis!, 1000 * seconds) });
}

/** @returns how many it cut */
export async function cutSubscriptions(redis: Pick<Redis, 'client' | 'call'>, forMs: number): Promise<number> {
  let cuts = 0;
  for (const until = now() + forMs; now() < until; await pause(5)) {
    for (const [, id] of String(await redis.client('LIST')).matchAll(/^id=(\d+) .*name=coinop-subscriber/gm)) {
      await redis.call('CLIENT', 'KILL', 'ID', id!);
      cuts++;
    }
  }
  return cuts;
}
