import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface ChildOptions {
  readonly env?: Record<string, string>;
  readonly args?: readonly string[];
  /** Node's own options. */
  readonly execArgv?: readonly string[];
  /** Given what it tells without being asked. */
  readonly onNews?: (news: unknown) => void;
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

/** What goes between a child and its parent. */
export interface Question {
  readonly id: number;
  readonly question: string;
  readonly value: unknown;
}
export type FromChild =
  | { readonly ready: Record<string, unknown> }
  | { readonly news: unknown }
  | { readonly id: number; readonly answer?: unknown; readonly error?: string };

/** Resolves once the child is ready. It ends when the bench does: its channel closes. */
export async function startChild(module: URL, { env = {}, args = [], execArgv = [], onNews }: ChildOptions = {}): Promise<Child> {
  const { PATH = '', TMPDIR } = process.env;
  const process_ = fork(fileURLToPath(module), args, {
    execArgv: [...execArgv],
    env: { PATH, ...(TMPDIR === undefined ? {} : { TMPDIR }), NODE_ENV: 'production', ...env },
    // Typed arrays and NaN pass as they are.
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // In a group of its own: a Ctrl-C is the bench's to deal with.
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
      const asked = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error === undefined) asked?.resolve(message.answer);
      else asked?.reject(new Error(`${name}: ${message.error}`));
    });
    void exited.then(() => {
      const error = new Error(`${name} ended (${process_.exitCode ?? process_.signalCode})`);
      reject(error);
      for (const asked of waiting.values()) asked.reject(error);
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

/** SIGTERM, and SIGKILL for one that does not listen. */
export async function stopProcess(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  await exited;
  clearTimeout(timer);
}

/** The service drains for seconds where it has sockets. */
const PATIENCE_MS = 10_000;
