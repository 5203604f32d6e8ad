import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { ClusterOptions, TestNode } from '../cluster-nodes.ts';
import { startProxiedCluster, type ProxiedCluster } from '../cluster-proxy.ts';
import { startChild, startTcpRedis, workersOf, type Child } from '../realtime/child.ts';
import { runCommand, type EndedCommand } from '../run-command.ts';
import { Client, times } from './client.ts';
import type { Served } from './credits.ts';
import { now } from './history.ts';
import type { Stand } from './proof.ts';

export interface PlaceOptions {
  /** Where the data is: in a private Redis of one process, in a Redis that the processes share, or on a Cluster. Default: private. */
  readonly on?: 'shared' | ClusterOptions;
  /** The delay of replication in milliseconds, on a Cluster. Delayed data is lost with its primary. */
  readonly lagMs?: number | undefined;
  /** Default: 1. */
  readonly processes?: number;
  readonly settings?: Readonly<Record<string, string>>;
  /** A copy of the service's main.ts. Default: the service. */
  readonly program?: string | undefined;
}

/** All processes take the same sessions. */
const COMMON = {
  LOG_LEVEL: 'error',
  SESSION_KEYS: `prove:${Buffer.alloc(32, 7).toString('base64url')}`,
  SOCKETS_PER_ADDRESS: '100000',
};

/** The most time that the last commands of a dead primary are on their way to its replicas. */
const ARRIVING_MS = 100;
/** A failover takes some 4 s. */
const STARTING_MS = 15_000;
const READ_TRIES = 10;

/** Processes of a service on their Redis, which a fault can kill while they serve. A request goes to any process that runs. */
export class Place implements Served {
  readonly cluster: ProxiedCluster | undefined;
  /** A connection to the one Redis. Undefined on a Cluster. */
  readonly redis: Redis | undefined;
  /** Settings that lead a command to the same data. */
  readonly settings: Readonly<Record<string, string>>;
  readonly running: Child[] = [];
  readonly client = new Client(() => this.url());
  readonly #options: PlaceOptions;
  readonly #owners = new Map<number, TestNode>();
  readonly #replacing: Promise<void>[] = [];
  #more: Readonly<Record<string, string>> = {};
  #output = '';
  #url = '';
  /**
   * After a failover: the bytes of replicated commands that another replica had, and that the new primary lacked. REDIS_WAIT_REPLICAS=1 does
   * not protect these: either of two replicas may have confirmed, and either may take over.
   */
  lostBytes: number | undefined;
  #isStopped = false;

