import type { Script } from './script.ts';

type AnyScript = Script<string, string, string>;

/** Sends a command and resolves with the reply: a ScriptLink, or ioredis. */
export interface ScriptConnection {
  call(command: string, words: (string | number)[]): Promise<unknown>;
}

/** The prologue's part in one call of a script: its KEYS and ARGV, and the reading of its answers. */
export interface PrologueCall {
  /** Appends the values of the prologue's KEYS and ARGV in the declared order. */
  addTo(keys: string[], args: (string | number)[]): void;
  /**
   * @param answer the answer of the call: a list of strings, or an error
   * @returns the answer for the script's caller; undefined: run the call again after `prepareRepeat`
   * @throws the error for the script's caller
   */
  read(answer: string[] | Error): string[] | undefined;
  prepareRepeat(): Promise<void>;
}

/** An answer: a word, then the values that belong to it. */
export type Answer<Word extends string> = [word: Word, ...figures: string[]];

/** A call that waits for its answer. */
interface Call {
  readonly script: AnyScript;
  readonly keys: Record<string, string>;
  readonly args: Record<string, string | number>;
  readonly prologue: PrologueCall | undefined;
  startedAt: number;
  resolve(answer: Answer<never>): void;
  reject(error: unknown): void;
}

/** Calls of one script that go to Redis in one command. */
class Batch {
  readonly shared: readonly (string | number)[];
  readonly keys: string[] = [];
  readonly args: (string | number)[] = [];
  readonly calls: Call[] = [];

  constructor(shared: readonly (string | number)[]) {
    this.shared = shared;
  }
}

/** The most calls in one command. Redis serves no other client during a command. */
export const MOST_CALLS = 64;

/**
 * Runs scripts by their hash, and loads a script again when Redis has dropped it from its cache.
 *
 * Calls of one script from one turn of the event loop go to Redis in one command, and Redis runs them one after the other. So
 * a batch costs Redis one script start, one transaction in the append-only file and one reply. Each call has its own answer
 * and its own failure. Calls of different scripts have no order among them. Answers arrive in the order in which Redis ran the
 * calls, as long as each caller handles its answer in the first `then` or `await` of the promise (`board-cache.ts`).
 */
export class ScriptRunner {
  readonly #now: () => number;
  readonly #connection: ScriptConnection;
  readonly #observe: (script: string, milliseconds: number) => void;
  readonly #gathered = new Map<AnyScript, Batch>();
  /** The barrier whose PING has not left. */
  #barrier: Promise<void> | undefined;

  /** @param options.now milliseconds since 1970 */
  constructor(connection: ScriptConnection, options: { now: () => number; observe?: (script: string, milliseconds: number) => void }) {
    this.#connection = connection;
    this.#now = options.now;
    this.#observe = options.observe ?? (() => {});
  }

  /** @param prologue without it, the KEYS of the script's prologue are ''. A script whose prologue has ARGV cannot run without it. */
  run<Key extends string, Argument extends string, Word extends string>(
    script: Script<Key, Argument, Word>,
    keys: Record<Key, string>,
    args: Record<Argument, string | number>,
    prologue?: PrologueCall,
  ): Promise<Answer<Word>> {
    return new Promise((resolve, reject) => {
      this.#gather({ script, keys, args, prologue, startedAt: performance.now(), resolve, reject });
    });
  }

