import type { Script } from './script.ts';

export type AnyScript = Script<string, string, string>;

/** A connection that sends a command and resolves with the reply: a ScriptLink, or ioredis. */
export interface ScriptConnection {
  call(command: string, words: (string | number)[]): Promise<unknown>;
  /**
   * Sends a command on a connection on which Redis tracks the keys that are read (`tracked.ts`).
   * @param unnamed keys that the command reads and does not name in its KEYS: those of scripts on a Cluster
   */
  callTracked?(command: string, words: (string | number)[], unnamed: readonly string[]): Promise<unknown>;
  /** The number of the database that the connection uses. Default: 0. */
  readonly options?: { readonly db?: number | undefined };
}

/** The data of one call for the prologue of its script: the prologue's KEYS and ARGV, and a function that reads its answer. */
export interface PrologueCall {
  /** A key in the slot of the caller's account. Undefined if the caller was already checked. */
  readonly callerKey: string | undefined;
  /** Appends the values of the prologue's KEYS and ARGV in the declared order. */
  addTo(keys: string[], args: (string | number)[]): void;
  /**
   * Reads the answer of the call.
   * @param answer a list of strings, or an error
   * @returns the answer for the code that called the script; undefined: run the call again after `prepareRepeat`
   * @throws the error for the code that called the script
   */
  read(answer: string[] | Error): string[] | undefined;
  prepareRepeat(): Promise<void>;
}

/** An answer of a script: a word, then the values that belong to the word. */
export type Answer<Word extends string> = [word: Word, ...figures: string[]];

/** A call of a script, which waits for its answer. */
export interface Call {
  readonly script: AnyScript;
  readonly keys: Record<string, string>;
  readonly args: Record<string, string | number>;
  readonly prologue: PrologueCall | undefined;
  startedAt: number;
  /** How often a Cluster has refused this call before it ran. */
  refusals: number;
  resolve(answer: Answer<never>): void;
  reject(error: unknown): void;
}

/** The highest number of calls of a script in one command. Redis serves no other client during a command. */
export const MOST_CALLS = 64;

/** The primary made the writes, but too few replicas confirmed them in time. A failover may undo the writes. */
export class ReplicasLate extends Error {
  constructor(count: number, wanted: number) {
    super(`${count} of ${wanted} replicas confirmed the writes in time`);
  }
}
