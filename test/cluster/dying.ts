import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startCluster, type TestNode } from '../cluster-nodes.ts';
import { startChild, type Child } from '../realtime/child.ts';
import type { Stand } from './coins.ts';
import { Processes } from './processes.ts';

const READ_TRIES = 10;

/** A service whose processes and Redis are killed while it serves. */
export interface Dying {
  url(): string;
  /** Settings that lead an audit to the same Redis. */
  readonly settings: Record<string, string>;
  /** Reads from the primary of the key, the command's first word. A failed read is repeated. */
  command(name: string, key: string, ...words: (string | number)[]): Promise<unknown>;
  /** The keys that match a pattern. */
  keys(pattern: string): Promise<string[]>;
  /** SIGKILL for a serving process: on a single Redis for a worker, which the service replaces. */
  killProcess(): Promise<void>;
  /** SIGKILL for a whole service and all its processes, and a new service in its place. On a Cluster the same as `killProcess`. */
  killService(): Promise<void>;
  /** SIGKILL for the private Redis, or for a primary of the Cluster. On a Cluster it resolves once a replica has taken over. */
  killRedis(): Promise<void>;
  /** Moves the slot of a key to another primary of the Cluster. A single Redis does not have this method. */
  moveSlot(key: string): Promise<void>;
  /** Stops the service, and starts it on the same data with other settings. */
  restart(settings: Record<string, string>): Promise<void>;
}

export interface DyingOptions {
  /** The service's main.ts. */
  readonly program: string;
  readonly settings: Record<string, string>;
  /** A key. On a Cluster its primary is killed. */
  readonly hit: string;
}

/** A service of two workers with a private Redis. More workers would only slow down the start: each takes a second of CPU time. */
export async function openSingle({ program, settings }: DyingOptions, { folder, history, closing }: Stand): Promise<Dying> {
  const data = join(folder, 'data');
  let output = '';
  const started = (more: Record<string, string>): Promise<Child> =>
    startChild({ DATA_DIR: data, LOG_LEVEL: 'error', WORKERS: '2', ...more }, program);
  let service = await started(settings);
  const stopped = async (signal?: NodeJS.Signals): Promise<void> => {
    await service.stop(signal);
    output += service.output();
  };
  const redis = new Redis({ path: join(data, 'redis.sock'), retryStrategy: () => 100 });
  redis.on('error', () => {});
  closing.push(async () => {
    redis.disconnect();
    await stopped();
    history.log(output);
  });
  return {
    url: () => service.url,
    settings: { DATA_DIR: data },
    command: (name, ...words) => repeated(() => redis.call(name, words)),
    keys: (pattern) => repeated(() => scanned(pattern, (words) => redis.call('SCAN', words))),
    async killProcess() {
      const workers = childrenOf(service.pid).filter(({ command }) => !command.includes('redis-server'));
      const one = workers[Math.floor(Math.random() * workers.length)];
      if (one !== undefined) process.kill(one.pid, 'SIGKILL');
    },
    async killService() {
      await stopped('SIGKILL');
      service = await started(settings);
    },
    async killRedis() {
      const server = childrenOf(service.pid).find(({ command }) => command.includes('redis-server'));
      if (server !== undefined) process.kill(server.pid, 'SIGKILL');
    },
    moveSlot: () => Promise.reject(new Error('one Redis has no slots to move')),
    async restart(more) {
      await stopped();
      service = await started(more);
    },
  };
}

/** Three processes on a Cluster of three primaries with two replicas each, and REDIS_WAIT_REPLICAS=1. */
export async function openCluster({ program, settings, hit }: DyingOptions, { folder, history, closing }: Stand): Promise<Dying> {
  const cluster = await startCluster({ replicas: 2 });
  closing.push(() => cluster[Symbol.asyncDispose]());
  const redis = { REDIS_URL: cluster.url, REDIS_WAIT_REPLICAS: '1' };
  const started = (more: Record<string, string>): Promise<Processes> => Processes.open(3, { DATA_DIR: folder, ...redis, ...more }, program);
  let processes = await started(settings);
  let output = '';
  const owners = new Map<number, TestNode>();
  closing.push(async () => history.log(output + (await processes.stop())));
  return {
    url: () => processes.url(),
    settings: redis,
    command: (name, key, ...words) =>
      repeated(async () => {
        const slot = cluster.slotOf(key);
        const owner = owners.get(slot) ?? (await cluster.primaryOf(slot));
        owners.set(slot, owner);
        return owner.call(name, key, ...words);
      }),
    keys: (pattern) =>
      repeated(async () => {
        await cluster.look();
        const primaries = cluster.nodes.filter(({ role, slots }) => role === 'primary' && slots.length > 0);
        return (await Promise.all(primaries.map((node) => scanned(pattern, (words) => node.call('SCAN', ...words))))).flat();
      }),
    killProcess: () => processes.replaceOne(),
    killService: () => processes.replaceOne(),
    async killRedis() {
      const node = await cluster.primaryOf(cluster.slotOf(hit));
      history.event(`SIGKILL for the primary of port ${node.port}`);
      await cluster.kill(node);
      const heir = await cluster.untilFailedOver(node);
      owners.clear();
      history.event(`the node of port ${heir.port} took over`);
    },
    async moveSlot(key) {
      const slot = cluster.slotOf(key);
      // For a moment after a move it is possible that no node claims the slot.
      const from = await repeated(() => cluster.primaryOf(slot));
      await cluster.moveSlot(
        slot,
        cluster.nodes.find((node) => node.role === 'primary' && node !== from && node.slots.length > 0)!,
      );
      owners.clear();
    },
    async restart(more) {
      output += await processes.stop();
      processes = await started(more);
    },
  };
}

/** On a busy machine a node may take longer to answer than its client waits. */
async function repeated<T>(read: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await read();
    } catch (error) {
      if (tries === READ_TRIES) throw error;
      await pause(500);
    }
  }
}

async function scanned(pattern: string, scan: (words: (string | number)[]) => Promise<unknown>): Promise<string[]> {
  const keys = new Set<string>();
  for (let cursor = '0'; ;) {
    const [next, found] = (await scan([cursor, 'MATCH', pattern, 'COUNT', 1000])) as [string, string[]];
    for (const key of found) keys.add(key);
    if (next === '0') return [...keys];
    cursor = next;
  }
}

/** The processes that a process of this proof started. */
function childrenOf(parent: number): { pid: number; command: string }[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      if (!/^\d+$/.test(name) || !readFileSync(`/proc/${name}/status`, 'utf8').includes(`\nPPid:\t${parent}\n`)) return [];
      return [{ pid: Number(name), command: readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ') }];
    } catch {
      // The process has just ended.
      return [];
    }
  });
}
