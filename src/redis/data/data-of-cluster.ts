import { acceptCluster, type DataSecret } from './accept-cluster.ts';
import type { Cluster } from '../cluster-client.ts';
import { DATA_ID_KEY, dataIdValue, idIn, newDataId, readId, succeeds } from './data-id.ts';
import type { DataVerdict } from './data-verdict.ts';
import { DATA_VERSION_KEY } from './data-version.ts';
import type { DataMemory, KnownData, OwnVerdictOptions } from './known-data.ts';
import type { ScriptShard } from '../script-runner.ts';
import type { Shard } from '../shard.ts';
import { slotOf, SLOTS, tagOf } from '../slots.ts';
import { within } from '../within.ts';

/** Milliseconds from a failed check of a primary to the next check of all primaries. */
const RETRY_MS = 100;

/**
 * The longest time that a check waits for primaries, in milliseconds. Without a bound, a primary that hangs would stop the checks of the
 * others.
 */
const POLL_MS = 500;

/** The shortest time between two reads of the data ids of all slots, in milliseconds. */
const IDS_INTERVAL_MS = 5000;

/** The methods and data that `DataGuard` gives to its part for a Cluster. */
export interface DataOfClusterOptions {
  readonly known: KnownData;
  /** Whether the known id of the data comes from DATA_DIR. */
  readonly isRemembered: boolean;
  readonly secret: DataSecret;
  readonly memory: DataMemory | undefined;
  readonly newPlace: (own: OwnVerdictOptions) => DataVerdict;
  /** Checks the data of all primaries, like `DataGuard.checkAgain`. */
  readonly checkAgain: () => Promise<unknown>;
  /** Must be called after the check of one primary. */
  readonly checked: () => void;
  readonly askForSlots: () => void;
}

/** The data of a Cluster: the verdict on each primary, the id of the data, and whether the data is complete. */
export class DataOfCluster {
  readonly #cluster: Cluster;
  readonly #options: DataOfClusterOptions;
  readonly #placeOf = new WeakMap<ScriptShard, DataVerdict>();
  #retry: NodeJS.Timeout | undefined;
  #asking: NodeJS.Timeout | undefined;
  #slotsAskedAt = -Infinity;
  #isClosed = false;

