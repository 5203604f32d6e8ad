import { EventEmitter } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { checkRights, type Rights } from './user-rights.ts';
import { checkRedis, OPTIONS, type RedisHealth } from './connect.ts';
import type { ShardMap } from './script-runner.ts';
import { nameOf, Shard, type NodeAddress, type NodeOptions } from './shard.ts';
import { SLOTS } from './slots.ts';
import { TrackedKeys } from './tracked.ts';
import { UsableConnection } from './usable-connection.ts';
import { within } from './within.ts';
import { withWrites } from './write-probe.ts';

/** Milliseconds between two requests for the map of slots while all primaries are connected. */
const POLL_INTERVAL_MS = 1000;

/** Milliseconds between two requests for the map of slots while a primary is down, because a replica may take its place. */
const AWAY_INTERVAL_MS = 200;

/**
 * Shortest time between two requests for the map of slots, in milliseconds. While a slot moves, each of thousands of refused calls asks for
 * a new map.
 */
const URGED_INTERVAL_MS = 20;

/** How long a node may take to answer, in milliseconds. */
const ANSWER_MS = 500;

/**
 * How long the process waits for the maps of the other nodes after it has received the first map, in milliseconds. A node that hangs must
 * not delay the choice of a map.
 */
const LATE_MS = 50;

/** The most nodes that are asked for a map at a time. */
const MOST_ASKED = 7;

/**
 * How long the process refuses a map that is older than the last known epoch, in milliseconds. After this time it takes the older map.
 * Either the Cluster was created anew, or all nodes that the process can reach are cut off from the others.
 */
const EPOCH_KEPT_MS = 5000;

/** How long connections to a former primary stay open, in milliseconds, so that answers on their way can arrive. */
const FAREWELL_MS = 3000;

/** How long `opened` waits for the primaries, in milliseconds. */
const OPENING_MS = 2000;

/** The map of slots as one node knows it. */
interface NodeView {
  readonly epoch: number;
  readonly isOk: boolean;
  readonly ranges: readonly { readonly from: number; readonly to: number; readonly primary: NodeAddress }[];
  readonly nodes: readonly NodeAddress[];
}

/**
 * A Redis Cluster: the map of slots to primaries, and the connections to all primaries. The map of slots is the answer to `CLUSTER SLOTS`
 * of the node that knows the highest epoch, because a node that was cut off has an old map. The process asks for the map every second, and
 * at once when a node refuses a call.
 *
 * When slots have moved to other primaries, emits `moved` with a function that tells whether a given slot has moved.
 */
export class Cluster extends EventEmitter<{ moved: [isMoved: (slot: number) => boolean]; shard: [shard: Shard] }> implements ShardMap {
  readonly #seeds: readonly NodeAddress[];
  readonly #options: NodeOptions;
  readonly #replicas: number;
  readonly #rights: Rights | undefined;
  readonly #log: Logger;
  /** Tells which keys have changed, on any primary, since scripts declared `tracked` read them. */
  readonly trackedKeys = new TrackedKeys();
  readonly #shards = new Map<string, Shard>();
  /** Connections to nodes that are not known as primaries. The process only asks these nodes for the map of slots. */
  readonly #scouts = new Map<string, Redis>();
  /** The time at which a primary lost its last slot, on the clock of `performance.now()`. */
  readonly #leftAt = new WeakMap<Shard, number>();
  #slots: (Shard | undefined)[] = Array.from({ length: SLOTS });
  readonly #servedSince = new Float64Array(SLOTS);
  /** The ranges of slots in the last map, as `textOf` writes them. */
  #rangesText = '';
  #known: readonly NodeAddress[];
  #epoch = 0;
  #timer: NodeJS.Timeout | undefined;
  #askedAt = -Infinity;
  #asking = false;
  /** `refresh` was called while maps were being read. Those maps may be older than the change that led to the call. */
  #isUrged = false;
  #closed = false;
  #tookAt = -Infinity;
  #hasWarned = false;
  /** The reason why a node gave no map of slots, by the node's name. */
  readonly #problems = new Map<string, string>();

  /**
   * @param replicas the number of replicas for which scripts declared `durable` wait, on a connection of their own. 0: no script waits
   * @param rights the rights that the Redis user needs before a primary is used. Default: the rights are not checked
   */
  constructor(seeds: readonly NodeAddress[], options: NodeOptions, replicas: number, log: Logger, rights?: Rights) {
    super();
    this.#rights = rights;
    this.#seeds = this.#known = seeds;
    this.#options = options;
    this.#replicas = replicas;
    this.#log = log;
    for (const seed of seeds) this.#scout(seed);
    this.#plan(0);
  }

