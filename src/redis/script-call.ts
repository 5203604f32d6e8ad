import type { Script } from './script.ts';

export type AnyScript = Script<string, string, string>;

/** Sends a command and resolves with the reply: a ScriptLink, or ioredis. */
export interface ScriptConnection {
  call(command: string, words: (string | number)[]): Promise<unknown>;
  /** The connection is in this database. Default: 0. */
  readonly options?: { readonly db?: number | undefined };
}

/** The prologue's part in one call of a script: its KEYS and ARGV, and the reading of its answers. */
export interface PrologueCall {
  /** A key in the caller's slot. Undefined if the caller was checked before. */
  readonly callerKey: string | undefined;
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
export interface Call {
  readonly script: AnyScript;
  readonly keys: Record<string, string>;
  readonly args: Record<string, string | number>;
  readonly prologue: PrologueCall | undefined;
  startedAt: number;
  /** How often a Cluster refused the call before it ran. */
  refusals: number;
  resolve(answer: Answer<never>): void;
  reject(error: unknown): void;
}

/** The most calls in one command. Redis serves no other client during a command. */
export const MOST_CALLS = 64;

/** Redis made the writes, but too few replicas confirmed them in time. A failover may undo the writes. */
export class ReplicasLate extends Error {
  constructor(count: number, wanted: number) {
    super(`${count} of ${wanted} replicas confirmed the writes in time`);
  }
}
