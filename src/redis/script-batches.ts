import { MOST_CALLS, ReplicasLate, type AnyScript, type Call, type ScriptConnection } from './script-call.ts';
import type { ScriptText, TextForm } from './script-text.ts';
import { slotOf, tagOf } from './slots.ts';

/** Calls of one script that go to Redis in one command. `shared` are the arguments that all calls of the batch have in common. */
class Batch {
  readonly script: AnyScript;
  readonly shared: readonly (string | number)[];
  readonly keys: string[] = [];
  readonly args: (string | number)[] = [];
  readonly calls: Call[] = [];
  readonly text: ScriptText;

  constructor(script: AnyScript, shared: readonly (string | number)[], form: TextForm) {
    this.script = script;
    this.shared = shared;
    this.text = script.textIn(form);
  }
}

export interface ScriptBatchesOptions {
  readonly connection: ScriptConnection;
  readonly form: TextForm;
  /** The time that scripts see as `now`, in milliseconds since 1970. */
  readonly now: () => number;
  /** Gives the tag of a slot that the node serves. It is for keys of which each slot has a copy. Only on a Cluster. */
  readonly place?: (() => string) | undefined;
  /** Gives the id and the lowest heartbeat of the data on which a batch may run. @throws Error while no batch may run */
  readonly data?: (() => readonly [id: string, leastHeartbeat: string]) | undefined;
  /** Number of replicas that must have the writes before the calls are answered. 0: answer without replicas. */
  readonly replicas: number;
  /** @param answers the list of answers, or the error with which the whole command failed */
  readonly settle: (script: AnyScript, calls: readonly Call[], answers: unknown) => void;
}

/**
 * If this many calls are open on one connection, and no answer has come for SILENT_MS, the primary hangs, and the runner refuses further
 * calls to it. Otherwise requests for the hanging primary would fill MAX_IN_FLIGHT, and requests for the other primaries would be refused.
 */
const MOST_SILENT_CALLS = 500;
const SILENT_MS = 500;

const NO_WORDS: readonly string[] = [];

/** How long Redis waits for the replicas, in milliseconds: shorter than the deadline of a request. */
const REPLICAS_WAIT_MS = 1500;

/** The tag in the key of the outbox of a call on a Cluster. */
export function outboxTagOf({ script, keys, prologue }: Call): string {
  return tagOf(slotOf(script.outboxOf === undefined ? (prologue?.callerKey ?? keys[script.slotOf]!) : keys[script.outboxOf]!));
}

/** Gathers the calls of one turn of the event loop, and sends them on one connection. */
export class ScriptBatches {
  readonly #options: ScriptBatchesOptions;
  /** The open batch of each script. A turn uses few scripts, so searching a list costs less than filling a Map in each turn. */
  #gathered: Batch[] = [];
  /** Batches of scripts that wait for replicas. They are sent together with the next WAIT. */
  #round: Batch[] = [];
  #isWaiting = false;
  /** Whether an EVAL ran after the WAIT of the current round. */
  #evaluatedAgain = false;
  /** Whether open calls are counted for `isStuck`. False on a single Redis, where no calls to other primaries need protection. */
  readonly #countsOpen: boolean;
  /** Number of calls without an answer. */
  #open = 0;
  /** The time of the last answer, or of the first open call, on the clock of `performance.now()`. */
  #answeredAt = 0;

  readonly #leave = (): void => this.#sendAll();

  constructor(options: ScriptBatchesOptions) {
    this.#options = options;
    this.#countsOpen = options.form.cluster === true;
  }

  /** Whether at least MOST_SILENT_CALLS calls wait and no answer has come for SILENT_MS. */
  get isStuck(): boolean {
    return this.#open >= MOST_SILENT_CALLS && performance.now() > this.#answeredAt + SILENT_MS;
  }

