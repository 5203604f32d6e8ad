import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { childEnvironment } from '../environment.ts';
import type { Counts } from './scripted-server.ts';

/** A line from the driver: the answer to a command, an event of the client, or a change of its store. */
interface Line {
  id?: number;
  value?: unknown;
  event?: string;
  of?: string;
  stored?: [key: string, value: string | null];
}

export interface ClientEvent {
  readonly event: string;
  readonly of?: string;
  readonly value: unknown;
  readonly at: number;
  isClaimed: boolean;
}

/** What the driver reports: its counts, and when its next timer is due. */
export interface Report extends Counts {
  due: number | null;
}

/** The driver of a language as a child process. It runs many cases, one after the other, until a case kills it. */
export class ClientProcess {
  readonly child: ChildProcess;
  /** Called at each event of the client, and at each write to its store. */
  onEvent: (event: string, of: string | undefined, value: unknown) => void = () => {};
  onStored: (key: string, value: string | null) => void = () => {};
  readonly ended: Promise<void>;
  #next = 1;
  readonly #waiting = new Map<number, (value: unknown) => void>();
  errors = '';

  constructor([command, ...args]: readonly string[]) {
    this.child = spawn(command!, args, { stdio: ['pipe', 'pipe', 'pipe'], env: childEnvironment({}) });
    this.child.stdin!.on('error', () => {});
    this.child.stderr!.on('data', (data) => (this.errors = (this.errors + data).slice(-4000)));
    const lines = createInterface({ input: this.child.stdout! });
    lines.on('line', (line) => this.#take(line));
    this.ended = new Promise((resolve) => lines.once('close', resolve));
    void this.ended.then(() => {
      for (const done of this.#waiting.values()) done(new Error(`The driver has ended. ${this.errors}`));
    });
  }

  #take(line: string): void {
    const { id, value, event, of, stored } = JSON.parse(line) as Line;
    if (stored) this.onStored(...stored);
    else if (event) this.onEvent(event, of, value);
    else {
      this.#waiting.get(id!)?.(value);
      this.#waiting.delete(id!);
    }
  }

  /** Sends a command without waiting for its answer. `done` gets it. */
  send(command: object, done: (value: unknown) => void): void {
    const id = this.#next++;
    this.#waiting.set(id, done);
    this.child.stdin!.write(`${JSON.stringify({ id, ...command })}\n`);
  }

  async ask<T>(command: object): Promise<T> {
    const value = await new Promise<unknown>((done) => this.send(command, done));
    if (value instanceof Error) throw value;
    return value as T;
  }

  /** Kills the process, and reads what it has written. */
  async kill(): Promise<void> {
    this.#waiting.clear();
    this.child.kill('SIGKILL');
    await this.ended;
  }
}
