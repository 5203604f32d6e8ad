import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { SettingError } from '../config.ts';
import { SLOTS } from '../redis/slots.ts';
import { ClusterNode, type KnownNode, type NodePlace, type NodeSettings } from './cluster-node.ts';

/** The longest wait until all nodes agree, in milliseconds. A new cluster needs 2 s. A node with much data has to load the data first. */
const AGREEMENT_MS = 30_000;

const POLL_MS = 20;

/** A Redis Cluster on this machine, for development and tests. Its nodes belong to this process and end with it. */
export class LocalCluster {
  readonly nodes: readonly ClusterNode[];
  readonly #primaries: number;

  /**
   * @param primaries number of nodes that share the slots of a new cluster. The other nodes become their replicas
   * @param places the ports of all nodes, those of the primaries first
   */
  constructor(primaries: number, places: readonly NodePlace[], settings: NodeSettings) {
    this.#primaries = primaries;
    this.nodes = places.map((place) => new ClusterNode(place, settings));
  }

  /**
   * Starts all nodes. Nodes without data form a new cluster. Nodes that have data form their earlier cluster again, and empty nodes join it
   * as replicas. Resolves once all nodes agree.
   * @throws SettingError for a port that is taken, a Redis that does not start, and a cluster that does not form
   */
  async start(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stopOrphan()));
    for (const { place } of this.nodes) for (const port of [place.port, place.busPort]) await checkFree(port, place);
    try {
      await Promise.all(this.nodes.map((node) => node.start()));
      await this.#form();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  /**
   * Resolves once these nodes agree that a primary among them serves each slot, and once each replica among them has its primary's data.
   * @param nodes default: all running nodes
   */
  async untilAgreed(nodes?: readonly ClusterNode[]): Promise<void> {
    await until(() => disagreement(nodes ?? this.nodes.filter((node) => node.isRunning)), AGREEMENT_MS);
  }

  async #form(): Promise<void> {
    const views = await Promise.all(this.nodes.map((node) => node.known()));
    if (views.every((view) => view.length === 1)) await this.#assignSlots(views);
    else this.#checkData(views);
    const ids = views.map(ownId);
    await Promise.all(
      this.nodes.map(async (node, index) => {
        const strangers = this.nodes.filter((_, otherIndex) => !views[index]!.some(({ id }) => id === ids[otherIndex]));
        for (const { place } of strangers) {
          const { port, busPort } = place.announced ?? place;
          await node.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort);
        }
      }),
    );
    await until(() => this.#strangers(ids), AGREEMENT_MS);
    await this.#assignReplicas(ids);
    await this.untilAgreed();
  }

  /**
   * Gives each primary its slots before the nodes have met. If a start is interrupted before all slots are assigned, the next start
   * continues here.
   */
  async #assignSlots(views: readonly KnownNode[][]): Promise<void> {
    for (const [index, node] of this.nodes.slice(0, this.#primaries).entries()) {
      const own = views[index]![0]!;
      // If two primaries claim a slot, the nodes know at once from different epochs which one is right. With equal epochs they would have
      // to settle it later.
      if (own.configEpoch === 0) await node.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
      const [firstSlot, endSlot] = [index, index + 1].map((part) => Math.floor((part * SLOTS) / this.#primaries)) as [number, number];
      if (own.slots.length === 0) await node.call('CLUSTER', 'ADDSLOTSRANGE', firstSlot, endSlot - 1);
    }
  }

  /** @throws SettingError if a node that had slots is missing: an empty node in its place would hide the loss */
  #checkData(views: readonly KnownNode[][]): void {
    const ids = views.map(ownId);
    const missing = views.flat().find(({ id, slots }) => slots.length > 0 && !ids.includes(id));
    if (missing === undefined) return;
    const [[firstSlot, lastSlot]] = missing.slots as [[number, number]];
    throw new SettingError(
      `The node that had slots ${firstSlot} to ${lastSlot} of the cluster is gone: its data is in none of the nodes' folders. ` +
        `Restore its folder, or remove the folders of all nodes: ${this.nodes.map(({ folder }) => folder).join(', ')}.`,
    );
  }

  async #strangers(ids: readonly string[]): Promise<string | undefined> {
    const views = await Promise.all(this.nodes.map((node) => node.known()));
    const met = (view: KnownNode[]): boolean => ids.every((id) => view.some((known) => known.id === id && !isStrange(known)));
    return views.every(met) ? undefined : 'not all nodes have met';
  }

  /** Turns nodes that have neither slots nor a primary into replicas of the primaries with the fewest replicas. */
  async #assignReplicas(ids: readonly string[]): Promise<void> {
    // Each node is asked about itself, because the other nodes may not have heard about its slots yet.
    const owns = await Promise.all(this.nodes.map(async (node) => (await node.known()).find(({ flags }) => flags.includes('myself'))!));
    const replicasOf = new Map(owns.filter(({ slots }) => slots.length > 0).map(({ id }) => [id, 0]));
    // The primaries are in the order of the nodes, so that a new cluster looks the same each time.
    const primaries = ids.filter((id) => replicasOf.has(id));
    for (const { primaryId } of owns) if (primaryId !== undefined) replicasOf.set(primaryId, (replicasOf.get(primaryId) ?? 0) + 1);
    for (const [index, node] of this.nodes.entries()) {
      const own = owns[index]!;
      if (index < this.#primaries || own.primaryId !== undefined || own.slots.length > 0) continue;
      const primaryId = primaries.toSorted((one, other) => replicasOf.get(one)! - replicasOf.get(other)!)[0]!;
      replicasOf.set(primaryId, replicasOf.get(primaryId)! + 1);
      await node.call('CLUSTER', 'REPLICATE', primaryId);
    }
  }
}

