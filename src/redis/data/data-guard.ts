import { EventEmitter } from 'node:events';
import type { Logger } from 'pino';
import type { DataSecret } from './accept-cluster.ts';
import type { RedisConnections } from '../redis-connections.ts';
import { DATA_ID_KEY } from './data-id.ts';
import { DataOfCluster } from './data-of-cluster.ts';
import { DataVerdict } from './data-verdict.ts';
import type { DataMemory, KnownData, OwnVerdictOptions } from './known-data.ts';
import type { RedisClock } from '../redis-clock.ts';
import type { ScriptLink } from '../script-link.ts';
import { ScriptRunner, type DataCheck, type ScriptShard } from '../script-runner.ts';
import { OTHER_DATA } from '../script-text.ts';

const POLL_INTERVAL_MS = 1000;

export interface GuardOptions {
  readonly log: Logger;
  /** Gets Redis's time from each check. Default: none. */
  readonly clock?: RedisClock;
  /** For tests: milliseconds by which the command TIME in scripts is ahead of Redis's clock. */
  readonly timeAheadMs?: number | undefined;
  /** The secret of the ledgers: its key, its format, and the function that makes a new one. */
  readonly secret: DataSecret;
  readonly memory?: DataMemory | undefined;
  /** The setting ACCEPT_DATA: the id of data that the operator accepts. */
  readonly accepts?: string | undefined;
  /**
   * The number of replicas that must have the heartbeat (the data's count of serving time) before the process relies on it. Scripts
   * declared `durable` wait for the same number.
   */
  readonly replicas?: number;
  /** False while the private Redis would exit at its next write, because its disk refuses writes. Default: always true. */
  readonly mayWrite?: () => boolean;
  /**
   * Resolves when the connections are open and have checked the version of the data. If the promise rejects, the guard does nothing, so
   * that data of an unsupported version gets no id. Default: the connections count as open already.
   */
  readonly opened?: Promise<void>;
}

/**
 * Makes sure that this process serves only the data that it knows. Redis may have lost its data, may have been replaced by another Redis,
 * or may have been restored to an older state. Each batch of scripts compares the id of the data (`script-text.ts`). The guard reads the id
 * every second to advance the heartbeat (`data-id.ts`). It also reads the id whenever a batch has met other data, to find the reason.
 *
 * Emits `usable` when it begins to serve data, `lost` when it stops serving, and `slots` when the data ids of all slots of a Cluster should
 * be read.
 */
export class DataGuard extends EventEmitter<{ usable: []; lost: []; slots: [] }> implements DataCheck {
  readonly #options: GuardOptions;
  readonly #mayCheck: Promise<boolean>;
  readonly #known: KnownData;
  /** Runs scripts whose answers wait for replicas. Undefined without REDIS_WAIT_REPLICAS. */
  readonly #durable: ScriptRunner | undefined;
  /** Runs scripts in any slot, even if the data was not checked. */
  readonly #unchecked: ScriptRunner;
  readonly #cluster: DataOfCluster | undefined;
  /** The verdict on the data of a single Redis. Undefined on a Cluster. */
  readonly #place: DataVerdict | undefined;
  readonly #timer: NodeJS.Timeout;
  #checking: Promise<boolean> | undefined;
  #isClosed = false;
  #wasUsable = false;

