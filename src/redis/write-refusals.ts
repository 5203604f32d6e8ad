import type { Logger } from 'pino';
import type { RedisHealth } from './connect.ts';
import { troubleOf } from './trouble.ts';
import { REFUSES_WRITES } from './write-probe.ts';

const POLL_MS = 2000;

/** Logs when Redis begins and when it stops to refuse writes, instead of a line for each refused request. */
export class WriteRefusals {
  readonly #log: Logger;
  readonly #health: () => Promise<RedisHealth>;
  #poll: NodeJS.Timeout | undefined;

  constructor(health: () => Promise<RedisHealth>, log: Logger) {
    this.#health = health;
    this.#log = log;
  }

  /** @param message of an error with which Redis answered a script */
  readonly refused = (message: string): void => {
    if (this.#poll !== undefined || !REFUSES_WRITES.test(message)) return;
    const { text, mend } = troubleOf([message]) ?? {};
    this.#log.error({ reason: message, trouble: text, mend }, 'redis refuses writes');
    this.#poll = setInterval(() => void this.#checkAgain(), POLL_MS).unref();
  };

  close(): void {
    clearInterval(this.#poll);
  }

  async #checkAgain(): Promise<void> {
    const { ok, degraded = [] } = await this.#health().catch((): RedisHealth => ({ ok: false }));
    if (!ok || degraded.some((problem) => problem.includes('refuses writes')) || this.#poll === undefined) return;
    clearInterval(this.#poll);
    this.#poll = undefined;
    this.#log.info('redis takes writes again');
  }
}