  /**
   * Resolves when Redis has written the messages of every script that has answered on this connection before the call. Redis
   * writes what a turn of its own event loop produced in no certain order, but all of it before it reads the next command.
   * So one reply more is needed, and no command sent earlier can take its place. All calls made in one turn of this process's
   * event loop share one PING: it leaves after their microtasks, and before the next piece of data is read.
   */
  barrier(): Promise<void> {
    this.#barrier ??= new Promise((resolve, reject) => {
      process.nextTick(() => {
        this.#barrier = undefined;
        this.#connection.call('PING', []).then(() => resolve(), reject);
      });
    });
    return this.#barrier;
  }

  #gather(call: Call): void {
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
    } catch (error) {
      // Remove the words that were appended: Redis would read them as a part of the next call.
      batch.keys.length = keyCount;
      batch.args.length = argCount;
      return call.reject(error);
    }
    batch.calls.push(call);
    if (batch.calls.length === MOST_CALLS) this.#send(script, batch);
  }

  async #repeat(call: Call, prologue: PrologueCall): Promise<void> {
    try {
      await prologue.prepareRepeat();
      call.startedAt = performance.now();
      this.#gather(call);
    } catch (error) {
      call.reject(error);
    }
  }

  /** The batch that a call with these arguments joins. */
  #batchOf(script: AnyScript, args: Record<string, string | number>): Batch {
    const gathering = this.#gathered.get(script);
    if (gathering !== undefined) {
      if (script.shared.every((name, index) => args[name] === gathering.shared[index])) return gathering;
      this.#send(script, gathering);
    }
    // The batch leaves after this turn of the event loop: one poll of the sockets delivers a burst of requests.
    if (this.#gathered.size === 0) setImmediate(() => this.#sendAll());
    const batch = new Batch(script.shared.map((name) => args[name]!));
    this.#gathered.set(script, batch);
    return batch;
  }

  #sendAll(): void {
    for (const [script, batch] of this.#gathered) this.#send(script, batch);
  }

  #send(script: AnyScript, batch: Batch): void {
    this.#gathered.delete(script);
    if (batch.calls.length === 0) return;
    this.#evaluate(script, [script.sha, batch.keys.length, ...batch.keys, this.#now(), ...batch.shared, ...batch.args]).then(
      (answers) => this.#settle(script, batch, answers),
      (error: unknown) => this.#settle(script, batch, error),
    );
  }

  /** @param words of EVALSHA: hash, number of keys, keys, arguments */
  async #evaluate(script: AnyScript, words: (string | number)[]): Promise<unknown> {
    try {
      return await this.#connection.call('EVALSHA', words);
    } catch (error) {
      // NOSCRIPT: nothing ran. Redis drops its script cache at a restart, a failover and SCRIPT FLUSH. EVAL fills it again.
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return this.#connection.call('EVAL', words.with(0, script.text));
    }
  }

  /** @param answers the list of answers, or the error that failed the whole command */
  #settle(script: AnyScript, { calls }: Batch, answers: unknown): void {
    const now = performance.now();
    for (let index = 0; index < calls.length; index++) {
      const call = calls[index]!;
      this.#observe(script.name, now - call.startedAt);
      const answer = listOrError(Array.isArray(answers) ? answers[index] : answers);
      try {
        const read = call.prologue === undefined ? ownAnswer(answer) : call.prologue.read(answer);
        if (read === undefined) void this.#repeat(call, call.prologue!);
        else call.resolve(read as Answer<never>);
      } catch (error) {
        call.reject(error);
      }
    }
  }
}

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

/** The errors with which Redis refuses a script before its first write. */
const REFUSED_BEFORE_RUNNING = /^(OOM|READONLY|LOADING|MASTERDOWN|NOREPLICAS|MISCONF|BUSY|NOAUTH|NOPERM|Stream isn't writeable)/;

/** The messages of ioredis and of Node's sockets for a connection that broke during a command. */
const LINK_LOST = /^(Connection is closed|Socket timeout|Command timed out|(connect|read|write) E[A-Z]+|This socket has been ended)/;

/**
 * Tells errors of an unavailable Redis from all others.
 * @returns whether the command may have taken effect; undefined for any other error
 */
export function redisFailure(error: unknown): 'not_applied' | 'unknown' | undefined {
  if (!(error instanceof Error)) return undefined;
  if (REFUSED_BEFORE_RUNNING.test(error.message)) return 'not_applied';
  return error.name === 'MaxRetriesPerRequestError' || LINK_LOST.test(error.message) ? 'unknown' : undefined;
}
