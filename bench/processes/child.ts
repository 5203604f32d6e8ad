import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface ChildOptions {
  readonly env?: Record<string, string>;
  readonly args?: readonly string[];
  /** Node's own options. */
  readonly execArgv?: readonly string[];
}

/** A process of the bench's own: a module that uses `parent.ts`. */
export interface Child {
  readonly pid: number;
  /** What it said with `ready(…)`. */
  readonly ready: Record<string, unknown>;
  /** Has one of its `answers` run. Rejects with its error, or where it ends before it answers. */
  ask<Answer>(question: string, value?: unknown): Promise<Answer>;
  /** Ends it by its pid; resolves once it is gone. */
  stop(): Promise<void>;
}
