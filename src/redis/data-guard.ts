import { EventEmitter } from 'node:events';
import type { Logger } from 'pino';
import { acceptCluster, type DataSecret } from './accept-cluster.ts';
import type { Cluster } from './cluster.ts';
import type { RedisConnections } from './connections.ts';
import { DATA_ID_KEY, dataIdValue, idIn, newDataId, succeeds } from './data-id.ts';
import { DataPlace, type KnownData } from './data-place.ts';
import { DATA_VERSION_KEY } from './data-version.ts';
import type { ScriptLink } from './script-link.ts';
import { ScriptRunner, type DataCheck, type ScriptConnection, type ScriptShard } from './script-runner.ts';
import { OTHER_DATA } from './script-text.ts';
import type { Shard } from './shard.ts';
import { slotOf, SLOTS, tagOf } from './slots.ts';

const LOOK_INTERVAL_MS = 1000;

/** How long a look that failed waits for the next one, while the process knows no data yet. */
const RETRY_MS = 100;

/** The shortest time between two reads of all marks that nothing but this guard asks for. */
const MARKS_INTERVAL_MS = 5000;

/** What a process remembers of its data from one start to the next: `DATA_DIR/data-id`. */
export interface DataMemory {
  read(): { readonly id: string | undefined; readonly heartbeats: Readonly<Record<string, number>> };
  write(id: string): void;
  /** The data was rolled back behind these heartbeats: after a restart the process must still know. */
  writeHeartbeats(id: string, heartbeats: Readonly<Record<string, number>>): void;
}

export interface GuardOptions {
  readonly log: Logger;
  /** The secret of the ledgers. */
  readonly secret: DataSecret;
  readonly memory?: DataMemory | undefined;
  /** ACCEPT_DATA. */
  readonly accepts?: string | undefined;
}

/**
 * Sees that this process serves the data that it knows, and no other: Redis may have lost its data, been swapped for another one, or been
 * restored to an older state. Each batch of scripts compares the id of the data itself (`script-text.ts`). A look every second, and
 * one whenever a batch met other data, tells why, and moves the heartbeat on (`data-id.ts`).
 *
 * Emits `usable` when data is served that was not before, `lost` when it is not any more, and `marks` when the marks of a Cluster
 * should be read.
 */
export class DataGuard extends EventEmitter<{ usable: []; lost: []; marks: [] }> implements DataCheck {
  readonly #options: GuardOptions;
  readonly #known: KnownData;
  readonly #cluster: Cluster | undefined;
  /** Of one Redis. */
  readonly #place: DataPlace | undefined;
  readonly #placeOf = new WeakMap<ScriptShard, DataPlace>();
  readonly #timer: NodeJS.Timeout;
  #retry: NodeJS.Timeout | undefined;
  #looking: Promise<boolean> | undefined;
  #isClosed = false;
  #asking: NodeJS.Timeout | undefined;
  #marksAskedAt = -Infinity;
  #wasUsable = false;
  /** DATA_DIR named the id. */
  readonly #isRemembered: boolean;

