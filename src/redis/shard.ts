import { Redis, type RedisOptions } from 'ioredis';
import type { Logger } from 'pino';
import type { Rights } from './user-rights.ts';
import { keepUsable, OPTIONS } from './connect.ts';
import { ScriptLink } from './script-link.ts';
import type { ScriptShard } from './script-runner.ts';
import { tagOf } from './slots.ts';
import { Subscriber } from './subscriber.ts';
import { TrackedReads, type TrackedKeys } from './tracked.ts';
import type { UsableConnection } from './usable-connection.ts';

export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

/** User, password and TLS, the same for all nodes of a Cluster. */
export type NodeOptions = Pick<RedisOptions, 'username' | 'password' | 'tls'>;

/** The name of a node in messages: `host:port`. */
export function nameOf({ host, port }: NodeAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The options that the connections to all primaries share. */
export interface ShardOptions {
  readonly options: NodeOptions;
  /** Whether scripts that wait for replicas have their own connection, on which a WAIT delays no other script. */
  readonly waits: boolean;
  readonly rights: Rights | undefined;
  readonly trackedKeys: TrackedKeys;
  readonly log: Logger;
}

interface RedisNodeOptions extends Omit<ShardOptions, 'options'> {
  /** Begins the names of channels. */
  readonly prefix: string;
  /** As for `ScriptLink`. */
  readonly leavesReplica: boolean;
}

/** One Redis, or a primary of a Cluster, and this process's connections to it. */
export class RedisNode {
  /** The connection for commands that run no scripts, such as INFO and CLUSTER SLOTS. */
  readonly redis: Redis;
  readonly connection: UsableConnection;
  readonly scripts: ScriptLink;
  /** If no script waits for replicas, this is the connection of `scripts`. */
  readonly durable: ScriptLink;
  readonly subscriber: Subscriber;
  readonly tracked: TrackedReads;

  constructor(redis: Redis, { prefix, leavesReplica, waits, rights, trackedKeys, log }: RedisNodeOptions) {
    this.redis = redis;
    this.connection = keepUsable(redis, { rights, log });
    this.scripts = new ScriptLink(redis, { leavesReplica, rights });
    this.durable = waits ? new ScriptLink(redis, { leavesReplica, rights }) : this.scripts;
    this.subscriber = new Subscriber(redis, prefix, rights);
    this.tracked = new TrackedReads(redis, trackedKeys, { leavesReplica, rights });
    this.connection.on('refused', () => {
      for (const link of new Set([this.scripts, this.durable, this.subscriber, this.tracked])) link.checkAgain();
    });
  }

  disconnect(): void {
    this.subscriber.disconnect();
    this.tracked.disconnect();
    this.scripts.disconnect();
    if (this.durable !== this.scripts) this.durable.disconnect();
    this.redis.disconnect();
  }
}

/**
 * The slots among which a place is drawn. Each place may get counters of its own (`counters.ts`), so there should be few places: one in 256
 * slots. A primary with few slots draws among more of them, so that it has another place while the slot of one place moves.
 */
function placesAmong(slots: readonly number[]): readonly number[] {
  const FEWEST = 4;
  for (const every of [256, 16]) {
    const found = slots.filter((slot) => slot % every === 0);
    if (found.length >= FEWEST) return found;
  }
  return slots;
}

/** A primary of a Cluster. */
export class Shard extends RedisNode implements ScriptShard {
  readonly address: NodeAddress;
  readonly name: string;
  /** The slots that the primary serves, by the last map of slots. */
  slots: readonly number[] = [];
  wasConnected = false;
  #place = '';
  #placeSlots: readonly number[] = [];
  #closedSince: number | undefined = performance.now();
  #failsSince: number | undefined;

  constructor(address: NodeAddress, { options, log, ...shared }: ShardOptions) {
    const name = nameOf(address);
    super(new Redis({ ...OPTIONS, ...options, ...address }), {
      ...shared,
      log: log.child({ node: name }),
      prefix: '',
      leavesReplica: false,
    });
    this.address = address;
    this.name = name;
    this.redis.on('ready', () => (this.wasConnected = true));
    this.scripts.on('ready', () => (this.#closedSince = undefined));
    this.scripts.on('close', () => (this.#closedSince ??= performance.now()));
  }

  /** Whether all connections to the primary are usable. */
  get isWhole(): boolean {
    return this.connection.isUsable && this.scripts.isReady && this.durable.isReady && this.subscriber.isReady;
  }

  /**
   * The reason why a connection to the primary is not usable, if it is known. It may name the node's address, because the name of a primary
   * contains it too.
   */
  get problem(): string | undefined {
    return this.connection.failure?.message ?? this.scripts.problem ?? this.durable.problem;
  }

  /**
   * The time since which scripts cannot run on this primary, on the clock of `performance.now()`: the primary is not connected, or refuses
   * all calls. Undefined: scripts can run.
   */
  get awaySince(): number | undefined {
    return this.#closedSince ?? this.#failsSince;
  }

  /**
   * @param isOk whether the node reports `cluster_state:ok`. A node that is cut off from most primaries reports `fail` and refuses all
   * calls
   */
  told(isOk: boolean): void {
    this.#failsSince = isOk ? undefined : (this.#failsSince ?? performance.now());
  }

  readonly place = (): string => this.#place;

  /** The tag of the primary's lowest slot, by which processes judge its data. Undefined while the primary serves no slot. */
  get lowestTag(): string | undefined {
    return this.slots.length === 0 ? undefined : tagOf(this.slots.reduce((low, slot) => Math.min(low, slot)));
  }

  /** @param slots that the primary serves now. The same array as before: the slots are unchanged */
  serve(slots: readonly number[]): void {
    if (slots !== this.slots) this.#placeSlots = placesAmong(slots);
    this.slots = slots;
    // The slot is drawn at random each time, because the previous slot may be moving to another primary together with its keys.
    const drawn = this.#placeSlots[Math.floor(Math.random() * this.#placeSlots.length)];
    if (drawn !== undefined) this.#place = tagOf(drawn);
  }
}