  static async open(options: PlaceOptions, { folder, history, closing }: Pick<Stand, 'folder' | 'history' | 'closing'>): Promise<Place> {
    const { on, lagMs } = options;
    const cluster = typeof on === 'object' ? await startProxiedCluster(on) : undefined;
    closing.push(() => cluster?.[Symbol.asyncDispose]());
    if (lagMs !== undefined) for (const node of cluster!.nodes) await cluster!.lag(node, lagMs);
    const shared = on === 'shared' ? await startTcpRedis(folder) : undefined;
    closing.push(() => shared?.stop());
    const data = join(folder, 'data');
    const [url, trust] = [cluster?.url ?? shared?.url, cluster?.caFile];
    const place = new Place(options, cluster, {
      DATA_DIR: data,
      ...(url === undefined ? {} : { REDIS_URL: url }),
      ...(trust === undefined ? {} : { NODE_EXTRA_CA_CERTS: trust }),
    });
    closing.push(async () => {
      place.#isStopped = true;
      place.client.close();
      await Promise.allSettled(place.#replacing);
      await place.#end();
      history.log(place.#output);
    });
    await place.restart();
    if (cluster !== undefined) return place;
    const redis = new Redis({ path: shared?.socketPath ?? join(data, 'redis.sock'), retryStrategy: () => 100 });
    redis.on('error', () => {});
    closing.push(() => redis.disconnect());
    return Object.assign(place, { redis });
  }

  private constructor(options: PlaceOptions, cluster: ProxiedCluster | undefined, settings: Record<string, string>) {
    [this.#options, this.cluster, this.settings] = [options, cluster, settings];
  }

  /** The address of any process that runs. While none runs, that of one that ran. */
  url(): string {
    return (this.#url = anyOf(this.running)?.url ?? this.#url);
  }

  /** What all processes wrote. */
  get output(): string {
    return this.#output + this.running.map((child) => child.output()).join('');
  }

  /** A failed command is repeated. */
  command(name: string, key: string, ...words: (string | number)[]): Promise<unknown> {
    return repeated(async () => {
      if (this.redis !== undefined) return this.redis.call(name, key, ...words);
      const slot = this.cluster!.slotOf(key);
      const owner = this.#owners.get(slot) ?? (await this.cluster!.primaryOf(slot));
      this.#owners.set(slot, owner);
      return owner.call(name, key, ...words);
    });
  }

  /** The keys that match a pattern. */
  async keys(pattern: string): Promise<string[]> {
    await this.cluster?.look();
    const primaries = this.cluster?.nodes.filter(({ role, slots }) => role === 'primary' && slots.length > 0);
    const keys = new Set<string>();
    for (const node of primaries ?? [this.redis as Pick<TestNode, 'call'>]) {
      let cursor = '0';
      do {
        const words = [cursor, 'MATCH', pattern, 'COUNT', 1000];
        const [next, found] = (await repeated(() => node.call('SCAN', ...words))) as [string, string[]];
        for (const key of found) keys.add(key);
        cursor = next;
      } while (cursor !== '0');
    }
    return [...keys];
  }

  /**
   * SIGKILL for a process at random, and another one in its place, which this does not wait for. Of a private Redis a worker, which the
   * service itself replaces; of several processes never the last one.
   * @returns whether one was killed
   */
  async killProcess(): Promise<boolean> {
    if (this.#options.on === undefined) return isKilled(anyOf(workersOf(this.running[0]!)));
    if (this.running.length < 2) return false;
    const [killed] = this.running.splice(Math.floor(Math.random() * this.running.length), 1);
    await killed!.stop('SIGKILL');
    this.#output += killed!.output();
    const replaced = this.#start();
    // The end of the place awaits it. Until then an error must not end this process, before the cluster is closed.
    replaced.catch(() => {});
    this.#replacing.push(replaced);
    return true;
  }

  /** SIGKILL for a whole service with its workers, and a new service in its place. */
  async killService(): Promise<void> {
    await this.#end('SIGKILL');
    await this.restart(this.#more);
  }

  /** SIGKILL for a whole service, and a new one after so long. */
  async outage(milliseconds: number): Promise<void> {
    await this.#end('SIGKILL');
    await pause(milliseconds);
    await this.restart(this.#more);
  }

  /** SIGKILL for the private Redis, which the service starts again. */
  async killRedis(): Promise<void> {
    isKilled(Number(/process_id:(\d+)/.exec(await repeated(() => this.redis!.info('server')))![1]));
  }

  /** SIGKILL for a primary. Resolves once a replica has taken over. */
  async failOver(target: TestNode): Promise<TestNode> {
    await this.cluster!.look();
    const replicas = this.cluster!.nodes.filter(({ primary }) => primary === target);
    await this.cluster!.kill(target);
    // A dead primary sends nothing any more, so the offsets of its replicas say how much of its data each of them has.
    await pause(ARRIVING_MS);
    const offsets = new Map(await Promise.all(replicas.map(async (replica) => [replica, await offsetOf(replica)] as const)));
    const heir = await this.cluster!.untilFailedOver(target);
    this.lostBytes = Math.max(...offsets.values()) - (offsets.get(heir) ?? 0);
    this.#owners.clear();
    return heir;
  }

  /** Moves a slot to another primary. @param pipeline keys of one MIGRATE */
  async moveSlot(slot: number, pipeline?: number): Promise<void> {
    // For a moment after a move it is possible that no node claims the slot.
    const from = await repeated(() => this.cluster!.primaryOf(slot));
    const to = this.cluster!.nodes.find((node) => node.role === 'primary' && node !== from && node.slots.length > 0)!;
    await this.cluster!.moveSlot(slot, to, pipeline === undefined ? {} : { pipeline });
    this.#owners.clear();
  }

  /** Resolves once the replicas have all that their primaries have now: a failover then loses nothing of it. */
  async replicated(): Promise<void> {
    await this.cluster!.look();
    const { nodes } = this.cluster!;
    for (const primary of nodes.filter(({ role }) => role === 'primary')) {
      const offset = await offsetOf(primary);
      for (const replica of nodes.filter((node) => node.primary === primary)) while ((await offsetOf(replica)) < offset) await pause(5);
    }
  }

  /** Stops the processes, and starts them on the same data. @param more settings in addition to those of the place */
  async restart(more: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.#end();
    this.#more = more;
    await Promise.all(times(this.#options.processes ?? 1, () => this.#start()));
  }

  /** Audits all data, by the clock of the processes. */
  audit(flags: readonly string[]): Promise<EndedCommand> {
    const { program } = this.#options;
    return runCommand(program === undefined ? 'audit.ts' : join(dirname(program), 'commands/audit.ts'), flags, {
      ...this.settings,
      ...this.#more,
    });
  }

  async #end(signal?: NodeJS.Signals): Promise<void> {
    const ending = this.running.splice(0);
    await Promise.all(ending.map((child) => child.stop(signal)));
    this.#output += ending.map((child) => child.output()).join('');
  }

  /** A process that ends because a primary dies while it starts is started again, as a supervisor does. */
  async #start(): Promise<void> {
    for (const giveUpAt = now() + STARTING_MS; !this.#isStopped; await pause(500)) {
      try {
        const settings = { ...COMMON, ...this.settings, ...this.#options.settings, ...this.#more };
        const child = await startChild(settings, this.#options.program);
        if (this.#isStopped) await child.stop();
        else this.running.push(child);
        return;
      } catch (error) {
        if (now() > giveUpAt) throw error;
        this.#output += `${(error as Error).message}\n`;
      }
    }
  }
}

/** How many bytes of commands a replica has, or a primary has written for its replicas. */
async function offsetOf(node: TestNode): Promise<number> {
  const about = String(await repeated(() => node.call('INFO', 'replication')));
  return Number((/^slave_repl_offset:(\d+)/m.exec(about) ?? /^master_repl_offset:(\d+)/m.exec(about))![1]);
}

export const anyOf = <Item>(items: readonly Item[]): Item | undefined => items[Math.floor(Math.random() * items.length)];

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

function isKilled(pid: number | undefined): boolean {
  try {
    return pid !== undefined && process.kill(pid, 'SIGKILL');
  } catch {
    // It has just ended.
    return false;
  }
}
