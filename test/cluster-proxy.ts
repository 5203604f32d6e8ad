import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type ClusterOptions, retried, TestCluster, type Layout, type TestNode } from './cluster-nodes.ts';
import type { ProxyPort, Rules } from './cluster-proxy-thread.ts';
import { freePorts } from './free-port.ts';

/**
 * Starts a cluster like `startCluster`, with a TCP proxy in front of each port of each node. Clients and nodes know only the ports of
 * the proxies. The methods of the cluster simulate faults of a network: they separate nodes and delay replication.
 */
export async function startProxiedCluster(options: ClusterOptions = {}): Promise<ProxiedCluster> {
  const count = (options.primaries ?? 3) * (1 + (options.replicas ?? 0));
  return retried(async () => {
    const first = await freePorts(4 * count);
    const ports = Array.from({ length: count }, (_, index) => first + index);
    const places = ports.map((port, index) => ({
      port: port + 2 * count,
      busPort: port + 3 * count,
      announced: { port, busPort: port + count },
      settings: ['--bind-source-addr', addressOf(index)],
    }));
    return new ProxiedCluster(options, { places, ports }).open();
  });
}

/** Each node connects from its own address, by which the proxies recognize it. */
const addressOf = (index: number): string => `127.0.1.${index + 1}`;

export class ProxiedCluster extends TestCluster {
  readonly #places: Layout['places'];
  #thread: Worker | undefined;
  readonly #rules = { groupOf: [] as number[], lagMs: [] as number[], isDead: [] as boolean[] } satisfies Rules;

  constructor(options: ClusterOptions, layout: Layout) {
    super(options, layout);
    this.#places = layout.places;
  }

  override async open(): Promise<this> {
    const ports = this.#places.flatMap(({ port, busPort, announced }, to): ProxyPort[] => [
      { port: announced!.port, target: port, to, kind: 'client' },
      { port: announced!.busPort, target: busPort, to, kind: 'bus' },
    ]);
    this.#thread = new Worker(new URL('cluster-proxy-thread.ts', import.meta.url), { workerData: ports });
    try {
      await once(this.#thread, 'message');
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
    return super.open();
  }

  /**
   * Separates these nodes from the others: both sides keep their connections, but nothing arrives. Clients reach both sides. After `heal`
   * the pending data arrives.
   */
  async partition(nodes: readonly TestNode[]): Promise<void> {
    for (const { index } of this.nodes) this.#rules.groupOf[index] = 0;
    for (const { index } of nodes) this.#rules.groupOf[index] = 1;
    await this.#apply();
  }

  /** Ends `partition`. */
  async heal(): Promise<void> {
    this.#rules.groupOf.length = 0;
    await this.#apply();
  }

  /** Delays data from the node to its replicas. `kill` destroys data that is under way. 0 ends the delay. */
  async lag(node: TestNode, milliseconds: number): Promise<void> {
    this.#rules.lagMs[node.index] = milliseconds;
    await this.#apply();
  }

  /** Simulates the failure of a machine: SIGKILL, and data that no other node has received yet is destroyed. */
  override async kill(node: TestNode): Promise<void> {
    this.#rules.isDead[node.index] = true;
    await this.#apply();
    await super.kill(node);
  }

  override async start(node: TestNode): Promise<void> {
    this.#rules.isDead[node.index] = false;
    await this.#apply();
    await super.start(node);
  }

  async #apply(): Promise<void> {
    const answered = once(this.#thread!, 'message');
    this.#thread!.postMessage(this.#rules);
    await answered;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.#thread?.terminate();
  }
}
