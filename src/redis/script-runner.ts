import { rateLimited, refuse } from '../errors.ts';
import type { Script } from './script.ts';

/** The caller as a script sees it: whose account, under which session, and whether one may be created. */
export interface ScriptCaller {
  readonly accountKey: string;
  readonly movesKey: string;
  readonly signedOutKey: string | undefined;
  /** Whether its creations are bounded by nothing, or were counted before. */
  readonly createsFreely: boolean;
  /** Reserves one creation for its address. 0 where there was one left, else milliseconds to wait. */
  reserveCreation(): number | Promise<number>;
  giveBackCreation(): void;
}

/** The session was signed out. Caught by the pipeline, which asks again as if there had been no session. */
export class SessionEnded extends Error {}

type AnyScript = Script<string, string, string>;

/** What sends a command and resolves with its reply: a ScriptLink, or ioredis. */
export interface ScriptConnection {
  call(command: string, words: (string | number)[]): Promise<unknown>;
}

/** A call that waits for its answer. */
interface Call {
  readonly script: AnyScript;
  readonly keys: Record<string, string>;
  readonly args: Record<string, string | number>;
  readonly caller: ScriptCaller | undefined;
  /** Whether the script may open the caller's account; `reserved`: and has a creation for it that may have to go back. */
  readonly mayCreate: boolean | 'reserved';
  readonly startedAt: number;
  resolve(answer: Answer<never>): void;
  reject(error: unknown): void;
}

/** Calls of one script that leave in one command. */
class Batch {
  readonly keys: string[] = [];
  readonly args: (string | number)[] = [];
  readonly calls: Call[] = [];
}

/** Calls in one command: Redis does nothing else meanwhile. */
export const MOST_CALLS = 64;

/**
 * Runs scripts: by hash, loaded again where Redis forgot them.
 *
 * Calls of one script that are made in one turn of the event loop leave in one command, and Redis runs them one after the
 * other: what it costs to start a script, to begin and end its transaction in the append-only file, and to answer is paid
 * once. Each has its own answer and its own failure. Calls of different scripts keep no order among them.
 */
export class Scripts {
  readonly #connection: ScriptConnection;
  readonly #now: () => number;
  readonly #observe: (script: string, milliseconds: number) => void;
  readonly #gathered = new Map<AnyScript, Batch>();

  constructor(connection: ScriptConnection, options: { now: () => number; observe?: (script: string, milliseconds: number) => void }) {
    this.#connection = connection;
    this.#now = options.now;
    this.#observe = options.observe ?? (() => {});
  }

  /** A script for nobody in particular. */
  run<Key extends string, Argument extends string, Word extends string>(
    script: Script<Key, Argument, Word>,
    keys: Record<Key, string>,
    args: Record<Argument, string | number>,
  ): Promise<Answer<Word>> {
    return this.#call(script, keys, args, undefined);
  }

  /**
   * A script that acts for a caller. Where it finds that it would open the caller's account, a creation is reserved for that,
   * and it runs once more: the first write of an account takes two round trips, and every other call one.
   * @throws SessionEnded where the caller's session was signed out; then nothing was done
   * @throws Refusal `sign_in_required` where the caller's account moved into another; then nothing was done
   * @throws Refusal `rate_limited` where it would have created one account too many from this address
   */
  runAs<Key extends string, Argument extends string, Word extends string>(
    caller: ScriptCaller,
    script: Script<Key, Argument, Word>,
    keys: Record<Key, string>,
    args: Record<Argument, string | number>,
  ): Promise<Answer<Word>> {
    return this.#call(script, keys, args, caller);
  }

  /** Resolves when Redis has done, and told everybody of, all that it had answered before this call. */
  async barrier(): Promise<void> {
    await this.#connection.call('PING', []);
  }

