import type { Logger } from 'pino';
import { acceptData, heartbeatText, lookAtData, newDataId, readData, succeeds, successorOf } from './data-id.ts';
import type { Answer, ScriptRunner } from './script-runner.ts';
import { REFUSES_WRITES } from './write-probe.ts';

/**
 * How far the heartbeat in Redis may be behind the last one that was acknowledged, in milliseconds of serving. A failover to a replica
 * that lags takes back less: that is logged, and served. More is a Redis that was restored to an older state.
 */
export const MOST_BEHIND_MS = 10_000;

/**
 * How long a look only reads after a replica refused its write: each refusal closes the connection, and `/ready` would say that Redis is
 * away. A promoted replica gets its first heartbeat so much later.
 */
const REPLICA_MS = 5000;

/** What a process knows of the data, over all primaries of a Cluster. */
export interface KnownData {
  /** The id of the data, from memory or from `DATA_DIR/data-id`. */
  id: string | undefined;
  /** The highest heartbeat that was acknowledged, by its key. */
  readonly heartbeats: Map<string, number>;
  /** ACCEPT_DATA. */
  readonly accepts: string | undefined;
  /** The data is complete: data without an id is no first start. One Redis writes all it needs in one script. */
  stands: boolean;
}

/** Why data is not served, and the id with which an operator accepts it. */
export interface DataProblem {
  readonly kind: 'empty' | 'other' | 'older' | 'secret' | 'slot';
  readonly text: string;
  readonly accept: string;
}

export interface PlaceParts {
  /** `host:port` of a primary. Undefined on one Redis. */
  readonly name: string | undefined;
  readonly scripts: Pick<ScriptRunner, 'run'>;
  readonly known: KnownData;
  /** The keys of the id and of the secret. Undefined for a primary that serves no slots. */
  readonly keys: () => { readonly id: string; readonly secret: string } | undefined;
  /** Whether a text is a secret. An operator may be mending a damaged one. */
  readonly isSecret: (text: string) => boolean;
  readonly log: Logger;
  /** The data has this id from now on. */
  readonly adopted: (id: string) => void;
  readonly lost: () => void;
}

/** What a look found: times in milliseconds. */
interface Found {
  readonly id: string;
  readonly heartbeat: number;
  readonly heartbeatAfter: number;
  readonly acceptedAt: number;
  readonly at: number;
  readonly secret: string;
}

type LookKeys = Record<'id' | 'secret', string>;
type LookWords = Record<'known' | 'made' | 'least' | 'beats', string | number>;

/** The data of one Redis, or of one primary of a Cluster, as this process knows it. */
export class DataPlace {
  readonly #parts: PlaceParts;
  /** The last look found the data that the process knows. A Cluster: false also for a primary whose connection was lost since. */
  isChecked = false;
  /** A primary of a Cluster whose slots have no marks yet: a first start, or data of a release without ids. */
  isUnmarked = false;
  #problem: DataProblem | undefined;
  /** The id that the data had last. Undefined: that of `KnownData`. */
  #id: string | undefined;
  #secret = '';
  /** Since when the data has a problem, by Redis's clock. */
  #lostAt = 0;
  /** The heartbeat that the last look found. */
  #lastHeartbeat = 0;
  /** On the clock of `performance.now()`. */
  #readsUntil = -Infinity;
  #words: readonly [id: string, leastHeartbeat: string] = ['', ''];

  constructor(parts: PlaceParts) {
    this.#parts = parts;
  }

  get name(): string {
    return this.#parts.name ?? 'this Redis';
  }

  get problem(): DataProblem | undefined {
    return this.#problem;
  }

  /** What scripts compare, while the data is known and has no problem. */
  get words(): readonly [id: string, leastHeartbeat: string] {
    return this.#words;
  }