  constructor({ source, scripts, durable }: RedisConnections, options: GuardOptions) {
    super();
    this.#options = options;
    const { memory, opened = Promise.resolve(), replicas = 0, secret } = options;
    const remembered = memory?.read();
    this.#mayCheck = opened.then(
      () => true,
      () => false,
    );
    this.#known = {
      id: remembered?.id,
      heartbeats: new Map(Object.entries(remembered?.newest.heartbeats ?? {})),
      times: new Map(Object.entries(remembered?.newest.times ?? {})),
      found: new Map(),
      accepts: options.accepts,
      stands: !('shards' in source),
    };
    this.#unchecked = new ScriptRunner(scripts, { now: Date.now, timeAheadMs: options.timeAheadMs });
    if (replicas > 0)
      this.#durable = new ScriptRunner(scripts, { now: Date.now, replicas, data: this, ...(durable === undefined ? {} : { durable }) });
    if ('shards' in source) {
      this.#cluster = new DataOfCluster(source, {
        known: this.#known,
        isRemembered: remembered?.id !== undefined,
        secret,
        memory,
        newPlace: (own) => this.#newPlace(own),
        checkAgain: () => this.checkAgain(),
        checked: () => this.#tell(),
        askForSlots: () => this.emit('slots'),
      });
    } else {
      const link = scripts as ScriptLink;
      const keys = { id: DATA_ID_KEY, secret: secret.key };
      this.#place = this.#newPlace({ name: undefined, scripts: link, keys: () => keys, otherIds: () => [] });
      link.on('ready', () => void this.check());
    }
    this.#timer = setInterval(() => void this.check(), POLL_INTERVAL_MS);
  }

  /** The id of the data, once it is known. */
  get id(): string | undefined {
    return this.#known.id;
  }

  /** For a Cluster: whether its data is complete, so that a slot without a data id has lost its data. Always true for a single Redis. */
  get stands(): boolean {
    return this.#known.stands;
  }

  /** Whether Redis, or any primary of a Cluster, has data that may be served. */
  get isUsable(): boolean {
    return this.#places.some((place) => place.isChecked && place.problem === undefined);
  }

  /** The problem of the data and how to solve it, in one line for operators. Undefined: there is no problem. */
  get problem(): string | undefined {
    const problems = this.#places.flatMap(({ problem }) => problem ?? []);
    if (problems.length === 0) return undefined;
    return `${problems.map(({ text }) => text).join('; ')}. An operator has to bring it back, or to accept what is there: npm run admin -- data accept (docs/operating.md#data-that-is-gone)`;
  }

  wordsFor(shard: ScriptShard | undefined): readonly [id: string, leastHeartbeat: string] {
    const place = shard === undefined ? this.#place : this.placeOf(shard);
    if (place?.problem !== undefined) throw new Error(`${OTHER_DATA} ${place.problem.text}`);
    if (place?.isChecked === true) return place.words;
    // On a Cluster the script runner sends a call that was refused with CLUSTERDOWN again, while the call's request has time left.
    throw new Error(
      shard === undefined ? `${OTHER_DATA} The data is not known yet` : 'CLUSTERDOWN The data of the primary is not known yet',
    );
  }

  metOther(): void {
    void this.check();
  }

  /** Checks the data of all primaries that answer. Does not throw. @returns false if no primary could be checked */
  check(): Promise<boolean> {
    return (this.#checking ??= this.#check().finally(() => (this.#checking = undefined)));
  }

  /** Like `check`, but starts after any check that is running, so that it sees all that was written before the call. */
  async checkAgain(): Promise<boolean> {
    await this.#checking;
    return this.check();
  }

  placeOf(shard: ScriptShard): DataVerdict | undefined {
    return this.#cluster?.placeOf(shard);
  }

  /** Stops the checks. Resolves once DATA_DIR has the newest serving time of the data. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#cluster?.close();
    this.removeAllListeners();
    await this.#options.memory?.written();
  }

  get #places(): readonly DataVerdict[] {
    return this.#place === undefined ? this.#cluster!.places : [this.#place];
  }

  async #check(): Promise<boolean> {
    if (!(await this.#mayCheck) || this.#isClosed) return false;
    try {
      await (this.#cluster ?? this.#place!).check();
    } catch (error) {
      this.#options.log.debug({ reason: (error as Error).message }, 'could not check the data in redis');
      return false;
    }
    const { id, stands, heartbeats, times } = this.#known;
    if (id !== undefined && stands)
      this.#options.memory?.remember(id, { heartbeats: Object.fromEntries(heartbeats), times: Object.fromEntries(times) });
    this.#tell();
    return true;
  }

  #tell(): void {
    const { isUsable } = this;
    if (isUsable && !this.#wasUsable) this.emit('usable');
    this.#wasUsable = isUsable;
  }

  #newPlace({ scripts, ...own }: OwnVerdictOptions): DataVerdict {
    const { log, memory, secret, clock, timeAheadMs, mayWrite = () => true } = this.#options;
    const [durable, unchecked] = [this.#durable, this.#unchecked];
    return new DataVerdict({
      ...own,
      scripts: new ScriptRunner(scripts, { now: Date.now, timeAheadMs }),
      durable,
      unchecked,
      clock,
      known: this.#known,
      mayWrite,
      isSecret: (text) => secret.format.test(text),
      log,
      adopted: (id) => {
        // Accepted data counts its serving time from 0, so the process drops the heartbeats of the former data.
        if (id !== this.#known.id) {
          this.#known.heartbeats.clear();
          this.#known.found.clear();
          this.#known.times.clear();
        }
        this.#known.id = id;
        if (this.#known.stands) memory?.write(id);
        this.#wasUsable = false;
      },
      lost: () => this.emit('lost'),
    });
  }
}
