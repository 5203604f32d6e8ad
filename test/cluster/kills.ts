import { setTimeout as pause } from 'node:timers/promises';
import type { Dying } from './dying.ts';
import { now, type History } from './history.ts';

/** One in this many kills hits Redis, and one the whole service. */
const REDIS_EVERY = 4;
const SERVICE_EVERY = 10;
/** On a Cluster a primary is killed once, after this many kills. */
const FAILOVER_AFTER = 2;
const LONGEST_BETWEEN_MS = 30_000;

export interface Kills {
  processes: number;
  redis: number;
  services: number;
}

export interface KillOptions {
  readonly isOnCluster: boolean;
  /** Milliseconds between two kills, plus or minus half of it. */
  readonly betweenMs: number;
  /** The amount of work done so far. */
  readonly done: () => number;
  /**
   * The least work between two kills: a kill waits for it, but 30 s at most. Otherwise a service on a busy machine, which starts slowly,
   * would hardly serve.
   */
  readonly leastBetween: number;
  /** Is called after each kill. */
  readonly onKill?: () => void;
}

/** Kills processes, the service and its Redis in turn, until the load has ended. */
export async function killWhile(
  sending: Promise<void>,
  running: Dying,
  { isOnCluster, betweenMs, done, leastBetween, onKill }: KillOptions,
  history: History,
): Promise<Kills> {
  const killed: Kills = { processes: 0, redis: 0, services: 0 };
  let isOver = false;
  const ended = sending.finally(() => (isOver = true));
  ended.catch(() => {});
  for (let count = 1; !isOver; count++) {
    const [doneBefore, latest] = [done(), now() + LONGEST_BETWEEN_MS];
    await Promise.race([ended, pause(betweenMs * (0.5 + Math.random()))]);
    while (!isOver && done() < doneBefore + leastBetween && now() < latest) await pause(100);
    if (isOver) break;
    const isForRedis = isOnCluster ? count === FAILOVER_AFTER : count % REDIS_EVERY === 2;
    const isForService = !isOnCluster && count % SERVICE_EVERY === 5;
    const name = isForRedis ? 'redis' : isForService ? 'services' : 'processes';
    history.event(`SIGKILL: ${name}`);
    killed[name]++;
    await (isForRedis ? running.killRedis() : isForService ? running.killService() : running.killProcess());
    onKill?.();
  }
  await ended;
  return killed;
}