  #call<Word extends string>(
    script: AnyScript,
    keys: Record<string, string>,
    args: Record<string, string | number>,
    caller: ScriptCaller | undefined,
  ): Promise<Answer<Word>> {
    return new Promise((resolve, reject) => {
      const mayCreate = caller === undefined || script.caller !== 'writes' || caller.createsFreely;
      this.#gather({ script, keys, args, caller, mayCreate, startedAt: performance.now(), resolve, reject });
    });
  }

  #gather(call: Call): void {
    const { script, keys, args, caller, mayCreate } = call;
    const { accountKey = '', movesKey = '', signedOutKey = '' } = caller ?? {};
    const now = this.#now();
    // From here on nothing throws: half a call would be read as part of the next one.
    const batch = this.#batchOf(script);
    for (const name of script.keys) batch.keys.push(keys[name]!);
    for (const name of script.args) batch.args.push(args[name]!);
    if (script.caller === 'writes') {
      batch.keys.push(accountKey);
      batch.args.push(now, mayCreate ? '' : '1');
    }
    if (script.caller !== undefined) batch.keys.push(movesKey, signedOutKey);
    batch.calls.push(call);
    if (batch.calls.length === MOST_CALLS) this.#send(script, batch);
  }

  /** Calls again, now that it is known that it will create something. */
  async #create(call: Call, caller: ScriptCaller): Promise<void> {
    try {
      const waitMs = await caller.reserveCreation();
      if (waitMs > 0) throw rateLimited(waitMs);
      this.#gather({ ...call, mayCreate: 'reserved', startedAt: performance.now() });
    } catch (error) {
      call.reject(error);
    }
  }

  #batchOf(script: AnyScript): Batch {
    const gathering = this.#gathered.get(script);
    if (gathering !== undefined) return gathering;
    // Requests come in bursts, a poll of the sockets at a time.
    if (this.#gathered.size === 0) setImmediate(() => this.#sendAll());
    const batch = new Batch();
    this.#gathered.set(script, batch);
    return batch;
  }

  #sendAll(): void {
    for (const [script, batch] of this.#gathered) this.#send(script, batch);
  }

  #send(script: AnyScript, batch: Batch): void {
    this.#gathered.delete(script);
    this.#evaluate(script, [script.sha, batch.keys.length, ...batch.keys, ...batch.args]).then(
      (answers) => this.#settle(script, batch, answers),
      (error: unknown) => this.#settle(script, batch, error),
    );
  }

  /** @param words of EVALSHA: hash, number of keys, keys, arguments */
  async #evaluate(script: AnyScript, words: (string | number)[]): Promise<unknown> {
    try {
      return await this.#connection.call('EVALSHA', words);
    } catch (error) {
      // NOSCRIPT says that nothing ran: a restart, a failover or SCRIPT FLUSH emptied the cache. EVAL fills it again.
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return this.#connection.call('EVAL', words.with(0, script.text));
    }
  }

  /** @param answers of each call, or what failed them all */
  #settle(script: AnyScript, { calls }: Batch, answers: unknown): void {
    const now = performance.now();
    for (const [index, call] of calls.entries()) {
      this.#observe(script.name, now - call.startedAt);
      const answer: unknown = Array.isArray(answers) ? answers[index] : answers;
      try {
        if (!call.mayCreate && isBarred(answer)) {
          void this.#create(call, call.caller!);
          continue;
        }
        if (call.mayCreate === 'reserved' && !mayHaveCreated(answer)) call.caller!.giveBackCreation();
        call.resolve(checked(answer, call.caller) as Answer<never>);
      } catch (error) {
        call.reject(error);
      }
    }
  }
}

/** The answer, where it is one that is said rather than thrown. */
function checked(answer: unknown, caller: ScriptCaller | undefined): string[] {
  if (!Array.isArray(answer)) throw answer instanceof Error ? withoutCommand(answer) : new Error('a script gave no answer');
  const word = (answer as string[])[0];
  if (caller === undefined || word === undefined) return answer as string[];
  if (word === 'session_ended') throw new SessionEnded();
  if (word === 'sign_in_required') throw refuse(word);
  return word.startsWith(CREATED) ? [word.slice(CREATED.length), ...(answer as string[]).slice(1)] : (answer as string[]);
}

/** Stands before the word of a script that created something (`answer` in `script.ts`). */
const CREATED = '+';

/** The script would have had to create something. */
function isBarred(answer: unknown): boolean {
  return Array.isArray(answer) && answer[0] === 'rate_limited';
}

function mayHaveCreated(answer: unknown): boolean {
  if (Array.isArray(answer)) return String(answer[0]).startsWith(CREATED);
  return storeFailure(answer) === 'unknown';
}

/** Without the command that ioredis hangs on it: its arguments are secrets, and belong in no log. */
function withoutCommand(error: Error): Error {
  delete (error as { command?: unknown }).command;
  return error;
}

/** A word, then the figures that belong to it. */
export type Answer<Word extends string> = [word: Word, ...figures: string[]];

/** Refusals that Redis gives before a script's first write: nothing happened. */
const REFUSED_BEFORE_RUNNING = /^(OOM|READONLY|LOADING|MASTERDOWN|NOREPLICAS|MISCONF|BUSY|NOAUTH|NOPERM|Stream isn't writeable)/;

/** What ioredis and the socket say where the link broke with a command under way. */
const LINK_LOST = /^(Connection is closed|Socket timeout|Command timed out|(connect|read|write) E[A-Z]+|This socket has been ended)/;

/** Whether this error means that Redis is away, and if so whether the command may nevertheless have taken effect. */
export function storeFailure(error: unknown): 'not_applied' | 'unknown' | undefined {
  if (!(error instanceof Error)) return undefined;
  if (REFUSED_BEFORE_RUNNING.test(error.message)) return 'not_applied';
  return error.name === 'MaxRetriesPerRequestError' || LINK_LOST.test(error.message) ? 'unknown' : undefined;
}