  constructor(cluster: Cluster, options: DataOfClusterOptions) {
    this.#cluster = cluster;
    this.#options = options;
    for (const shard of cluster.shards) this.#follow(shard);
    cluster.on('shard', (shard) => this.#follow(shard));
    cluster.on('moved', (isMoved) => this.#moved(isMoved));
  }

  get places(): readonly DataVerdict[] {
    return this.#cluster.shards.flatMap((shard) => this.#placeOf.get(shard) ?? []);
  }

  placeOf(shard: ScriptShard): DataVerdict | undefined {
    return this.#placeOf.get(shard);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#asking);
  }

  /** @throws Error if the id is not known, and the primaries that have the id do not answer */
  async check(): Promise<void> {
    const { known, secret } = this.#options;
    const cluster = this.#cluster;
    const ready = cluster.shards.filter(({ redis, scripts }) => redis.status === 'ready' && scripts.isReady);
    if (known.id === undefined) await this.#findId(ready);
    if (known.id === undefined) return;
    const checkAll = () => within(POLL_MS, Promise.allSettled(ready.map((shard) => this.#placeOf.get(shard)?.check())), () => {});
    await checkAll();
    // A primary whose slots have no data ids can be judged only after the other primaries have shown whether the data is complete.
    if (!known.stands && (await this.#standsNow())) await checkAll();
    const { places } = this;
    const accepts = places.find(({ problem }) => problem !== undefined && problem.kind !== 'other' && problem.accept === known.accepts);
    if (accepts !== undefined) await acceptCluster(cluster, { to: known.accepts!, secret });
    if (places.some(({ lacksIds }) => lacksIds) || !known.stands) this.#askForSlots();
  }

  /**
   * Finds the id of the data under its own key, or in one of the copies that each slot has. If it finds no id, this is a first start, or
   * the data was written by a release without ids. The data then gets a new id. To be sure of this, it needs the answers of all primaries,
   * because the primary of the key may have lost its data. The answer of one primary that has data but no id is enough too.
   */
  async #findId(ready: readonly Shard[]): Promise<void> {
    const home = this.#cluster.shardOf(slotOf(DATA_ID_KEY));
    const isHomeReady = home !== undefined && ready.includes(home);
    const ofHome = isHomeReady ? idIn(await readId(home.redis)) : undefined;
    const copies = await Promise.all(ready.map((shard) => this.#copiesOf(shard)));
    let id = ofHome ?? copies.map(([value]) => idIn(value)).find((found) => found !== undefined);
    const isWhole = ready.reduce((sum, { slots }) => sum + slots.length, 0) === SLOTS && copies.every(([_id, _secret, isRead]) => isRead);
    const isOlder = copies.some(([value, secret]) => value === null && secret !== null);
    if (id === undefined && isHomeReady && (isWhole || isOlder)) {
      await home.redis.set(DATA_ID_KEY, dataIdValue(newDataId(), 0, 0, 0), 'NX');
      id = idIn(await readId(home.redis));
    }
    this.#options.known.id = id;
  }

  /** The id and the secret of a slot of the primary, and whether Redis gave both. Redis refuses the read while the slot is moving. */
  async #copiesOf({ redis, place }: Shard): Promise<[id: string | null, secret: string | null, isRead: boolean]> {
    const tag = place();
    try {
      const [id = null, secret = null] = await redis.mget(`${tag}${DATA_ID_KEY}`, `${tag}${this.#options.secret.key}`);
      return [id, secret, true];
    } catch {
      return [null, null, false];
    }
  }

  /**
   * Whether the data is complete, so that a slot without a data id has lost its data. Data that was served before is complete. Data is also
   * complete if the slot of DATA_VERSION_KEY has both the key and the slot's copy of the key. This copy is written last, even into data
   * that was imported from a single Redis (`secret-of-cluster.ts`). The primary of the slot may have lost both. So if the Cluster lacks the
   * id in DATA_DIR, the data was complete too.
   */
  async #standsNow(): Promise<boolean> {
    const { known, memory } = this.#options;
    const slot = slotOf(DATA_VERSION_KEY);
    const home = this.#cluster.shardOf(slot)?.redis;
    const versionsOfHome = async () => {
      if (home?.status !== 'ready') return 0;
      return await home.exists(DATA_VERSION_KEY, `${tagOf(slot)}${DATA_VERSION_KEY}`).catch(() => 0);
    };
    // Heartbeats in DATA_DIR may come from a single Redis whose data was imported. Such heartbeats prove nothing; their key is DATA_ID_KEY
    // without the tag of a slot.
    const wasServed = [...known.found, ...known.heartbeats].some(([key, heartbeat]) => key !== DATA_ID_KEY && heartbeat > 0);
    if (!wasServed && (await versionsOfHome()) < 2 && !(await this.#isGone())) return false;
    known.stands = true;
    memory?.write(known.id!);
    return true;
  }

  /**
   * Whether DATA_DIR names data that the Cluster does not have, because the Cluster was emptied or replaced. False without an id in
   * DATA_DIR.
   */
  async #isGone(): Promise<boolean> {
    const { known, isRemembered } = this.#options;
    const home = this.#cluster.shardOf(slotOf(DATA_ID_KEY))?.redis;
    if (!isRemembered || home?.status !== 'ready') return false;
    try {
      const id = idIn(await readId(home));
      // An operator may have accepted imported data since this process last had the data.
      if (id !== undefined && succeeds(id, known.id!)) known.id = id;
      return id !== known.id;
    } catch {
      return false;
    }
  }

  #follow(shard: Shard): void {
    // The keys of the lowest slot, so that all processes advance the heartbeat of the primary in the same slot.
    const keys = () => {
      const tag = shard.lowestTag;
      return tag === undefined ? undefined : { id: `${tag}${DATA_ID_KEY}`, secret: `${tag}${this.#options.secret.key}` };
    };
    const otherIds = () => {
      const { lowestTag } = shard;
      return shard.slots.map(tagOf).flatMap((tag) => (tag === lowestTag ? [] : `${tag}${DATA_ID_KEY}`));
    };
    const { name, scripts } = shard;
    const place = this.#options.newPlace({ name, scripts, keys, otherIds, idsOf: (slots) => idsOf(shard, slots) });
    this.#placeOf.set(shard, place);
    shard.scripts.on('close', () => (place.isChecked = false));
    shard.scripts.on('ready', () => void this.#checkSoon(place));
  }

  /**
   * A primary may get a slot without its keys: `redis-cli --cluster fix` gives the slots of a dead primary to the other primaries. So no
   * script may run on a primary before the data ids in its new slots have been read.
   */
  #moved(isMoved: (slot: number) => boolean): void {
    for (const shard of this.#cluster.shards) {
      const [place, slots] = [this.#placeOf.get(shard)!, shard.slots.filter(isMoved)];
      if (slots.length === 0) continue;
      place.gets(slots);
      if (shard.scripts.isReady) void this.#checkSoon(place);
    }
    this.#askForSlots();
  }

  /** Checks one primary now, without waiting for the next check of all primaries. */
  async #checkSoon(place: DataVerdict): Promise<void> {
    if (this.#options.known.id !== undefined) await place.checkAgain().catch(() => {});
    if (this.#isClosed) return;
    if (place.isChecked) return this.#options.checked();
    // All primaries are checked if the id is not known yet, or if the check of this primary failed.
    await this.#options.checkAgain();
    if (this.#isClosed || this.places.every(({ isChecked }) => isChecked)) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#options.checkAgain(), RETRY_MS);
  }

  #askForSlots(): void {
    const waitMs = this.#slotsAskedAt + IDS_INTERVAL_MS - performance.now();
    this.#asking ??= setTimeout(
      () => {
        this.#asking = undefined;
        this.#slotsAskedAt = performance.now();
        this.#options.askForSlots();
      },
      Math.max(0, waitMs),
    );
  }
}

/**
 * The values of the data id in slots of a primary. Undefined for a slot that is moving to another primary.
 * @throws Error if the primary does not answer
 */
function idsOf({ scripts }: Shard, slots: readonly number[]): Promise<(string | null | undefined)[]> {
  return Promise.all(
    slots.map(async (slot) => {
      try {
        // MGET reads a value of another type as null, as in `readId`.
        const [value] = (await scripts.call('MGET', [`${tagOf(slot)}${DATA_ID_KEY}`])) as [string | null];
        return value;
      } catch (error) {
        if (/^(MOVED|ASK) /.test((error as Error).message)) return undefined;
        throw error;
      }
    }),
  );
}
