import { setTimeout as pause } from 'node:timers/promises';
import type { Dying } from './dying.ts';
import type { History } from './history.ts';

/** Of the kills: one in so many is for the Redis, one for the whole service. */
const REDIS_EVERY = 4;
const SERVICE_EVERY = 10;
/** On a Cluster its primary dies once, after so many kills. */
const FAILOVER_AFTER = 2;

export interface Kills {
  processes: number;
  redis: number;
  services: number;
}

export interface KillOptions {
  readonly isOnCluster: boolean;
  /** Milliseconds between two kills, give or take a half. */
  readonly betweenMs: number;
  /** Begins with each pause between two kills. The kill waits for it too. Default: nothing more. */
  readonly ready?: (isOver: () => boolean) => Promise<void>;
}

/** Kills processes, the service and its Redis in turn, until the load has ended. */
export async function killWhile(
  sending: Promise<void>,
  running: Dying,
  { isOnCluster, betweenMs, ready }: KillOptions,
  history: History,
): Promise<Kills> {
  const killed: Kills = { processes: 0, redis: 0, services: 0 };
  let isOver = false;
  const ended = sending.finally(() => (isOver = true));
  ended.catch(() => {});
  for (let count = 1; !isOver; count++) {
    const isReady = ready?.(() => isOver);
    await Promise.race([ended, pause(betweenMs * (0.5 + Math.random()))]);
    await isReady;
    if (isOver) break;
    const isForRedis = isOnCluster ? count === FAILOVER_AFTER : count % REDIS_EVERY === 2;
    const isForService = !isOnCluster && count % SERVICE_EVERY === 5;
    const name = isForRedis ? 'redis' : isForService ? 'services' : 'processes';
    history.event(`SIGKILL: ${name}`);
    killed[name]++;
    await (isForRedis ? running.killRedis() : isForService ? running.killService() : running.killProcess());
  }
  await ended;
  return killed;
}
