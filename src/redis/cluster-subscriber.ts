import { EventEmitter } from 'node:events';
import type { Cluster } from './cluster-client.ts';
import type { Shard } from './shard.ts';
import { slotOf } from './slots.ts';
import type { Subscriptions } from './subscriber.ts';

/** Milliseconds from the moment a node refuses or ends a subscription to the next attempt, so that the map of slots can settle. */
const RETRY_MS = 200;

interface Events {
  ready: [isConcerned: (channel: string) => boolean];
  close: [isLost: (channel: string) => boolean];
  message: [channel: string, message: string];
}

/** The node that has the subscription to a channel. Each new subscription to the channel makes a new object. */
interface Place {
  readonly shard: Shard;
  isConfirmed: boolean;
}

/**
 * The subscriptions to a Cluster. A channel with a hash tag is sharded: processes subscribe to it on the primary of its slot. A channel
 * without a hash tag belongs to the whole Cluster, whose nodes pass the messages of the channel on to each other.
 *
 * A subscription ends when its connection breaks, when its node loses the slot, or when the map of slots names another node for the slot.
 * In each case this class emits `close` for the channels, and `ready` as soon as processes can subscribe to the channels again. For watched
 * rooms `server/live/watched-topics.ts` then subscribes again.
 */
export class ClusterSubscriber extends EventEmitter<Events> implements Subscriptions {
  readonly #cluster: Cluster;
  readonly #places = new Map<string, Place>();
  /** The node on which this process subscribes to the channels of the whole Cluster. */
  #common: Shard | undefined;
  /** Channels whose node no longer serves their slot, while the map of slots does not name the new node yet. */
  #refused = new Set<string>();
  #retry: NodeJS.Timeout | undefined;
  /**
   * Channels whose subscriptions were ended by nodes in this turn of the event loop. When a slot moves, Redis sends a message for each
   * channel of the slot.
   */
  #ended = new Set<string>();