  constructor({ source, scripts }: RedisConnections, options: GuardOptions) {
    super();
    this.#options = options;
    const remembered = options.memory?.read();
    this.#isRemembered = remembered?.id !== undefined;
    this.#known = {
      id: remembered?.id,
      heartbeats: new Map(Object.entries(remembered?.heartbeats ?? {})),
      accepts: options.accepts,
      stands: !('shards' in source),
    };
    if ('shards' in source) {
      this.#cluster = source;
      for (const shard of source.shards) this.#follow(shard);
      source.on('shard', (shard) => this.#follow(shard));
      source.on('moved', () => this.#askForMarks());
    } else {
      const keys = { id: DATA_ID_KEY, secret: options.secret.key };
      this.#place = this.#newPlace(undefined, scripts as ScriptConnection, () => keys);
      (scripts as ScriptLink).on('ready', () => void this.look());
    }
    this.#timer = setInterval(() => void this.look(), LOOK_INTERVAL_MS);
  }

  /** The id of the data, once it is known. */
  get id(): string | undefined {
    return this.#known.id;
  }

  /** A Cluster: its data is complete, so a slot without a mark has lost it. */
  get stands(): boolean {
    return this.#known.stands;
  }

  /** Whether a Redis that answers has data that may be served: of a Cluster any primary. */
  get isUsable(): boolean {
    return this.#places.some((place) => place.isChecked && place.problem === undefined);
  }

  /** What is wrong with the data, in one line. */
  get problem(): string | undefined {
    const problems = this.#places.flatMap(({ problem }) => problem ?? []);
    if (problems.length === 0) return undefined;
    return `${problems.map(({ text }) => text).join('; ')}. An operator has to bring it back, or to accept what is there (docs/operating.md)`;
  }

  wordsFor(shard: ScriptShard | undefined): readonly [id: string, leastHeartbeat: string] {
    const place = shard === undefined ? this.#place : this.#placeOf.get(shard);
    if (place?.problem !== undefined) throw new Error(`${OTHER_DATA} ${place.problem.text}`);
    if (place?.isChecked === true) return place.words;
    // A Cluster sends such a call again, within the time of its request.
    throw new Error(
      shard === undefined ? `${OTHER_DATA} The data is not known yet` : 'CLUSTERDOWN The data of the primary is not known yet',
    );
  }

  metOther(): void {
    void this.look();
  }

  /** Looks at the data of all primaries that answer. Does not throw. @returns false if nothing could be looked at */
  look(): Promise<boolean> {
    return (this.#looking ??= this.#look().finally(() => (this.#looking = undefined)));
  }

  /** As `look`, and sees all that was written before the call. */
  async lookAgain(): Promise<boolean> {
    await this.#looking;
    return this.look();
  }

  placeOf(shard: ScriptShard): DataPlace | undefined {
    return this.#placeOf.get(shard);
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    clearTimeout(this.#retry);
    clearTimeout(this.#asking);
    this.removeAllListeners();
  }

  get #places(): readonly DataPlace[] {
    if (this.#place !== undefined) return [this.#place];
    return this.#cluster!.shards.flatMap((shard) => this.#placeOf.get(shard) ?? []);
  }

  async #look(): Promise<boolean> {
    if (this.#isClosed) return false;
    try {
      if (this.#cluster !== undefined) await this.#lookAtCluster(this.#cluster);
      else await this.#place!.look();
    } catch (error) {
      this.#options.log.debug({ reason: (error as Error).message }, 'could not look at the data in redis');
      return false;
    }
    const { isUsable } = this;
    if (isUsable && !this.#wasUsable) this.emit('usable');
    this.#wasUsable = isUsable;
    return true;
  }

  async #lookAtCluster(cluster: Cluster): Promise<void> {
    const ready = cluster.shards.filter(({ redis, scripts }) => redis.status === 'ready' && scripts.isReady);
    if (this.#known.id === undefined) await this.#findId(cluster, ready);
    if (this.#known.id === undefined) return;
    const lookAtAll = () => Promise.allSettled(ready.map((shard) => this.#placeOf.get(shard)?.look()));
    await lookAtAll();
    // A primary without marks is judged by whether the data stands, and the others tell that.
    if (!this.#known.stands && (await this.#standsNow(cluster))) await lookAtAll();
    const places = this.#places;
    const accepts = places.find(
      ({ problem }) => problem !== undefined && problem.kind !== 'other' && problem.accept === this.#known.accepts,
    );
    if (accepts !== undefined) await acceptCluster(cluster, { to: this.#known.accepts!, secret: this.#options.secret });
    if (places.some(({ isUnmarked }) => isUnmarked) || !this.#known.stands) this.#askForMarks();
  }

  /**
   * The id as the home of the key or any slot has it. Without one this is a first start, or data of a release without ids. The home may
   * have lost its data: all primaries have to say that they know no id, or one that has data and no id in it.
   */
  async #findId(cluster: Cluster, ready: readonly Shard[]): Promise<void> {
    const home = cluster.shardOf(slotOf(DATA_ID_KEY));
    const isHomeReady = home !== undefined && ready.includes(home);
    const ofHome = isHomeReady ? idIn(await home.redis.get(DATA_ID_KEY)) : undefined;
    const marks = await Promise.all(ready.map((shard) => this.#marksOf(shard)));
    let id = ofHome ?? marks.map(([mark]) => idIn(mark)).find((mark) => mark !== undefined);
    const isWhole = ready.reduce((sum, { slots }) => sum + slots.length, 0) === SLOTS && marks.every(([, , isRead]) => isRead);
    const isOlder = marks.some(([mark, secret]) => mark === null && secret !== null);
    if (id === undefined && isHomeReady && (isWhole || isOlder)) {
      await home.redis.set(DATA_ID_KEY, dataIdValue(newDataId(), 0, 0, 0), 'NX');
      id = idIn(await home.redis.get(DATA_ID_KEY));
    }
    this.#known.id = id;
  }

  /** The id and the secret of a slot of the primary, and whether they could be read: the slot may be moving. */
  async #marksOf({ redis, place }: Shard): Promise<[id: string | null, secret: string | null, isRead: boolean]> {
    const tag = place();
    try {
      const [id = null, secret = null] = await redis.mget(`${tag}${DATA_ID_KEY}`, `${tag}${this.#options.secret.key}`);
      return [id, secret, true];
    } catch {
      return [null, null, false];
    }
  }

  /**
   * Whether the data is complete, so that a slot without a mark has lost it: it was served, or the slot of its version has the version and
   * the mark. That mark is the last that is written, also into data of one Redis that was imported with its version
   * (`secret-of-cluster.ts`). The primary of the version may have lost both.
   */
  async #standsNow(cluster: Cluster): Promise<boolean> {
    const slot = slotOf(DATA_VERSION_KEY);
    const home = cluster.shardOf(slot)?.redis;
    const marksOfHome = async () => {
      if (home?.status !== 'ready') return 0;
      return await home.exists(DATA_VERSION_KEY, `${tagOf(slot)}${DATA_VERSION_KEY}`).catch(() => 0);
    };
    const wasServed = this.#known.heartbeats.values().some((heartbeat) => heartbeat > 0);
    if (!wasServed && (await marksOfHome()) < 2 && !(await this.#isGone(cluster))) return false;
    this.#known.stands = true;
    this.#options.memory?.write(this.#known.id!);
    return true;
  }

  /** DATA_DIR names data that the Cluster does not have: it was emptied, or is another one. Without that id it would be a first start. */
  async #isGone(cluster: Cluster): Promise<boolean> {
    const home = cluster.shardOf(slotOf(DATA_ID_KEY))?.redis;
    if (!this.#isRemembered || home?.status !== 'ready') return false;
    try {
      const id = idIn(await home.get(DATA_ID_KEY));
      // Imported data may have been accepted since this process last had it.
      if (id !== undefined && succeeds(id, this.#known.id!)) this.#known.id = id;
      return id !== this.#known.id;
    } catch {
      return false;
    }
  }

  #askForMarks(): void {
    const waitMs = this.#marksAskedAt + MARKS_INTERVAL_MS - performance.now();
    this.#asking ??= setTimeout(
      () => {
        this.#asking = undefined;
        this.#marksAskedAt = performance.now();
        this.emit('marks');
      },
      Math.max(0, waitMs),
    );
  }

  #follow(shard: Shard): void {
    // The lowest slot: all processes move one heartbeat on.
    const keys = () => {
      const tag = shard.slots.length === 0 ? undefined : tagOf(shard.slots.reduce((low, slot) => Math.min(low, slot)));
      return tag === undefined ? undefined : { id: `${tag}${DATA_ID_KEY}`, secret: `${tag}${this.#options.secret.key}` };
    };
    const place = this.#newPlace(shard.name, shard.scripts, keys);
    this.#placeOf.set(shard, place);
    shard.scripts.on('close', () => (place.isChecked = false));
    shard.scripts.on('ready', () => this.#lookSoon());
  }

  /** A look that is under way may have begun before the connection was there. */
  #lookSoon(): void {
    void this.lookAgain().then(() => {
      if (this.#isClosed || this.#places.every(({ isChecked }) => isChecked)) return;
      clearTimeout(this.#retry);
      this.#retry = setTimeout(() => void this.look(), RETRY_MS);
    });
  }

  #newPlace(name: string | undefined, connection: ScriptConnection, keys: () => { id: string; secret: string } | undefined): DataPlace {
    const { log, memory, secret } = this.#options;
    return new DataPlace({
      name,
      scripts: new ScriptRunner(connection, { now: Date.now }),
      known: this.#known,
      keys,
      isSecret: (text) => secret.format.test(text),
      log,
      adopted: (id) => {
        // Accepted data begins at a heartbeat of its own, in slots too whose marks this process saw before.
        if (id !== this.#known.id) this.#known.heartbeats.clear();
        this.#known.id = id;
        if (this.#known.stands) memory?.write(id);
        this.#wasUsable = false;
      },
      lost: () => {
        if (this.#places.some(({ problem }) => problem?.kind === 'older'))
          memory?.writeHeartbeats(this.#known.id!, Object.fromEntries(this.#known.heartbeats));
        this.emit('lost');
      },
    });
  }
}
