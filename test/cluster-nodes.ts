import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { ClusterNode, KnownNode, NodePlace, NodeSettings } from '../src/process/cluster-node.ts';
import { LocalCluster } from '../src/process/local-cluster.ts';
import { SLOTS, slotOf } from '../src/redis/slots.ts';
import { freePorts } from './free-port.ts';
import type { TestService } from './harness.ts';
import { selfSignedCertificate } from './self-signed.ts';

export interface ClusterOptions {
  readonly primaries?: number;
  /** Replicas of each primary. */
  readonly replicas?: number;
  /** Further settings of every node's redis-server: `'--cluster-node-timeout', '500'`. */
  readonly settings?: readonly string[];
  /** Clients, replicas and the bus speak TLS, with a certificate of the cluster's own: `caFile`. */
  readonly tls?: boolean;
  readonly password?: string;
}

/** Where a cluster has its nodes, and which ports the URL names. `cluster-proxy.ts` puts proxies between the two. */
export interface Layout {
  readonly places: readonly NodePlace[];
  readonly ports: readonly number[];
}

/**
 * Starts a Redis Cluster for tests, in a temporary folder and on free ports of 127.0.0.1. It takes 2.2 s: a primary that has
 * just started takes no writes for 2 s. `await using` ends it.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<TestCluster> {
  const count = (options.primaries ?? 3) * (1 + (options.replicas ?? 0));
  return retried(async () => {
    const first = await freePorts(2 * count);
    const ports = Array.from({ length: count }, (_, index) => first + index);
    return new TestCluster(options, { places: ports.map((port) => ({ port, busPort: port + count })), ports }).open();
  });
}

/** Another program may take a free port before the node does. */
export async function retried<T>(start: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start();
    } catch (error) {
      if (attempt === 3) throw error;
    }
  }
}

/** A node, with its role and slots as of the last `look`. Every method that changes the cluster calls `look`. */
export class TestNode {
  /** Private, so that a failed comparison of nodes does not print their connections. */
  readonly #node: ClusterNode;
  readonly index: number;
  id = '';
  role: 'primary' | 'replica' = 'primary';
  /** The primary of a replica. */
  primary: TestNode | undefined;
  /** Ranges of slots that a primary serves, both ends included. */
  slots: Ranges = [];
  /** The slots when the node was killed or paused. */
  lost: Ranges | undefined;

  constructor(node: ClusterNode, index: number) {
    this.#node = node;
    this.index = index;
  }

  get node(): ClusterNode {
    return this.#node;
  }

  /** Port for clients, past any proxy. */
  get port(): number {
    return this.#node.port;
  }

  /** Sends a command past any proxy. */
  call(command: string, ...words: (string | number)[]): Promise<unknown> {
    return this.#node.call(command, ...words);
  }
}

type Ranges = readonly (readonly [number, number])[];

export interface MoveOptions {
  /** Keys of one MIGRATE. Default: 10, as in `redis-cli --cluster reshard`. */
  readonly pipeline?: number;
}

export class TestCluster implements AsyncDisposable {
  readonly url: string;
  readonly nodes: readonly TestNode[];
  /** PEM file of the certificate that clients have to trust, for NODE_EXTRA_CA_CERTS. */
  readonly caFile: string | undefined;
  readonly #options: ClusterOptions;
  readonly #cluster: LocalCluster;
  readonly #folder: string;
  readonly #asleep = new Set<TestNode>();

  /** `open` starts the nodes. */
  constructor(options: ClusterOptions, { places, ports }: Layout) {
    const { primaries = 3, settings = [], tls = false, password } = options;
    this.#options = options;
    this.#folder = mkdtempSync(join(tmpdir(), 'coinop-cluster-'));
    const shared: NodeSettings = {
      folder: this.#folder,
      appendfsync: 'everysec',
      password,
      settings,
      tls: tls ? this.#tlsFiles() : undefined,
    };
    this.caFile = shared.tls?.ca;
    this.#cluster = new LocalCluster(primaries, places, shared);
    this.nodes = this.#cluster.nodes.map((node, index) => new TestNode(node, index));
    const hosts = ports.slice(0, primaries).map((port) => `127.0.0.1:${port}`);
    this.url = `${tls ? 'rediss' : 'redis'}-cluster://${password === undefined ? '' : `:${password}@`}${hosts.join(',')}`;
  }

