import { setTimeout as pause } from 'node:timers/promises';
import { nameOf, type NodeAddress } from '../redis/shard.ts';
import { slotOf, SLOTS } from '../redis/slots.ts';
import { Unfinished, Unsettled, type Finding } from './auditor.ts';
import { nodeStateOf, type ClusterNodes, type NodeReader, type NodeState } from './cluster-nodes.ts';
import { isRefusal, PATIENCE_MS, unservedText, type ClusterReader, type SlotMap } from './cluster-reader.ts';
import { Tally } from './counts.ts';
import { scanned, type KeyVisitor } from './scan.ts';

/** The most checks of all primaries together that run at the same time. The bound limits the memory. */
const CHECKS_IN_ALL = 2000;

/** The most checks of one primary that run at the same time. */
const CHECKS_OF_ONE = 500;

/**
 * If the scans have missed at most this many slots of a primary, the keys of each missed slot are listed. If they have missed more, the
 * primary is scanned again.
 */
const MOST_LISTED = 512;

/** The most scans of one primary. A scan is repeated if a failover happened during it, or if its connection was lost. */
const MOST_ROUNDS = 10;

/** Milliseconds between two reads of the Cluster's map of slots during a scan, to notice moving slots. */
const REFRESH_INTERVAL_MS = 250;

const RETRY_MS = 50;

/**
 * The COUNT of CLUSTER GETKEYSINSLOT. No slot has so many keys, so Redis answers with all keys of the slot. For 30,000 keys Redis takes
 * some 10 ms.
 */
const ALL_KEYS = 2 ** 31 - 1;

/** A Cluster: the map of its slots, its primaries, and events about slots that moved. */
export interface ScannedCluster extends SlotMap {
  readonly shards: readonly { readonly address: NodeAddress }[];
  on(event: 'moved', listener: (isMoved: (slot: number) => boolean) => void): unknown;
  off(event: 'moved', listener: (isMoved: (slot: number) => boolean) => void): unknown;
}

/**
 * Gives all keys of a Cluster to the visitor. It scans all primaries at the same time. SCAN gives every key of a slot that stays with its
 * primary during the scan. Slots that moved during the scan are read afterwards: the keys of such a slot are listed at a moment at which
 * the slot is not moved to another node. If many slots moved to one primary, as after a failover, that primary is scanned instead.
 *
 * SCAN also gives keys of slots that the scanned node does not serve. If such a slot is moving to the node, requests reach its keys through
 * ASK redirections. If the slot is not moving to the node, an unfinished move of the slot left the keys behind: no request finds them, so
 * they are drift.
 */
export class ClusterScan {
  readonly #cluster: ScannedCluster;
  readonly #nodes: ClusterNodes;
  readonly #visitor: KeyVisitor;
  /** Slots some of whose keys the visitor may not have got yet. */
  readonly #missing = new Set(Array.from({ length: SLOTS }, (_, slot) => slot));
  /** By slot, the time at which the slot was last seen to move, on the clock of `performance.now()`. -1: never. */
  readonly #movedAt = new Float64Array(SLOTS).fill(-1);
  /** By the name of each node: the slots that the node seems not to serve although it has keys of them. */
  readonly #foreign = new Map<string, { address: NodeAddress; slots: Set<number> }>();