  get shards(): readonly Shard[] {
    return [...this.#shards.values()].filter((shard) => shard.slots.length > 0);
  }

  /** Whether at least one primary is known and its connection for scripts is ready. */
  get isReady(): boolean {
    return this.shards.some((shard) => shard.scripts.isReady);
  }

  /** Whether every slot has a primary that serves, with all connections to it open. */
  get #isWhole(): boolean {
    const areOpen = this.shards.every(({ awaySince, isWhole }) => awaySince === undefined && isWhole);
    return areOpen && this.#slots.every((shard) => shard !== undefined);
  }

  shardOf(slot: number): Shard | undefined {
    return this.#slots[slot];
  }

  servedSince(slot: number): number {
    return this.#servedSince[slot]!;
  }

  refresh(): void {
    if (this.#closed) return;
    if (this.#asking) this.#isUrged = true;
    else this.#plan(Math.max(0, this.#askedAt + URGED_INTERVAL_MS - performance.now()));
  }

  /** Resolves when all slots have a connected primary, or after OPENING_MS. */
  async opened(): Promise<void> {
    const giveUpAt = performance.now() + OPENING_MS;
    while (!this.#isWhole && performance.now() < giveUpAt) await pause(10);
  }

  /** Healthy while at least one primary serves. `degraded` names the problems of the other primaries, and the slots without a primary. */
  async health(): Promise<RedisHealth> {
    const degraded: string[] = [];
    let serving = 0;
    await Promise.all(
      this.shards.map(async (shard) => {
        const { ok, problem } = await healthOf(shard, this.#replicas);
        if (ok) serving++;
        if (problem !== undefined) degraded.push(`${shard.name}: ${problem} (slots ${rangesOf(shard.slots)})`);
      }),
    );
    const orphans = Array.from(this.#slots, (shard, slot) => (shard === undefined ? slot : -1)).filter((slot) => slot >= 0);
    if (orphans.length === SLOTS) {
      const reasons = [...this.#problems].map(([name, problem]) => `${name}: ${problem}`);
      return { ok: false, problem: ['no node of the cluster told which primaries serve', ...reasons].join('; ') };
    }
    if (orphans.length > 0) degraded.push(`no primary serves the slots ${rangesOf(orphans)}`);
    degraded.sort();
    if (serving === 0) return { ok: false, problem: degraded.join('; ') };
    return degraded.length === 0 ? { ok: true } : { ok: true, degraded };
  }

  disconnect(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const shard of this.#shards.values()) shard.disconnect();
    for (const scout of this.#scouts.values()) scout.disconnect();
  }

  #plan(milliseconds: number): void {
    clearTimeout(this.#timer);
    if (!this.#closed) this.#timer = setTimeout(() => void this.#poll(), milliseconds);
  }

  async #poll(): Promise<void> {
    this.#asking = true;
    this.#isUrged = false;
    this.#askedAt = performance.now();
    try {
      const views = await this.#views();
      if (!this.#closed) this.#choose(views);
    } catch (error) {
      // Every error is caught, so that the `finally` can plan the next request. Otherwise the map would never change again.
      this.#log.error({ reason: (error as Error).message }, 'the map of the cluster could not be taken');
    } finally {
      this.#asking = false;
      this.#plan(this.#isUrged || !this.isReady ? URGED_INTERVAL_MS : this.#isWhole ? POLL_INTERVAL_MS : AWAY_INTERVAL_MS);
    }
  }

  /** The maps of slots that nodes send within LATE_MS after the first map. */
  async #views(): Promise<NodeView[]> {
    const asked = [...this.#shards.values()].map(({ redis, address }) => ({ redis, address }));
    for (const [name, redis] of this.#scouts) asked.push({ redis, address: this.#addressOf(name) });
    const able = shuffled(asked.filter(({ redis }) => redis.status === 'ready')).slice(0, MOST_ASKED);
    const views: NodeView[] = [];
    const firstView = Promise.withResolvers<void>();
    const asking = able.map(async ({ redis, address }) => {
      try {
        const view = await viewOf(redis, address);
        views.push(view);
        this.#shards.get(nameOf(address))?.told(view.isOk);
        this.#problems.delete(nameOf(address));
        firstView.resolve();
      } catch (error) {
        this.#problems.set(nameOf(address), (error as Error).message);
      }
    });
    await Promise.race([Promise.all(asking), firstView.promise.then(() => pause(LATE_MS))]);
    return [...views];
  }

  #choose(views: readonly NodeView[]): void {
    const [best] = views.toSorted((one, other) => other.epoch - one.epoch || Number(other.isOk) - Number(one.isOk));
    if (best === undefined) for (const address of this.#known) this.#scout(address);
    else if (best.epoch >= this.#epoch || performance.now() > this.#tookAt + EPOCH_KEPT_MS) this.#take(best);
  }

  #take({ epoch, ranges, nodes }: NodeView): void {
    this.#epoch = epoch;
    this.#tookAt = performance.now();
    this.#known = unique([...this.#seeds, ...nodes]);
    // The map rarely changes. Building the table of slots takes a millisecond or more, in which the process serves no request.
    const text = textOf(ranges);
    if (text === this.#rangesText) {
      for (const shard of this.#shards.values()) shard.serve(shard.slots);
      return;
    }
    this.#rangesText = text;
    const slots = new Array<Shard | undefined>(SLOTS).fill(undefined);
    const served = new Map<Shard, number[]>();
    for (const { from, to, primary } of ranges) {
      const shard = this.#shard(primary);
      const own = served.get(shard) ?? [];
      for (let slot = from; slot <= to; slot++) {
        slots[slot] = shard;
        own.push(slot);
      }
      served.set(shard, own);
    }
    const before = this.#slots;
    this.#slots = slots;
    for (const shard of this.#shards.values()) {
      const slotsNow = served.get(shard) ?? [];
      const leaves = shard.slots.length > 0 && slotsNow.length === 0;
      shard.serve(slotsNow);
      if (leaves) this.#leave(shard);
    }
    this.#dismissScouts();
    const now = performance.now();
    for (let slot = 0; slot < SLOTS; slot++) if (slots[slot] !== before[slot]) this.#servedSince[slot] = now;
    if (slots.some((shard, slot) => shard !== before[slot])) {
      this.#log.debug({ epoch, primaries: served.size }, 'the slots of the cluster have other primaries');
      this.emit('moved', (slot) => slots[slot] !== before[slot]);
    }
  }

  #shard(address: NodeAddress): Shard {
    const name = nameOf(address);
    const known = this.#shards.get(name);
    if (known !== undefined) return known;
    this.#scouts.get(name)?.disconnect();
    this.#scouts.delete(name);
    this.#problems.delete(name);
    const shard = new Shard(address, {
      options: this.#options,
      waits: this.#replicas > 0,
      rights: this.#rights,
      trackedKeys: this.trackedKeys,
      log: this.#log,
    });
    this.#shards.set(name, shard);
    shard.redis.once('ready', () => {
      void this.#warnOfCoverage(shard);
      void this.#warnOfDurability(shard);
    });
    this.emit('shard', shard);
    return shard;
  }

  async #warnOfCoverage({ redis, name }: Shard): Promise<void> {
    if (this.#hasWarned || !(await needsAllSlots(redis)) || this.#hasWarned) return;
    this.#hasWarned = true;
    const message = 'one slot without a primary stops the whole cluster: set cluster-require-full-coverage to no';
    this.#log.warn({ node: name }, message);
  }

  async #warnOfDurability({ redis, name }: Shard): Promise<void> {
    const persistence = await redis.info('persistence').catch(() => '');
    if (!/^aof_enabled:0/m.test(persistence)) return;
    this.#log.warn({ node: name }, 'a restart of this primary loses acknowledged coin operations: set appendonly to yes');
  }

  #leave(shard: Shard): void {
    const leftAt = performance.now();
    this.#leftAt.set(shard, leftAt);
    setTimeout(() => {
      // In the meantime the node may have become a primary again. It may even have become a primary and lost its slots a second time.
      if (shard.slots.length > 0 || this.#leftAt.get(shard) !== leftAt) return;
      this.#shards.delete(shard.name);
      this.#problems.delete(shard.name);
      shard.disconnect();
    }, FAREWELL_MS).unref();
  }

  #scout(address: NodeAddress): void {
    const name = nameOf(address);
    if (this.#scouts.has(name) || this.#shards.has(name)) return;
    const redis = new Redis({ ...OPTIONS, ...this.#options, ...address, connectionName: 'coinop-scout' });
    redis.on('error', (error: Error) => this.#problems.set(name, error.message));
    const check = async (asked: Redis): Promise<void> => {
      if (this.#rights !== undefined) await checkRights(asked, this.#rights);
    };
    const checked = (asked: Redis): Promise<void> =>
      check(asked).catch((error: Error) => {
        this.#problems.set(name, error.message);
        throw error;
      });
    // Later each primary logs its own outages. Until a first node has sent a map, only these connections can tell why nothing is served.
    const log = this.#shards.size === 0 ? this.#log.child({ node: name }) : undefined;
    new UsableConnection(redis, { check: checked, log }).on('usable', () => {
      this.#problems.delete(name);
      this.refresh();
    });
    this.#scouts.set(name, redis);
  }

  /** Closes connections to nodes that have left the Cluster. Otherwise ioredis would try to connect forever. */
  #dismissScouts(): void {
    const known = new Set(this.#known.map(nameOf));
    for (const [name, scout] of this.#scouts) {
      if (known.has(name)) continue;
      scout.disconnect();
      this.#scouts.delete(name);
      this.#problems.delete(name);
    }
  }

  #addressOf(name: string): NodeAddress {
    return this.#known.find((address) => nameOf(address) === name) ?? this.#seeds[0]!;
  }
}

/** Whether a primary serves. A primary with too few replicas serves requests, but does not acknowledge scripts that wait for replicas. */
async function healthOf({ connection, redis, scripts, durable, problem, wasConnected }: Shard, replicas: number): Promise<RedisHealth> {
  if (!connection.isUsable || !scripts.isReady || !durable.isReady) {
    const reason = problem ?? 'is away';
    return { ok: false, problem: wasConnected ? reason : `${reason}; the nodes announce this address, and it has never been reached` };
  }
  try {
    const asked = [withWrites(checkRedis(redis, true), redis), redis.call('CLUSTER', 'INFO'), redis.info('replication')] as const;
    const [{ problem: found }, info, replication] = await answered(Promise.all(asked));
    if (found !== undefined) return { ok: false, problem: found };
    if (!/^cluster_state:ok/m.test(String(info))) return { ok: false, problem: await whyDown(redis) };
    const connected = Number(/^connected_slaves:(\d+)/m.exec(replication)?.[1] ?? 0);
    if (connected >= replicas) return { ok: true };
    return { ok: true, problem: `acknowledges no coin operation: it has ${connected} replicas, and REDIS_WAIT_REPLICAS is ${replicas}` };
  } catch (error) {
    return { ok: false, problem: (error as Error).message };
  }
}

/** The reason why a node that answers serves no slot, in words for the operator. */
async function whyDown(redis: Redis): Promise<string> {
  const down = 'serves nothing, because its cluster_state is fail';
  const stops = await needsAllSlots(redis);
  return stops ? `${down}: with cluster-require-full-coverage yes one slot without a primary stops all of them` : down;
}

/** Whether one slot without a primary stops the whole Cluster. False if Redis refuses to show its settings. */
async function needsAllSlots(redis: Redis): Promise<boolean> {
  try {
    const [, value] = (await answered(redis.config('GET', 'cluster-require-full-coverage'))) as string[];
    return value === 'yes';
  } catch {
    return false;
  }
}

/**
 * @throws Error if the node does not answer in time, is no node of a Cluster, or knows of no slot because it has not joined a Cluster yet
 */
async function viewOf(redis: Redis, asked: NodeAddress): Promise<NodeView> {
  const [info, slots] = await answered(Promise.all([redis.call('CLUSTER', 'INFO'), redis.call('CLUSTER', 'SLOTS')]));
  // A node that does not know its own address sends no host. The host is then the address to which the request was sent.
  const addressOf = ([host, port]: [string | null, number]): NodeAddress => ({
    host: host === null || host === '' ? asked.host : host,
    port,
  });
  const rows = slots as [from: number, to: number, primary: [string | null, number], ...replicas: [string | null, number][]][];
  if (rows.length === 0) throw new Error('it knows of no primary that serves slots');
  return {
    epoch: Number(/^cluster_current_epoch:(\d+)/m.exec(String(info))?.[1] ?? 0),
    isOk: /^cluster_state:ok/m.test(String(info)),
    ranges: rows.map(([from, to, primary]) => ({ from, to, primary: addressOf(primary) })),
    nodes: rows.flatMap(([_from, _to, ...nodes]) => nodes.map(addressOf)),
  };
}

function answered<Result>(work: Promise<Result>): Promise<Result> {
  return within(ANSWER_MS, work, () => {
    throw new Error(`no answer in ${ANSWER_MS} ms`);
  });
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item);
}

/** The primaries and their ranges of slots as one text, sorted, because nodes list the ranges in different orders. */
function textOf(ranges: NodeView['ranges']): string {
  return ranges
    .toSorted((one, other) => one.from - other.from)
    .map(({ from, to, primary }) => `${from}-${to} ${nameOf(primary)}`)
    .join(',');
}

function unique(addresses: readonly NodeAddress[]): NodeAddress[] {
  return [...new Map(addresses.map((address) => [nameOf(address), address])).values()];
}

/** Slots as text: `0-5460, 7000`. */
function rangesOf(slots: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const slot of slots) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === slot - 1) last[1] = slot;
    else ranges.push([slot, slot]);
  }
  return ranges.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(', ');
}
