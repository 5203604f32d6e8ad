import type { Logger } from 'pino';
import { redisFailure, type ScriptRunner } from '../../redis/script-runner.ts';
import type { Subscriptions } from '../../redis/subscriber.ts';
import { GIVEN_NAMES } from './model.ts';
import { read, readHash } from '../../redis/reads.ts';

/**
 * The interval at which a process reads the index of given names, in milliseconds. The process reads the index regularly, because a message
 * about a change is lost if the connection breaks.
 */
const POLL_INTERVAL_MS = 3000;

export interface GivenNamesOptions {
  readonly scripts: ScriptRunner;
  readonly subscriber: Subscriptions;
  readonly log: Logger;
}

/**
 * The names that operators gave accounts, in the memory of this process. While Redis is down, the process keeps the names that it has read.
 */
export class GivenNames {
  readonly #options: GivenNamesOptions;
  readonly #poll: NodeJS.Timeout;
  #names: ReadonlyMap<string, string> = new Map();
  #version = '';
  #lastProblem: string | undefined;

  constructor(options: GivenNamesOptions) {
    this.#options = options;
    const { subscriber } = options;
    subscriber.on('ready', (isConcerned) => {
      if (isConcerned(GIVEN_NAMES)) void this.#listen();
    });
    subscriber.on('message', (channel) => {
      if (channel === GIVEN_NAMES) void this.#read();
    });
    this.#poll = setInterval(() => void this.#read(), POLL_INTERVAL_MS);
  }

  /** The name that operators gave an account. Undefined: the account has no given name. */
  of(accountId: string): string | undefined {
    return this.#names.get(accountId);
  }

  close(): void {
    clearInterval(this.#poll);
  }

  async #listen(): Promise<void> {
    // A failure needs no handling: the subscriber emits `ready` again when it has reconnected.
    await this.#options.subscriber.subscribe(GIVEN_NAMES).catch(() => {});
    await this.#read();
  }

  async #read(): Promise<void> {
    try {
      const { scripts } = this.#options;
      const [known] = await read(scripts, 'HGET', GIVEN_NAMES, 'version');
      if (known !== this.#version) {
        // Two reads may overlap. If two reads overlap, an older index may replace a newer one, but only until the next read.
        const index = new Map(await readHash(scripts, GIVEN_NAMES));
        [this.#names, this.#version] = [index, index.get('version') ?? ''];
        index.delete('version');
      }
      this.#lastProblem = undefined;
    } catch (error) {
      const { message } = error as Error;
      // Failures of Redis are logged at `debug`, because the main connection logs outages.
      const level = redisFailure(error) === undefined ? 'warn' : 'debug';
      if (message !== this.#lastProblem) this.#options.log[level]({ reason: message }, 'the given names could not be read');
      this.#lastProblem = message;
    }
  }
}
