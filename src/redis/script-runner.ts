import { refuse, Refusal } from '../errors.ts';
import { REFUSED_IN_SCRIPT } from './user-rights.ts';
import { ReplicasLate, type Answer, type AnyScript, type Call, type PrologueCall, type ScriptConnection } from './script-call.ts';
import { outboxTagOf, ScriptBatches } from './script-batches.ts';
import { ELSEWHERE, OTHER_DATA, type TextForm } from './script-text.ts';
import { CLUSTER_QUEUE_TAGS, slotOf } from './slots.ts';
import type { Script } from './script.ts';

export { MOST_CALLS, type Answer, type PrologueCall, type ScriptConnection } from './script-call.ts';

/** A primary of a Cluster: the connections and facts that the runner of scripts needs. */
export interface ScriptShard {
  readonly scripts: ScriptConnection;
  /** The connection for durable scripts, whose answers wait for replicas. A WAIT delays all commands after it on the connection. */
  readonly durable: ScriptConnection;
  /** The connection for scripts declared `tracked`. Default: `scripts`. */
  readonly tracked?: ScriptConnection;
  /** Gives the tag of a slot that the primary serves. */
  readonly place: () => string;
  /** The time since which the primary has run no scripts, on the clock of `performance.now()`. Undefined: it runs scripts. */
  readonly awaySince: number | undefined;
}

/** Decides whether scripts may run on the data in Redis (`data-guard.ts`). */
export interface DataCheck {
  /**
   * @param shard the primary of a Cluster. Undefined: the single Redis
   * @returns the id and the least heartbeat that a batch compares with the data in Redis before it runs
   * @throws Error while no script may run
   */
  wordsFor(shard: ScriptShard | undefined): readonly [id: string, leastHeartbeat: string];
  /** A batch found other data in Redis, and did nothing. */
  metOther(): void;
}

/** The map of a Cluster: which primary serves which slot. */
export interface ShardMap {
  /** The primary that serves the slot. Undefined: no primary is known that serves it. */
  shardOf(slot: number): ScriptShard | undefined;
  /** The time since which the slot has had its present primary, or has had none, on the clock of `performance.now()`. */
  servedSince(slot: number): number;
  /** Must be called when a node refused a call before it ran, because the map of slots may have changed. */
  refresh(): void;
}

export interface RunnerOptions {
  /** The time that scripts see as `now`, in milliseconds since 1970. */
  readonly now: () => number;
  readonly observe?: (script: string, milliseconds: number) => void;
  /** Called with the message of each error, if Redis did not run a call or a call failed. */
  readonly failed?: (message: string) => void;
  /** Decides on which data scripts may run. Default: on any data. */
  readonly data?: DataCheck | undefined;
  /** Number of replicas that must have the writes of a script declared `durable` before the script is answered. Default: 0. */
  readonly replicas?: number;
  /** Only for one Redis: the connection for scripts that wait for replicas. A WAIT delays all commands after it on the connection. */
  readonly durable?: ScriptConnection;
  /** Only for one Redis: the connection for scripts declared `tracked`. Default: the connection of all scripts. */
  readonly tracked?: ScriptConnection | undefined;
  /**
   * Called after each answer of a script that may have emitted an event to an outbox (`outbox.ts`). Default: scripts emit no events.
   * @param tag of the outbox. '' on one Redis
   */
  readonly emitted?: ((tag: string) => void) | undefined;
  /** For tests: whether a call fails if it touches keys of another slot than its own and its caller's. */
  readonly checksTags?: boolean;
  readonly timeAheadMs?: number;
}

/**
 * For how long a call that a Cluster refused before it ran is sent again, in milliseconds. A slot may be moving, for example. A request has
 * 2 s.
 */
const REFUSED_MS = 1800;

/** The longest pause, in milliseconds, before a refused call is sent again. */
const MOST_BACKOFF_MS = 50;

/**
 * For how long a primary may be down, or a slot may lack a primary, before its calls are refused at once, in milliseconds. Otherwise
 * requests for the primary that is down would fill MAX_IN_FLIGHT, and requests for the other primaries would be refused.
 */
const AWAY_MS = 500;