  #tlsFiles(): NonNullable<NodeSettings['tls']> {
    const { cert, key } = selfSignedCertificate();
    const [certFile, keyFile] = [join(this.#folder, 'cert.pem'), join(this.#folder, 'key.pem')];
    writeFileSync(certFile, cert);
    writeFileSync(keyFile, key, { mode: 0o600 });
    return { cert: certFile, key: keyFile, ca: certFile };
  }

  /** Starts all nodes. */
  async open(): Promise<this> {
    try {
      await this.#cluster.start();
      await this.look();
      return this;
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Nodes that run and are not paused. */
  get #awake(): TestNode[] {
    return this.nodes.filter((node) => node.node.isRunning && !this.#asleep.has(node));
  }

  /** Asks the nodes for their roles and slots. If two nodes claim a slot, the node with the higher epoch has it. */
  async look(): Promise<void> {
    const claims: { node: TestNode; own: KnownNode }[] = [];
    for (const node of this.#awake) {
      const own = (await node.node.known()).find(({ flags }) => flags.includes('myself'))!;
      claims.push({ node, own });
      node.id = own.id;
    }
    // A node that does not answer keeps its role, and the slots that no other node claims.
    const owners: (TestNode | undefined)[] = [];
    for (const node of this.nodes) for (const slot of slotsIn(node.slots)) owners[slot] = node;
    for (const { node } of claims) for (const slot of slotsIn(node.slots)) if (owners[slot] === node) owners[slot] = undefined;
    for (const { node, own } of claims.toSorted((one, other) => one.own.configEpoch - other.own.configEpoch)) {
      node.role = own.primaryId === undefined ? 'primary' : 'replica';
      for (const slot of slotsIn(own.slots)) owners[slot] = node;
    }
    for (const { node, own } of claims) node.primary = this.nodes.find(({ id }) => id === own.primaryId);
    for (const node of this.nodes) node.slots = rangesOf(owners, node);
  }

  /** The node that serves the slot. */
  async primaryOf(slot: number): Promise<TestNode> {
    await this.look();
    const node = this.nodes.find(({ slots }) => slots.some(([first, last]) => first <= slot && slot <= last));
    if (node === undefined) throw new Error(`no node serves slot ${slot}`);
    return node;
  }

  slotOf(key: string): number {
    return slotOf(key);
  }

  /** Resolves once all nodes that run and are not paused agree, and serve all slots. */
  async untilAgreed(): Promise<void> {
    await this.#cluster.untilAgreed(this.#awake.map(({ node }) => node));
    await this.look();
  }

  /** SIGKILL. Resolves when the process has ended. Writes that it has not sent to its replicas by then are lost. */
  async kill(node: TestNode): Promise<void> {
    node.lost = node.slots;
    await node.node.signal('SIGKILL');
    this.#asleep.delete(node);
  }

  /** SIGSTOP: connections stay open, but get no answers. */
  async pause(node: TestNode): Promise<void> {
    node.lost = node.slots;
    this.#asleep.add(node);
    await node.node.signal('SIGSTOP');
  }

  /** SIGCONT. */
  async resume(node: TestNode): Promise<void> {
    await node.node.signal('SIGCONT');
    this.#asleep.delete(node);
  }

  /** Starts a killed node again, on its data. `untilAgreed` waits until the other nodes know it again. */
  async start(node: TestNode): Promise<void> {
    await node.node.start();
  }

  /** Resolves with the node that now serves the slots of a node: the slots when it was killed or paused, else its present slots. */
  async untilFailedOver(lost: TestNode, timeoutMs = 40_000): Promise<TestNode> {
    const [[slot]] = (lost.lost ?? lost.slots) as [[number, number]];
    for (const giveUpAt = performance.now() + timeoutMs; performance.now() < giveUpAt; await pause(50)) {
      const primary = await this.primaryOf(slot);
      if (primary !== lost) return primary;
    }
    const views = await Promise.all(this.#awake.map((node) => node.call('CLUSTER', 'NODES')));
    throw new Error(`no replica took over from the node of port ${lost.port} within ${timeoutMs} ms:\n${views.join('\n')}`);
  }

  /**
   * Moves a slot with its keys to another primary, the classic way:
   * https://redis.io/docs/latest/commands/cluster-setslot/#redis-cluster-live-resharding-explained
   * A node that does not answer on a busy machine is asked again: each of these commands may be repeated, and a half-finished move leaves
   * keys that no script can reach.
   */
  async moveSlot(slot: number, to: TestNode, { pipeline = 10 }: MoveOptions = {}): Promise<void> {
    const from = await this.primaryOf(slot);
    if (from === to) return;
    await answer(to, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id);
    await answer(from, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id);
    const { password } = this.#options;
    const auth = password === undefined ? [] : ['AUTH', password];
    for (;;) {
      const keys = (await answer(from, 'CLUSTER', 'GETKEYSINSLOT', slot, pipeline)) as string[];
      if (keys.length === 0) break;
      await answer(from, 'MIGRATE', '127.0.0.1', to.port, '', 0, MIGRATE_TIMEOUT_MS, ...auth, 'KEYS', ...keys);
    }
    // The target first: if the source gave up the slot before, a failure in between would leave the slot without an owner.
    await answer(to, 'CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
    await answer(from, 'CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
    for (const node of this.#awake) {
      if (node !== from && node !== to && node.role === 'primary') await answer(node, 'CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
    }
    await this.look();
  }

  /**
   * Moves a slot from primary to primary until some work has ended, one key at a time, so that calls meet a slot whose keys are on two
   * primaries. If moves take long, the work gets time between them.
   * @returns the number of moves
   */
  async moveWhile(work: Promise<unknown>, slot: number, leastPauseMs: number): Promise<number> {
    let [isOver, moves] = [false, 0];
    const ended = work.finally(() => (isOver = true));
    // Awaited below.
    ended.catch(() => {});
    for (; !isOver; moves++) {
      const startedAt = performance.now();
      const from = await this.primaryOf(slot);
      const to = this.nodes.find((node) => node !== from)!;
      await this.moveSlot(slot, to, { pipeline: 1 });
      await pause(Math.max(leastPauseMs, (performance.now() - startedAt) / 2));
    }
    await ended;
    return moves;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // SIGKILL ends a paused process too.
    await Promise.all(this.nodes.map(({ node }) => node.signal('SIGKILL')));
    await this.#cluster.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const MIGRATE_TIMEOUT_MS = 60_000;

/** Repeats a call to a node that does not answer in time, for a minute at most. */
async function answer(node: TestNode, command: string, ...words: (string | number)[]): Promise<unknown> {
  for (const giveUpAt = performance.now() + 60_000; ;) {
    try {
      return await node.call(command, ...words);
    } catch (error) {
      if (!(error instanceof Error) || error.message !== 'Command timed out' || performance.now() > giveUpAt) throw error;
    }
  }
}

function* slotsIn(ranges: Ranges): Generator<number> {
  for (const [first, last] of ranges) for (let slot = first; slot <= last; slot++) yield slot;
}

function rangesOf(owners: readonly (TestNode | undefined)[], node: TestNode): [number, number][] {
  const ranges: [number, number][] = [];
  for (let slot = 0; slot < SLOTS; slot++) {
    if (owners[slot] !== node) continue;
    const last = ranges.at(-1);
    if (last?.[1] === slot - 1) last[1] = slot;
    else ranges.push([slot, slot]);
  }
  return ranges;
}

/** Resolves once a service is connected to every primary of its cluster. On a loaded machine it may listen before that. */
export async function isWhole(service: Pick<TestService, 'get'>): Promise<void> {
  for (const giveUpAt = performance.now() + 15_000; ; await pause(50)) {
    const { status, body } = await service.get('/ready');
    if (status === 200 && body.degraded === undefined) return;
    if (performance.now() > giveUpAt) throw new Error(`the service is not ready: ${JSON.stringify(body)}`);
  }
}