  add(call: Call): void {
    const { script, keys, args, prologue } = call;
    const batch = this.#batchOf(script, args);
    const { length: keyCount } = batch.keys;
    const { length: argCount } = batch.args;
    try {
      for (const name of script.keys) batch.keys.push(keys[name]!);
      for (const name of script.args) batch.args.push(args[name]!);
      if (prologue !== undefined) prologue.addTo(batch.keys, batch.args);
      else if (script.prologue !== undefined) {
        if (script.prologue.args.length > 0) throw new Error(`${script.name}.lua runs for a caller only`);
        for (const _ of script.prologue.keys) batch.keys.push('');
      }
      if (batch.text.bringsTag) batch.args.push(outboxTagOf(call));
    } catch (error) {
      // Remove the appended words. Otherwise Redis would take them for words of the next call.
      batch.keys.length = keyCount;
      batch.args.length = argCount;
      return call.reject(error);
    }
    batch.calls.push(call);
    if (this.#countsOpen && this.#open++ === 0) this.#answeredAt = performance.now();
    if (batch.calls.length === MOST_CALLS) this.#leaveEarly(batch);
  }

  /** Finds or makes the batch for a call of the script with these arguments. */
  #batchOf(script: AnyScript, args: Record<string, string | number>): Batch {
    const gathering = this.#gathered.find((batch) => batch.script === script);
    if (gathering !== undefined) {
      if (script.shared.every((name, index) => args[name] === gathering.shared[index])) return gathering;
      this.#leaveEarly(gathering);
    }
    // The batch is sent after this turn of the event loop, because one poll of the sockets delivers a burst of requests.
    if (this.#gathered.length === 0 && !this.#isWaiting) setImmediate(this.#leave);
    const batch = new Batch(
      script,
      script.shared.map((name) => args[name]!),
      this.#options.form,
    );
    this.#gathered.push(batch);
    return batch;
  }

  /** Sends a batch before the turn ends. */
  #leaveEarly(batch: Batch): void {
    this.#gathered.splice(this.#gathered.indexOf(batch), 1);
    this.#send(batch);
  }

  #sendAll(): void {
    const gathered = this.#gathered;
    this.#gathered = [];
    for (const batch of gathered) this.#send(batch);
    if (this.#round.length > 0 && !this.#isWaiting) void this.#commit();
  }

  #send(batch: Batch): void {
    if (batch.calls.length === 0) return;
    if (this.#options.replicas > 0) {
      this.#round.push(batch);
      return;
    }
    this.#evaluate(batch).then(
      (answers) => this.#settle(batch.script, batch.calls, answers),
      (error: unknown) => this.#settle(batch.script, batch.calls, error),
    );
  }

  #settle(script: AnyScript, calls: readonly Call[], answers: unknown): void {
    if (this.#countsOpen) {
      this.#open -= calls.length;
      this.#answeredAt = performance.now();
    }
    this.#options.settle(script, calls, answers);
  }

  /**
   * Sends all collected batches and one WAIT. No call is answered before the replicas have the writes. Redis runs nothing else on this
   * connection until then, so calls that come in the meantime are collected for the next round.
   */
  async #commit(): Promise<void> {
    const round = this.#round;
    this.#round = [];
    this.#isWaiting = true;
    this.#evaluatedAgain = false;
    const evaluations = round.map((batch) => this.#evaluate(batch));
    let waited = this.#wait();
    const answers = await Promise.allSettled(evaluations);
    // If Redis answered NOSCRIPT, the EVAL that followed ran after the WAIT, so a second WAIT is needed.
    if (this.#evaluatedAgain) waited = this.#wait();
    const error = await waited;
    this.#isWaiting = false;
    round.forEach(({ script, calls }, index) => {
      const answer = answers[index]!;
      this.#settle(script, calls, answer.status === 'rejected' ? answer.reason : (error ?? answer.value));
    });
    this.#sendAll();
  }

  /** Waits for the replicas. @returns the error for all calls of the round, if too few replicas have the writes */
  async #wait(): Promise<Error | undefined> {
    const { connection, replicas } = this.#options;
    try {
      const count = Number(await connection.call('WAIT', [replicas, REPLICAS_WAIT_MS]));
      return count >= replicas ? undefined : new ReplicasLate(count, replicas);
    } catch (error) {
      return error as Error;
    }
  }

  async #evaluate({ text: { text, sha }, shared, keys, args }: Batch): Promise<unknown> {
    const { connection, form, now, place, data } = this.#options;
    const known = data === undefined ? NO_WORDS : data();
    const words =
      form.cluster === true
        ? [sha, 0, now(), place!(), ...known, ...shared, ...keys, ...args]
        : [sha, keys.length, ...keys, now(), ...known, ...shared, ...args];
    try {
      if (form.cluster === true && connection.callTracked !== undefined) return await connection.callTracked('EVALSHA', words, keys);
      return await connection.call('EVALSHA', words);
    } catch (error) {
      // NOSCRIPT: nothing ran. Redis drops its script cache at a restart, a failover and SCRIPT FLUSH. EVAL fills it again.
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      this.#evaluatedAgain = true;
      return connection.call('EVAL', words.with(0, text));
    }
  }
}