/** A script needs its keys and its caller's account on one primary, but they are on two. */
export class SlotsApart extends Error {}

/**
 * Runs scripts by their hash, and loads a script again when Redis has dropped it from its cache.
 *
 * Calls of one script from one turn of the event loop go to Redis in one command, and Redis runs the calls one after the other. So a batch
 * costs Redis one script start, one transaction in the append-only file and one reply. Each call has its own answer and its own failure.
 * Redis may run calls of different scripts in any order. The answers arrive in the order in which Redis ran the calls, as long as each
 * caller handles its answer in the first `then` or `await` of the promise (`board-cache.ts`).
 *
 * In a Cluster each primary gets its own batches. A call that a node refused before it ran is sent again for up to REFUSED_MS. A call whose
 * connection broke is not sent again, because it may have run.
 */
export class ScriptRunner {
  readonly #options: RunnerOptions;
  readonly #form: TextForm;
  readonly #map: ShardMap | undefined;
  readonly #connection: ScriptConnection | undefined;
  /** Gathers calls to a single Redis. Undefined on a Cluster. */
  readonly #batches: ScriptBatches | undefined;
  readonly #durableBatches: ScriptBatches | undefined;
  readonly #trackedBatches: ScriptBatches | undefined;
  /** Gathers calls to each connection of a Cluster. */
  readonly #batchesOf = new WeakMap<ScriptConnection, ScriptBatches>();
  /** Promises of `barrier` whose PING has not been sent yet, by connection. */
  readonly #barriers = new Map<ScriptConnection, Promise<void>>();

