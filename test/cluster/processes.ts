import { setTimeout as pause } from 'node:timers/promises';
import { startChild, type Child } from '../realtime/child.ts';

/** A failover takes some 4 s. */
const STARTING_MS = 15_000;

/** Service processes on one cluster. A request goes to any that runs. */
export class Processes {
  /** How many were killed. */
  kills = 0;
  /** How many ended before they served. */
  failedStarts = 0;
  readonly #settings: Record<string, string>;
  readonly #program: string | undefined;
  readonly #running: Child[] = [];
  #output = '';
  #url = '';
  #isStopped = false;

  /** @param program a copy of the service's main.ts. Default: the service */
  static async open(count: number, settings: Record<string, string>, program?: string): Promise<Processes> {
    const processes = new Processes(settings, program);
    try {
      await Promise.all(Array.from({ length: count }, () => processes.#start()));
    } catch (error) {
      await processes.stop();
      throw error;
    }
    return processes;
  }

  private constructor(settings: Record<string, string>, program: string | undefined) {
    this.#program = program;
    // All processes take the same sessions.
    this.#settings = { LOG_LEVEL: 'error', SESSION_KEYS: `prove:${Buffer.alloc(32, 7).toString('base64url')}`, ...settings };
  }

  get running(): readonly Child[] {
    return this.#running;
  }

  /** The address of any process that runs. Once all are stopped, that of one that ran. */
  url(): string {
    this.#url = this.#running[Math.floor(Math.random() * this.#running.length)]?.url ?? this.#url;
    return this.#url;
  }

  /** SIGKILL for a process at random, unless it is the last one, and another one in its place. Resolves when that one serves. */
  async replaceOne(): Promise<void> {
    if (this.#running.length < 2) return;
    const [killed] = this.#running.splice(Math.floor(Math.random() * this.#running.length), 1);
    this.kills++;
    await killed!.stop('SIGKILL');
    this.#output += killed!.output();
    await this.#start();
  }

  /** @returns what all processes wrote */
  async stop(): Promise<string> {
    this.#isStopped = true;
    for (const child of await Promise.all(this.#running.splice(0).map(async (one) => (await one.stop(), one))))
      this.#output += child.output();
    return this.#output;
  }

  async #start(): Promise<void> {
    const child = await this.#started();
    if (child === undefined) return;
    if (this.#isStopped) await child.stop();
    else this.#running.push(child);
  }

  /** A process that ends because a primary dies while it starts is started again, as a supervisor does. */
  async #started(): Promise<Child | undefined> {
    for (const giveUpAt = performance.now() + STARTING_MS; !this.#isStopped; await pause(500)) {
      try {
        return await startChild(this.#settings, this.#program);
      } catch (error) {
        if (performance.now() > giveUpAt) throw error;
        this.failedStarts++;
        this.#output += `${(error as Error).message}\n`;
      }
    }
    return undefined;
  }
}
