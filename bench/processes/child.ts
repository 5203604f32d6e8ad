import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface ChildOptions {
  readonly env?: Record<string, string>;
  readonly args?: readonly string[];
  /** Options for Node itself. */
  readonly execArgv?: readonly string[];
  /** Receives the messages that the child sends with `tell`. */
  readonly onNews?: (news: unknown) => void;
}

/** A child process of the bench. It runs a module that calls `ready` of parent.ts. */
export interface Child {
  readonly pid: number;
  /** The value that the child passed to `ready`. */
  readonly ready: Record<string, unknown>;
  /** Runs one of the child's `answers`. Rejects with its error, or when the child ends first. */
  ask<Answer>(question: string, value?: unknown): Promise<Answer>;
  /** Sends SIGTERM, later SIGKILL. Resolves when the process has ended. */
  stop(): Promise<void>;
}

/** A message from the parent to a child. */
export interface Question {
  readonly id: number;
  readonly question: string;
  readonly value: unknown;
}
export type FromChild =
  | { readonly ready: Record<string, unknown> }
  | { readonly news: unknown }
  | { readonly id: number; readonly answer?: unknown; readonly error?: string };

/** Resolves once the child is ready. The child exits when the bench ends, because its channel closes. */
export async function startChild(module: URL, { env = {}, args = [], execArgv = [], onNews }: ChildOptions = {}): Promise<Child> {
  const { PATH = '', TMPDIR } = process.env;
  const process_ = fork(fileURLToPath(module), args, {
    execArgv: [...execArgv],
    env: { PATH, ...(TMPDIR === undefined ? {} : { TMPDIR }), NODE_ENV: 'production', ...env },
    // Structured clone keeps typed arrays and NaN, which JSON does not.
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // In its own process group, so that a Ctrl-C reaches the bench alone.
    detached: true,
  });
  const exited = new Promise<void>((resolve) => process_.once('exit', () => resolve()));
  const waiting = new Map<number, { resolve(answer: unknown): void; reject(error: Error): void }>();
  const name = fileURLToPath(module).replace(/^.*\/bench\//, 'bench/');
  let count = 0;

  const ready = new Promise<Record<string, unknown>>((resolve, reject) => {
    process_.on('message', (message: FromChild) => {
      if ('ready' in message) return resolve(message.ready);
      if ('news' in message) return onNews?.(message.news);
      const pending = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error === undefined) pending?.resolve(message.answer);
      else pending?.reject(new Error(`${name}: ${message.error}`));
    });
    void exited.then(() => {
      const error = new Error(`${name} ended (${process_.exitCode ?? process_.signalCode})`);
      reject(error);
      for (const pending of waiting.values()) pending.reject(error);
      waiting.clear();
    });
  });

  return {
    pid: process_.pid!,
    ready: await ready,
    ask<Answer>(question: string, value?: unknown) {
      return new Promise<Answer>((resolve, reject) => {
        if (!process_.connected) return reject(new Error(`${name} has ended`));
        const id = ++count;
        waiting.set(id, { resolve: resolve as (answer: unknown) => void, reject });
        process_.send({ id, question, value } satisfies Question);
      });
    },
    stop: () => stopProcess(process_, exited),
  };
}

/** Sends SIGTERM, and SIGKILL when the process does not end in time. */
export async function stopProcess(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}

/** The service drains for some seconds when it has open sockets. */
const STOP_TIMEOUT_MS = 10_000;