  /** @param redis the connection to one Redis, or the map of a Cluster */
  constructor(redis: ScriptConnection | ShardMap, options: RunnerOptions) {
    this.#options = options;
    const waits = (options.replicas ?? 0) > 0;
    this.#form = {
      ...('shardOf' in redis ? { cluster: true } : { database: redis.options?.db ?? 0 }),
      ...(waits ? { waits } : {}),
      ...(options.data === undefined ? {} : { checksData: true }),
      ...(options.emitted === undefined ? {} : { outbox: true }),
      ...(options.checksTags === true ? { checksTags: true } : {}),
      ...(options.timeAheadMs === undefined ? {} : { timeAheadMs: options.timeAheadMs }),
    };
    if ('shardOf' in redis) {
      this.#map = redis;
      return;
    }
    this.#connection = redis;
    this.#batches = this.#batchesOn(redis, false);
    this.#durableBatches = waits ? this.#batchesOn(options.durable ?? redis, true) : this.#batches;
    this.#trackedBatches = options.tracked === undefined ? this.#batches : this.#batchesOn(options.tracked, false);
  }

  /** The number of hash tags over which a queue of due work is spread (queue.ts). */
  get queueTags(): number {
    return this.isOnCluster ? CLUSTER_QUEUE_TAGS : 1;
  }

  /** @param prologue may be left out if the script's prologue has no ARGV. The KEYS of the prologue are '' then */
  run<Key extends string, Argument extends string, Word extends string>(
    script: Script<Key, Argument, Word>,
    keys: Record<Key, string>,
    args: Record<Argument, string | number>,
    prologue?: PrologueCall,
  ): Promise<Answer<Word>> {
    return new Promise((resolve, reject) => {
      this.#send({ script, keys, args, prologue, startedAt: performance.now(), refusals: 0, resolve, reject });
    });
  }

  get isOnCluster(): boolean {
    return this.#map !== undefined;
  }

  /** Whether one primary serves both keys. */
  areTogether(key: string, otherKey: string): boolean {
    if (this.#map === undefined) return true;
    const [slot, otherSlot] = [slotOf(key), slotOf(otherKey)];
    return slot === otherSlot || this.#map.shardOf(slot) === this.#map.shardOf(otherSlot);
  }

  /**
   * Waits for the messages of scripts: every script that was answered before the call, on the connection of this key. Resolves when Redis
   * has written all their messages. Redis writes the output of one turn of its event loop in no certain order, but writes all of it before
   * it reads the next command. So the reply to a command that is sent now comes after the messages. All calls in one turn of this process's
   * event loop share one PING, which is sent after their microtasks and before the next data is read.
   */
  barrier(key: string): Promise<void> {
    const connection = this.#connection ?? this.#map!.shardOf(slotOf(key))?.scripts;
    if (connection === undefined) return Promise.resolve();
    const standing = this.#barriers.get(connection);
    if (standing !== undefined) return standing;
    const barrier = new Promise<void>((resolve, reject) => {
      process.nextTick(() => {
        this.#barriers.delete(connection);
        connection.call('PING', []).then(() => resolve(), reject);
      });
    });
    this.#barriers.set(connection, barrier);
    return barrier;
  }

  /** How long the primary of this key has been known to serve its slot, in milliseconds. Infinity on one Redis. */
  servedMs(key: string): number {
    return this.#map === undefined ? Infinity : performance.now() - this.#map.servedSince(slotOf(key));
  }

  #send(call: Call): void {
    const { script } = call;
    if (this.#batches !== undefined)
      return (script.durable ? this.#durableBatches! : script.tracked ? this.#trackedBatches! : this.#batches).add(call);
    const map = this.#map!;
    const callerKey = call.prologue?.callerKey;
    const homeKey = homeKeyOf(call);
    if (homeKey === undefined) return call.reject(new Error(`${script.name}.lua runs for a caller only`));
    const shard = map.shardOf(slotOf(homeKey));
    if (shard === undefined) return this.#refused(call, new Error('CLUSTERDOWN No primary serves the slot'));
    if (callerKey !== undefined && callerKey !== homeKey && map.shardOf(slotOf(callerKey)) !== shard)
      return this.#end(call, new SlotsApart());
    const waits = this.#form.waits === true && script.durable;
    const connection = waits ? shard.durable : script.tracked ? (shard.tracked ?? shard.scripts) : shard.scripts;
    let batches = this.#batchesOf.get(connection);
    if (batches === undefined) this.#batchesOf.set(connection, (batches = this.#batchesOn(connection, waits, shard)));
    if (batches.isStuck) return this.#end(call, new Error('BUSY The primary has not answered its calls for a while'));
    batches.add(call);
  }

  #batchesOn(connection: ScriptConnection, waits: boolean, shard?: ScriptShard): ScriptBatches {
    const { data } = this.#options;
    return new ScriptBatches({
      connection,
      form: this.#form,
      now: this.#options.now,
      place: shard?.place,
      data: data === undefined ? undefined : () => data.wordsFor(shard),
      replicas: waits ? this.#options.replicas! : 0,
      settle: (script, calls, answers) => this.#settle(script, calls, answers),
    });
  }

  /** The time since which no primary has run scripts in the slot of the call; `now` if a primary runs scripts in the slot. */
  #awaySince(call: Call, now: number): number {
    const slot = slotOf(homeKeyOf(call)!);
    const shard = this.#map!.shardOf(slot);
    return shard === undefined ? this.#map!.servedSince(slot) : (shard.awaySince ?? now);
  }

  /** Handles a call that a Cluster refused before it ran: sends it again after a moment, or gives up. */
  #refused(call: Call, error: Error): void {
    this.#map!.refresh();
    const backoffMs = Math.min(2 ** call.refusals++, MOST_BACKOFF_MS);
    const now = performance.now();
    if (now + backoffMs > call.startedAt + REFUSED_MS || now > this.#awaySince(call, now) + AWAY_MS) return this.#end(call, error);
    setTimeout(() => this.#send(call), backoffMs);
  }

  async #repeat(call: Call, prologue: PrologueCall): Promise<void> {
    try {
      await prologue.prepareRepeat();
      call.startedAt = performance.now();
      this.#send(call);
    } catch (error) {
      call.reject(error);
    }
  }

  /** @param answers the list of answers, or the error with which the whole command failed */
  #settle(script: AnyScript, calls: readonly Call[], answers: unknown): void {
    const now = performance.now();
    if (answers instanceof Error && answers.message.startsWith(OTHER_DATA)) this.#options.data?.metOther();
    for (let index = 0; index < calls.length; index++) {
      const call = calls[index]!;
      const answer = listOrError(Array.isArray(answers) ? answers[index] : answers);
      if (this.#map !== undefined && answer instanceof Error && REFUSED_BY_CLUSTER.test(answer.message)) {
        this.#refused(call, answer);
        continue;
      }
      if (answer instanceof Error) this.#options.failed?.(answer.message);
      this.#options.observe?.(script.name, now - call.startedAt);
      this.#end(call, answer);
    }
    this.#tellEmitted(script, calls);
  }

  #tellEmitted(script: AnyScript, calls: readonly Call[]): void {
    const { emitted } = this.#options;
    if (emitted === undefined || !script.textIn(this.#form).emits) return;
    if (this.#map === undefined) emitted('');
    else for (const call of calls) emitted(outboxTagOf(call));
  }

  #end(call: Call, answer: string[] | Error): void {
    try {
      const read = call.prologue === undefined ? ownAnswer(answer) : call.prologue.read(answer);
      if (read === undefined) void this.#repeat(call, call.prologue!);
      else call.resolve(read as Answer<never>);
    } catch (error) {
      call.reject(error);
    }
  }
}

