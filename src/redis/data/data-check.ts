import { DATA_ID_KEY, heartbeatText, checkData, MOST_BEHIND_MS, newDataId, readData } from './data-id.ts';
import { parseRefusal, type NotedRefusal } from './data-refusal.ts';
import type { DataVerdictOptions } from './known-data.ts';
import type { Answer } from '../script-runner.ts';
import { tagOf } from '../slots.ts';
import { REFUSES_WRITES } from '../write-probe.ts';

/**
 * Milliseconds for which the check does not write after a replica has refused its write. Each refusal closes the connection, and during
 * that time `/ready` would report that Redis is down. For this reason the first write to a replica that has become a primary comes up to 5
 * s late.
 */
const REPLICA_MS = 5000;

/** The data id of one Redis or of one primary of a Cluster, as a check found it. Times are in milliseconds. */
export interface Found {
  /** False: Redis has no data id. `id` is then '', and all figures except `at` are 0. */
  readonly hasId: boolean;
  readonly id: string;
  readonly heartbeat: number;
  readonly heartbeatAfter: number;
  /**
   * When the heartbeat (the data's count of serving time) was last advanced before this check, in milliseconds since 1970 by Redis's clock.
   */
  readonly beatenAt: number;
  readonly acceptedAt: number;
  readonly at: number;
  readonly secret: string;
  readonly refusal: NotedRefusal | undefined;
}

type CheckKeys = Record<'id' | 'secret', string>;
type CheckWords = Record<'known' | 'made' | 'least' | 'beats', string | number>;

/** Reads the id of the data, and adds to the data's count of serving time (heartbeat) if Redis accepts writes. */
export class DataCheck {
  readonly #options: DataVerdictOptions;
  /** Until this time the check does not write, on the clock of `performance.now()`. */
  #readsUntil = -Infinity;

  constructor(options: DataVerdictOptions) {
    this.#options = options;
  }

  /** @param id the id that the data should have. @throws Error if Redis does not answer, or has no data yet and refuses writes */
  async run(keys: CheckKeys, id: string | undefined, isServed: boolean): Promise<Found> {
    const { known, name } = this.#options;
    const sentTick = performance.now();
    const [word, ...figures] = await this.#see(keys, {
      known: id ?? '',
      made: id === undefined && name === undefined ? newDataId() : '',
      least: heartbeatText((known.heartbeats.get(keys.id) ?? 0) - MOST_BEHIND_MS),
      beats: known.stands && isServed ? 1 : 0,
    });
    if (word === 'missing') {
      // At a first start the process has to write the id, so it waits until Redis accepts writes.
      if (id === undefined) throw new Error(`${name ?? 'this Redis'} has no data yet, and takes none`);
      const [at, secret] = figures;
      this.#tell(keys.id, Number(at), sentTick);
      const nothing = { id: '', heartbeat: 0, heartbeatAfter: 0, beatenAt: 0, acceptedAt: 0, refusal: undefined };
      return { hasId: false, ...nothing, at: Number(at), secret: secret! };
    }
    const [found, before, after, beatenAt, acceptedAt, at, secret, refusal] = figures;
    this.#tell(keys.id, Number(at), sentTick);
    return {
      hasId: true,
      id: found!,
      heartbeat: Number(before),
      heartbeatAfter: Number(after),
      beatenAt: Number(beatenAt),
      acceptedAt: Number(acceptedAt),
      at: Number(at),
      secret: secret!,
      refusal: parseRefusal(refusal!),
    };
  }

  /** Whether Redis would accept a write, as far as this process knows. */
  get mayWrite(): boolean {
    return performance.now() >= this.#readsUntil && this.#options.mayWrite();
  }

  /**
   * Tells the clock the time of Redis. On a Cluster the primary of the lowest slot is the reference, so that all processes use the same
   * clock.
   */
  #tell(key: string, at: number, sentTick: number): void {
    const isOfReference = key === DATA_ID_KEY || key === `${tagOf(0)}${DATA_ID_KEY}`;
    this.#options.clock?.saw({ at, sentTick, receivedTick: performance.now(), isOfReference });
  }

  /**
   * Runs the script that reads and advances the heartbeat. A script that only reads runs in its place if Redis refuses writes. It also
   * runs if the disk of the private Redis refuses writes, because with `appendfsync always` Redis exits when it cannot write its file. So a
   * process can start and answer reads while Redis is full, lacks replicas or is a replica.
   */
  async #see(keys: CheckKeys, words: CheckWords): Promise<Answer<'found' | 'missing'>> {
    const { scripts } = this.#options;
    const read = () => scripts.run(readData, keys, { ...words, made: '', beats: 0 });
    if (!this.mayWrite) return read();
    try {
      return await scripts.run(checkData, keys, words);
    } catch (error) {
      const { message } = error as Error;
      // The refusal has closed the connection, which now searches for the primary. If it finds a replica again, the next check must only
      // read.
      if (message.startsWith('READONLY')) this.#readsUntil = performance.now() + REPLICA_MS;
      if (!REFUSES_WRITES.test(message)) throw error;
      return read();
    }
  }
}
