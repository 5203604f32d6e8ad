import { EventEmitter } from 'node:events';
import type { Cluster } from './cluster.ts';
import type { Shard } from './shard.ts';
import { slotOf } from './slots.ts';
import type { Subscriptions } from './subscriber.ts';

/** How long a subscription that a node refused waits for the map to settle. */
const RETRY_MS = 200;

interface Events {
  ready: [isConcerned: (channel: string) => boolean];
  close: [];
  message: [channel: string, message: string];
}

/**
 * The subscriptions to a Cluster. A channel with a hash tag is sharded: only the primary of its slot knows it, and processes subscribe
 * there. Any other channel is one of the whole Cluster, whose nodes pass its messages on to each other.
 */
export class ClusterSubscriber extends EventEmitter<Events> implements Subscriptions {
  readonly #cluster: Cluster;
  /** The node on which channels of the whole Cluster are subscribed to. */
  #common: Shard | undefined;

  constructor(cluster: Cluster) {
    super();
    this.#cluster = cluster;
    cluster.on('shard', (shard) => this.#attach(shard));
    cluster.on('moved', (isMoved) => this.emit('ready', (channel) => isSharded(channel) && isMoved(slotOf(channel))));
  }

  hears(channel: string): boolean {
    return this.#shardOf(channel)?.subscriber.isReady === true;
  }

  /** @throws Error if a primary is away or does not serve the slot; a `ready` for the channel follows then */
  async subscribe(...channels: string[]): Promise<void> {
    await this.#each(channels, (shard, ofSlot) =>
      isSharded(ofSlot[0]!) ? shard.subscriber.subscribeSharded(ofSlot) : shard.subscriber.subscribe(...ofSlot),
    );
  }

  async unsubscribe(...channels: string[]): Promise<void> {
    await this.#each(channels, (shard, ofSlot) =>
      isSharded(ofSlot[0]!) ? shard.subscriber.unsubscribeSharded(ofSlot) : shard.subscriber.unsubscribe(...ofSlot),
    );
  }

  async ping(): Promise<void> {
    await Promise.all(this.#cluster.shards.filter(({ subscriber }) => subscriber.isReady).map(({ subscriber }) => subscriber.ping()));
  }

  /** The connections belong to the Cluster. */
  disconnect(): void {
    this.removeAllListeners();
  }

  /** Calls `ask` with the channels of each slot: Redis refuses channels of two slots in one command. */
  async #each(channels: readonly string[], ask: (shard: Shard, ofSlot: string[]) => Promise<void>): Promise<void> {
    const asked = [...Map.groupBy(channels, (channel) => (isSharded(channel) ? slotOf(channel) : -1)).values()].map(async (ofSlot) => {
      const shard = this.#shardOf(ofSlot[0]!);
      if (shard === undefined) throw new Error('CLUSTERDOWN No primary serves the slot');
      try {
        await ask(shard, ofSlot);
      } catch (error) {
        if ((error as Error).message.startsWith('MOVED')) this.#again(ofSlot);
        throw error;
      }
    });
    const outcomes = await Promise.allSettled(asked);
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  #shardOf(channel: string): Shard | undefined {
    return isSharded(channel) ? this.#cluster.shardOf(slotOf(channel)) : this.#common;
  }

  #attach(shard: Shard): void {
    const { subscriber } = shard;
    subscriber.on('message', (channel, message) => this.emit('message', channel, message));
    subscriber.on('sunsubscribed', (channel) => this.#again([channel]));
    subscriber.on('ready', () => {
      this.#common ??= shard;
      this.emit('ready', (channel) => this.#shardOf(channel) === shard);
    });
    subscriber.on('close', () => {
      if (this.#common === shard) {
        this.#common = this.#cluster.shards.find((other) => other.subscriber.isReady);
        if (this.#common !== undefined) this.emit('ready', (channel) => !isSharded(channel));
      }
      this.emit('close');
    });
  }

  /** The node no longer serves the slot of these channels, and the map does not know yet who does. */
  #again(channels: readonly string[]): void {
    this.#cluster.refresh();
    const concerned = new Set(channels);
    setTimeout(() => this.emit('ready', (channel) => concerned.has(channel)), RETRY_MS).unref();
  }
}

function isSharded(channel: string): boolean {
  return channel.startsWith('{');
}