/** The key whose slot the call runs in. Undefined: the call needs a caller and has none. */
function homeKeyOf({ script, keys, prologue }: Call): string | undefined {
  return script.slotOf === 'caller' ? prologue?.callerKey : keys[script.slotOf];
}

/** The errors with which a Cluster refuses a call before it runs: another node serves the slot, or will serve it soon. */
const REFUSED_BY_CLUSTER = new RegExp(`^(${ELSEWHERE}|MOVED|ASK|TRYAGAIN|CLUSTERDOWN|READONLY|LOADING|MASTERDOWN|Stream isn't writeable)`);

function listOrError(answer: unknown): string[] | Error {
  if (Array.isArray(answer)) return answer as string[];
  return answer instanceof Error ? withoutCommand(answer) : new Error('a script gave no answer');
}

function ownAnswer(answer: string[] | Error): string[] {
  if (answer instanceof Error) throw answer;
  return answer;
}

/** Removes the command that ioredis attaches to its errors: the arguments hold secrets, and errors are logged. */
function withoutCommand(error: Error): Error {
  delete (error as { command?: unknown }).command;
  return error;
}

/** Errors of a script that has written nothing: Redis, a batch's check or the connection refused it before its first write. */
const REFUSED_BEFORE_RUNNING =
  /^(OOM|READONLY|LOADING|MASTERDOWN|NOREPLICAS|MISCONF|BUSY|NOAUTH|NOPERM|ELSEWHERE|OTHERDATA|MOVED|ASK|TRYAGAIN|CLUSTERDOWN|Stream isn't writeable)/;

/** Messages with which ioredis and Node's sockets report that a connection broke during a command. */
const LINK_LOST = /^(Connection is closed|Socket timeout|Command timed out|(connect|read|write) E[A-Z]+|This socket has been ended)/;

/**
 * Tells the errors of an unavailable Redis apart from all other errors.
 * @returns whether the command may have taken effect: `not_applied` or `unknown`; undefined for any other error
 */
export function redisFailure(error: unknown): 'not_applied' | 'unknown' | undefined {
  if (!(error instanceof Error)) return undefined;
  if (REFUSED_IN_SCRIPT.test(error.message)) return 'unknown';
  if (REFUSED_BEFORE_RUNNING.test(error.message)) return error instanceof PartlyDone ? 'unknown' : 'not_applied';
  return error instanceof ReplicasLate || error.name === 'MaxRetriesPerRequestError' || LINK_LOST.test(error.message)
    ? 'unknown'
    : undefined;
}

/** The error when a script did not run after earlier scripts of the same request have written to Redis. */
class PartlyDone extends Error {}

/**
 * Awaits a script that follows other scripts of the same request. If it does not run, the writes of the earlier scripts stay, so the
 * outcome is `unknown`.
 */
export async function afterWrites<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'store_unavailable')
      throw refuse('store_unavailable', { ...error.details, outcome: 'unknown' }, error);
    throw redisFailure(error) === 'not_applied' ? new PartlyDone((error as Error).message, { cause: error }) : error;
  }
}