/** @returns why the nodes do not agree. Undefined: they agree */
async function disagreement(nodes: readonly ClusterNode[]): Promise<string | undefined> {
  const views = await Promise.all(nodes.map((node) => node.known()));
  const ids = new Set(views.map(ownId));
  const owners = views.map((view) => ownersIn(view, ids));
  if (owners[0]!.slots !== SLOTS) return `${SLOTS - owners[0]!.slots} slots have no node that runs`;
  if (owners.some(({ text }) => text !== owners[0]!.text)) return 'the nodes differ about who serves which slots';
  if (views.some((view) => view.some((known) => ids.has(known.id) && isStrange(known)))) return 'not all nodes reach each other';
  for (const [index, node] of nodes.entries()) {
    if (!/^cluster_state:ok/m.test(String(await node.call('CLUSTER', 'INFO')))) return `the node of port ${node.port} does not serve yet`;
    const isReplica = views[index]!.find(({ flags }) => flags.includes('myself'))!.primaryId !== undefined;
    if (isReplica && !/^master_link_status:up/m.test(String(await node.call('INFO', 'replication'))))
      return `the replica of port ${node.port} has no data yet`;
  }
  return undefined;
}

const ownId = (view: readonly KnownNode[]): string => view.find(({ flags }) => flags.includes('myself'))!.id;

const isStrange = ({ flags, isConnected }: KnownNode): boolean =>
  (!isConnected && !flags.includes('myself')) || flags.some((flag) => ['handshake', 'fail?', 'fail', 'noaddr'].includes(flag));

/** The roles and slots of these nodes as one node knows them: a text to compare, and the number of slots that the nodes serve. */
function ownersIn(view: readonly KnownNode[], ids: ReadonlySet<string>): { text: string; slots: number } {
  const known = view.filter(({ id }) => ids.has(id)).toSorted((one, other) => (one.id < other.id ? -1 : 1));
  return {
    text: known.map(({ id, primaryId, slots }) => `${id} ${primaryId ?? '-'} ${slots.join(' ')}`).join('\n'),
    slots: known
      .flatMap(({ slots }) => slots.map(([firstSlot, lastSlot]) => lastSlot - firstSlot + 1))
      .reduce((sum, count) => sum + count, 0),
  };
}

/** Waits until `reason` gives undefined. @throws SettingError with the last reason after the timeout */
async function until(reason: () => Promise<string | undefined>, timeoutMs: number): Promise<void> {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    const why = await reason();
    if (why === undefined) return;
    if (performance.now() > giveUpAt) throw new SettingError(`The cluster did not form within ${timeoutMs / 1000} s: ${why}.`);
    await pause(POLL_MS);
  }
}

/** @throws SettingError if another process listens on the port */
function checkFree(port: number, { busPort }: NodePlace): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', ({ code }: NodeJS.ErrnoException) => {
      const use = port === busPort ? ', which a node needs for the other nodes (its own port + 10000),' : '';
      reject(new SettingError(`Port ${port}${use} cannot be used (${code}). Choose others with --port.`));
    });
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve()));
  });
}