  constructor(cluster: Cluster) {
    super();
    this.#cluster = cluster;
    cluster.on('shard', (shard) => this.#attach(shard));
    cluster.on('moved', (isMoved) => this.#moved(isMoved));
  }

  hears(channel: string): boolean {
    const place = this.#places.get(channel);
    return place?.isConfirmed === true && place.shard === this.#shardOf(channel) && place.shard.subscriber.isReady;
  }

  /** @throws Error if a primary is down or does not serve the slot. A `ready` for the channel follows later */
  async subscribe(...channels: string[]): Promise<void> {
    const asked = [...bySlot(channels)].map(([slot, ofSlot]) => this.#subscribe(slot, ofSlot));
    const failed = (await Promise.allSettled(asked)).find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** Never rejects: if the node cannot be reached, the connection has broken, and the subscription has ended with it. */
  async unsubscribe(...channels: string[]): Promise<void> {
    for (const channel of channels) this.#refused.delete(channel);
    await this.#leave(channels.filter((channel) => this.#places.has(channel)));
  }

  async ping(): Promise<void> {
    await Promise.all(this.#cluster.shards.filter(({ subscriber }) => subscriber.isReady).map(({ subscriber }) => subscriber.ping()));
  }

  /** Does not close connections: they belong to the Cluster. */
  disconnect(): void {
    clearTimeout(this.#retry);
    this.removeAllListeners();
  }

  /**
   * @param channels all in one slot, because Redis refuses channels of two slots in one command. `slot` undefined: channels of the whole
   * Cluster
   */
  async #subscribe(slot: number | undefined, channels: readonly string[]): Promise<void> {
    const shard = slot === undefined ? this.#common : this.#cluster.shardOf(slot);
    if (shard === undefined) throw new Error('CLUSTERDOWN No primary serves the slot');
    const asked: [channel: string, place: Place][] = [];
    for (const channel of channels) {
      const before = this.#places.get(channel);
      // A confirmed subscription stays confirmed while the process requests it again.
      const place = { shard, isConfirmed: before?.shard === shard && before.isConfirmed };
      this.#places.set(channel, place);
      asked.push([channel, place]);
    }
    try {
      await (slot === undefined ? shard.subscriber.subscribe(...channels) : shard.subscriber.subscribeSharded(channels));
    } catch (error) {
      const failed = asked.filter(([channel, place]) => this.#places.get(channel) === place);
      for (const [channel] of failed) this.#places.delete(channel);
      const lost = new Set(failed.filter(([, place]) => place.isConfirmed).map(([channel]) => channel));
      if (lost.size > 0) this.emit('close', (channel) => lost.has(channel));
      // After a broken connection `ready` is emitted later. A node that refused the subscription stays connected, so only a retry leads to
      // a `ready`.
      if (shard.subscriber.isReady) this.#tryLater(failed.map(([channel]) => channel));
      throw error;
    }
    for (const [channel, place] of asked) if (this.#places.get(channel) === place) place.isConfirmed = true;
  }

  /** @param channels that have an entry in `#places` */
  async #leave(channels: readonly string[]): Promise<void> {
    const asked: Promise<void>[] = [];
    for (const [{ subscriber }, onShard] of Map.groupBy(channels, (channel) => this.#places.get(channel)!.shard)) {
      for (const channel of onShard) this.#places.delete(channel);
      if (!subscriber.isReady) continue;
      for (const [slot, ofSlot] of bySlot(onShard))
        asked.push(slot === undefined ? subscriber.unsubscribe(...ofSlot) : subscriber.unsubscribeSharded(ofSlot));
    }
    await Promise.allSettled(asked);
  }

  #shardOf(channel: string): Shard | undefined {
    return isSharded(channel) ? this.#cluster.shardOf(slotOf(channel)) : this.#common;
  }

  #attach(shard: Shard): void {
    const { subscriber } = shard;
    subscriber.on('message', (channel, message) => this.emit('message', channel, message));
    subscriber.on('sunsubscribed', (channel) => this.#end(channel, shard));
    subscriber.on('ready', () => {
      this.#common ??= shard;
      this.emit('ready', (channel) => this.#shardOf(channel) === shard);
    });
    subscriber.on('close', () => {
      const lost = new Set<string>();
      for (const [channel, place] of this.#places) if (place.shard === shard) lost.add(channel);
      for (const channel of lost) this.#places.delete(channel);
      const wasCommon = this.#common === shard;
      if (wasCommon) this.#common = this.#cluster.shards.find((other) => other !== shard && other.subscriber.isReady);
      this.emit('close', (channel) => lost.has(channel));
      if (wasCommon && this.#common !== undefined) this.emit('ready', (channel) => !isSharded(channel));
    });
  }

  /**
   * Slots moved to other primaries. If the new node of a channel is not ready yet, `ready` is emitted for the channel when the node is
   * ready.
   */
  #moved(isMoved: (slot: number) => boolean): void {
    const concerns = (channel: string): boolean => isSharded(channel) && isMoved(slotOf(channel));
    // A node that lost the slot because it became a replica would still send messages, so the process unsubscribes there.
    void this.#leave([...this.#places.keys()].filter(concerns));
    this.emit('close', concerns);
    this.emit('ready', (channel) => concerns(channel) && this.#shardOf(channel)?.subscriber.isReady === true);
  }

  /** Handles the message of a node that a subscription has ended because the node no longer serves the channel's slot. */
  #end(channel: string, shard: Shard): void {
    // The message does not matter if the process has since subscribed to the channel on another node.
    if (this.#places.get(channel)?.shard !== shard) return;
    this.#places.delete(channel);
    if (this.#ended.size === 0) queueMicrotask(() => this.#tellEnded());
    this.#ended.add(channel);
  }

  #tellEnded(): void {
    const ended = this.#ended;
    this.#ended = new Set();
    this.emit('close', (channel) => ended.has(channel));
    this.#tryLater([...ended]);
  }

  #tryLater(channels: readonly string[]): void {
    if (channels.length === 0) return;
    this.#cluster.refresh();
    for (const channel of channels) this.#refused.add(channel);
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      const refused = this.#refused;
      this.#refused = new Set();
      this.emit('ready', (channel) => refused.has(channel) && !this.#places.has(channel));
    }, RETRY_MS).unref();
  }
}

function isSharded(channel: string): boolean {
  return channel.startsWith('{');
}

/** Groups channels by slot. The channels of the whole Cluster form the group `undefined`. */
function bySlot(channels: readonly string[]): Map<number | undefined, string[]> {
  return Map.groupBy(channels, (channel) => (isSharded(channel) ? slotOf(channel) : undefined));
}