  /** @throws Error if Redis does not answer */
  async look(): Promise<void> {
    const { known, keys } = this.#parts;
    const names = keys();
    if (names === undefined) return;
    const id = this.#id ?? known.id;
    const least = Math.max(0, (known.heartbeats.get(names.id) ?? 0) - MOST_BEHIND_MS);
    const words = {
      known: id ?? '',
      made: id === undefined && this.#parts.name === undefined ? newDataId() : '',
      least: heartbeatText(least),
      beats: known.stands && this.#problem === undefined ? 1 : 0,
    };
    const [word, ...figures] = await this.#see(names, words);
    // A first start has to write the id, and waits until it may.
    if (word === 'missing' && id === undefined) throw new Error(`${this.name} has no data yet, and takes none`);
    if (word === 'missing') return this.#missing(Number(figures[0]), figures[1]!);
    const [found, before, after, acceptedAt, at, secret] = figures;
    await this.#judge(names.id, {
      id: found!,
      heartbeat: Number(before),
      heartbeatAfter: Number(after),
      acceptedAt: Number(acceptedAt),
      at: Number(at),
      secret: secret!,
    });
  }

  /**
   * Runs the look. Where Redis refuses writes, the look only reads, so that a process that starts while Redis is full, lacks replicas or is
   * a replica answers reads.
   */
  async #see(names: LookKeys, words: LookWords): Promise<Answer<'found' | 'missing'>> {
    const { scripts } = this.#parts;
    const read = () => scripts.run(readData, names, { ...words, made: '', beats: 0 });
    if (performance.now() < this.#readsUntil) return read();
    try {
      return await scripts.run(lookAtData, names, words);
    } catch (error) {
      const { message } = error as Error;
      // The connection was closed with this answer, and looks for the primary. If it finds a replica again, the next look has to read.
      if (message.startsWith('READONLY')) this.#readsUntil = performance.now() + REPLICA_MS;
      if (!REFUSES_WRITES.test(message)) throw error;
      return read();
    }
  }

  /** A slot has no mark, or that of other data. The next read of all marks takes it back. */
  lacksSlot(slot: number, at: number): void {
    const text = `slot ${slot} of ${this.name} has lost its data`;
    if (this.#problem === undefined) this.#lose({ kind: 'slot', text, accept: successorOf(this.#knownId) }, at);
  }

  /** All slots have the marks that they should have. */
  hasAllSlots(): void {
    if (this.#problem?.kind !== 'slot') return;
    this.#problem = undefined;
    this.#found();
  }

  get #knownId(): string {
    return (this.#id ?? this.#parts.known.id)!;
  }

  async #missing(at: number, secret: string): Promise<void> {
    // Marks of a release without ids, or a first start that is not done: the marks of all slots are written next.
    this.isUnmarked = !this.#parts.known.stands || (secret !== '' && this.#id === undefined);
    if (this.#parts.name !== undefined && this.isUnmarked) {
      this.isChecked = false;
      return;
    }
    this.isUnmarked = false;
    const text = `${this.name} has ${secret === '' ? 'lost its data: it is empty' : 'data without the id that it had'}`;
    await this.#loseUnlessAccepted({ kind: 'empty', text, accept: successorOf(this.#knownId) }, at, '');
  }

  async #judge(key: string, found: Found): Promise<void> {
    this.isUnmarked = false;
    const { known, log, isSecret } = this.#parts;
    const id = this.#id ?? known.id;
    const isAccepted = this.#problem !== undefined && found.acceptedAt >= this.#lostAt;
    if (id === undefined || isAccepted) return this.#adopt(key, found);
    if (found.id !== id) {
      if (succeeds(found.id, id) || found.id === known.accepts) return this.#adopt(key, found);
      return this.#lose({ kind: 'other', text: `${this.name} has other data, with the id ${found.id}`, accept: found.id }, found.at);
    }
    const seen = known.heartbeats.get(key) ?? 0;
    const isBack = found.heartbeat >= seen && found.heartbeat - this.#lastHeartbeat > MOST_BEHIND_MS;
    this.#lastHeartbeat = found.heartbeat;
    const behindMs = seen - found.heartbeat;
    // Another process, which never saw the newer state, may move the heartbeat on. That does not bring back what was lost.
    if (behindMs > MOST_BEHIND_MS || (this.#problem?.kind === 'older' && !isBack)) return this.#isOlder(found, seen);
    if (this.#secret !== '' && isSecret(found.secret) && found.secret !== this.#secret) {
      const text = `${this.name} has another secret of the ledgers than before`;
      return this.#loseUnlessAccepted({ kind: 'secret', text, accept: successorOf(id) }, found.at, found.id);
    }
    if (this.#problem?.kind === 'slot') return;
    if (behindMs > 0)
      log.warn({ behindMs, node: this.#parts.name }, 'redis came back in an older state: the last acknowledged operations may be lost');
    this.#take(key, found);
  }

  #isOlder(found: Found, seen: number): Promise<void> | void {
    const seconds = Math.max(1, Math.round((seen - found.heartbeat) / 1000));
    if (this.#problem?.kind === 'older') return;
    const text = `${this.name} was restored to a state that is ${seconds} s older than the one that this process saw`;
    return this.#loseUnlessAccepted({ kind: 'older', text, accept: successorOf(found.id) }, found.at, found.id);
  }

  #adopt(key: string, found: Found): void {
    this.#id = found.id;
    this.#secret = '';
    this.#problem = undefined;
    this.#parts.known.heartbeats.delete(key);
    this.#parts.adopted(found.id);
    this.#take(key, found);
  }

  #take(key: string, { id, heartbeatAfter, secret }: Found): void {
    this.#id = id;
    if (this.#parts.isSecret(secret)) this.#secret = secret;
    this.#lastHeartbeat = heartbeatAfter;
    this.#parts.known.heartbeats.set(key, heartbeatAfter);
    this.#words = [id, heartbeatText(heartbeatAfter - MOST_BEHIND_MS)];
    this.#problem = undefined;
    this.#found();
  }

  #found(): void {
    this.isChecked = true;
    if (this.#lostAt === 0) return;
    this.#lostAt = 0;
    this.#parts.adopted(this.#knownId);
    this.#parts.log.info({ node: this.#parts.name }, 'redis has data again that is served');
  }

  /** @param seen the id in Redis; '': none */
  async #loseUnlessAccepted(problem: DataProblem, at: number, seen: string): Promise<void> {
    const { scripts, known, keys, name } = this.#parts;
    // Of a Cluster all marks are accepted together (`data-guard.ts`).
    if (name === undefined && known.accepts === problem.accept) {
      await scripts.run(acceptData, { id: keys()!.id }, { seen, to: known.accepts });
      return this.look();
    }
    this.#lose(problem, at);
  }

  #lose(problem: DataProblem, at: number): void {
    this.isChecked = true;
    // A slot without a mark may be the first that is found of a primary that is empty.
    const isSame = problem.kind === this.#problem?.kind || (problem.kind === 'empty' && this.#problem?.kind === 'slot');
    if (isSame && problem.accept === this.#problem?.accept) return;
    this.#problem = problem;
    this.#lostAt = at;
    const { log, known, name } = this.#parts;
    log.fatal(
      { node: name, knownData: known.id, acceptData: problem.accept },
      `${problem.text}. Nothing of it is served. Bring the data back; or accept what is there, with "npm run admin -- data accept", or a start with ACCEPT_DATA=${problem.accept}`,
    );
    this.#parts.lost();
  }
}