  constructor(cluster: ScannedCluster, nodes: ClusterNodes, reader: ClusterReader, visitor: KeyVisitor) {
    this.#cluster = cluster;
    this.#nodes = nodes;
    this.#visitor = visitor;
    reader.onMoved = (slot) => void (this.#movedAt[slot] = performance.now());
  }

  /** @throws Unfinished if a slot has no primary for too long, or keeps moving */
  async run(): Promise<void> {
    const { counts } = this.#visitor;
    const note = (isMoved: (slot: number) => boolean): void => {
      for (let slot = 0; slot < SLOTS; slot++) if (isMoved(slot)) this.#movedAt[slot] = performance.now();
    };
    this.#cluster.on('moved', note);
    const timer = setInterval(() => this.#cluster.refresh(), REFRESH_INTERVAL_MS);
    try {
      const idle = await this.#idle();
      let addresses = [...this.#cluster.shards.map(({ address }) => address), ...idle];
      for (let round = 0; addresses.length > 0; round++) {
        if (round === MOST_ROUNDS)
          throw new Unfinished('Slots of the cluster kept moving, so the audit proves nothing. Run the audit again.');
        const most = Math.min(CHECKS_OF_ONE, Math.ceil(CHECKS_IN_ALL / addresses.length));
        await Promise.all(addresses.map((address) => this.#scanNode(address, most)));
        counts.primaries = new Set(this.#cluster.shards.map(({ address }) => nameOf(address))).size;
        addresses = await this.#toScanAgain();
      }
      const again = new Tally(counts, false);
      for (const slot of [...this.#missing]) await this.#listSlot(slot, again);
      for (const { address, slots } of this.#foreign.values())
        for (const slot of slots) this.#visitor.start(() => this.#checkForeign(slot, address), again);
      await this.#visitor.room(again, 1);
    } finally {
      clearInterval(timer);
      this.#cluster.off('moved', note);
    }
  }

  /** Addresses of primaries without slots, which the map of slots does not name. */
  async #idle(): Promise<readonly NodeAddress[]> {
    const { address } = this.#cluster.shards[0]!;
    const { state } = await this.#state(address);
    return state.idle;
  }

  /** Scans a primary. If the primary becomes a replica or is lost meanwhile, the counts of the scan are dropped. */
  async #scanNode(address: NodeAddress, most: number): Promise<void> {
    const name = nameOf(address);
    const isOwn = (slot: number): boolean => {
      const owner = this.#cluster.shardOf(slot);
      return owner !== undefined && nameOf(owner.address) === name;
    };
    const tally = new Tally(this.#visitor.counts);
    const startedAt = performance.now();
    try {
      const { reader, state: before } = await this.#state(address);
      const served = [...this.#missing].filter((slot) => isOwn(slot) && before.serves(slot) && !before.moving.has(slot));
      for await (const keys of scanned(reader, tally)) {
        for (const key of keys) {
          const slot = slotOf(key);
          if (isOwn(slot)) this.#visitor.key(key, tally);
          else this.#noteForeign(address, slot);
        }
        await this.#visitor.room(tally, most);
      }
      const { state: after } = await this.#state(address);
      if (!after.isPrimary) return tally.drop();
      for (const slot of served)
        if (isOwn(slot) && after.serves(slot) && !after.moving.has(slot) && this.#movedAt[slot]! < startedAt) this.#missing.delete(slot);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      tally.drop();
      this.#cluster.refresh();
    }
  }

  /**
   * Waits until every slot whose keys are missing has a primary. Gives the primaries that have to be scanned again, because they serve many
   * such slots.
   */
  async #toScanAgain(): Promise<NodeAddress[]> {
    const giveUpAt = performance.now() + PATIENCE_MS;
    for (;;) {
      const owners = new Map<string, { address: NodeAddress; count: number }>();
      const unserved: number[] = [];
      for (const slot of this.#missing) {
        const owner = this.#cluster.shardOf(slot);
        if (owner === undefined) {
          unserved.push(slot);
          continue;
        }
        const name = nameOf(owner.address);
        owners.set(name, { address: owner.address, count: (owners.get(name)?.count ?? 0) + 1 });
      }
      const many = [...owners.values()].filter(({ count }) => count > MOST_LISTED).map(({ address }) => address);
      const problem = unserved.length > 0 ? new Error('no primary serves it') : await this.#problemOf(many);
      if (problem === undefined) return many;
      if (performance.now() > giveUpAt) throw new Unfinished(unservedText(unserved[0] ?? [...this.#missing][0]!, problem));
      this.#cluster.refresh();
      await pause(RETRY_MS, undefined, { signal: this.#visitor.signal });
    }
  }

  /** The reason why a primary at one of these addresses cannot be scanned. Undefined: all can be scanned. */
  async #problemOf(addresses: readonly NodeAddress[]): Promise<Error | undefined> {
    const states = await Promise.allSettled(addresses.map((address) => this.#state(address)));
    for (const state of states) {
      if (state.status === 'rejected' && !isRefusal(state.reason)) throw state.reason;
      if (state.status === 'rejected') return state.reason;
      if (!state.value.state.isPrimary) return new Error('its node is a replica');
    }
    return undefined;
  }

  /** Gives the visitor the keys of a slot that moved during the scans. The scans may have given the visitor some of these keys already. */
  async #listSlot(slot: number, tally: Tally): Promise<void> {
    const giveUpAt = performance.now() + PATIENCE_MS;
    for (;;) {
      let problem = new Error('it moves all the time');
      try {
        const keys = await this.#keysAtRest(slot);
        if (keys !== undefined) {
          for (const key of keys) this.#visitor.key(key, tally);
          this.#missing.delete(slot);
          return this.#visitor.room(tally, CHECKS_OF_ONE);
        }
      } catch (error) {
        if (!isRefusal(error)) throw error;
        problem = error;
      }
      if (performance.now() > giveUpAt) throw new Unfinished(unservedText(slot, problem));
      this.#cluster.refresh();
      await pause(RETRY_MS, undefined, { signal: this.#visitor.signal });
    }
  }

  /**
   * Reads the keys of a slot, some of which may have moved to another node already.
   * @returns undefined if the slot's nodes changed meanwhile
   */
  async #keysAtRest(slot: number): Promise<Set<string> | undefined> {
    const owner = this.#cluster.shardOf(slot)?.address;
    if (owner === undefined) return undefined;
    const { reader, state } = await this.#state(owner);
    if (!state.serves(slot)) return undefined;
    // Keys move from the owner to the partner, so the owner is read first. A key that moves meanwhile is then in the list of the owner, of
    // the partner, or of both.
    const keys = await keysOf(reader, slot);
    const target = state.moving.get(slot);
    const partner = target === undefined ? undefined : state.addressOf(target);
    if (partner !== undefined) {
      keys.push(...(await keysOf(await this.#nodes.reader(partner), slot)));
      this.#note(
        `Slot ${slot} is moving from ${nameOf(owner)} to ${nameOf(partner)}: requests for its keys wait until its move has ended.`,
      );
    }
    const { state: after } = await this.#state(owner);
    return after.serves(slot) && after.moving.get(slot) === target ? new Set(keys) : undefined;
  }

  #note(text: string): void {
    const { notes } = this.#visitor.counts;
    if (!notes.includes(text)) notes.push(text);
  }

  #noteForeign(address: NodeAddress, slot: number): void {
    const name = nameOf(address);
    const known = this.#foreign.get(name) ?? { address, slots: new Set() };
    known.slots.add(slot);
    this.#foreign.set(name, known);
  }

  /** Checks a node that has keys of a slot: it has to serve the slot, or the slot has to be moving to it. */
  async #checkForeign(slot: number, address: NodeAddress): Promise<Finding[]> {
    try {
      const { reader, state } = await this.#state(address);
      if (!state.isPrimary || state.serves(slot)) return [];
      const keys = await keysOf(reader, slot);
      if (keys.length === 0) return [];
      const owner = this.#cluster.shardOf(slot)?.address;
      if (owner === undefined) throw new Unsettled('No primary serves the slot');
      const { reader: ofOwner, state: owning } = await this.#state(owner);
      if (!owning.serves(slot)) throw new Unsettled('The slot has another primary by now');
      if (owning.moving.get(slot) === state.id) return [];
      const served = new Set(await keysOf(ofOwner, slot));
      const copies = keys.filter((key) => served.has(key)).length;
      const [here, there] = [nameOf(address), nameOf(owner)];
      const what = `Node ${here} holds ${keys.length} of its keys, such as "${keys[0]}", but node ${there} serves it`;
      const text = copies === 0 ? `${what} and has none of them.` : `${what} and has ${copies} of them too.`;
      return [{ kind: 'misplaced_keys', subject: `slot ${slot}`, text: `${text} No request reaches the keys on ${here}.` }];
    } catch (error) {
      // The node may be restarting, which is no drift, so the check is repeated.
      throw isRefusal(error) ? new Unsettled(error.message) : error;
    }
  }

  async #state(address: NodeAddress): Promise<{ reader: NodeReader; state: NodeState }> {
    const reader = await this.#nodes.reader(address);
    return { reader, state: nodeStateOf((await reader.ask(['CLUSTER', 'NODES'])) as string, address) };
  }
}

async function keysOf(reader: NodeReader, slot: number): Promise<string[]> {
  return (await reader.ask(['CLUSTER', 'GETKEYSINSLOT', slot, ALL_KEYS])) as string[];
}
