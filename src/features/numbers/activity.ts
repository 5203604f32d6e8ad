import type { Logger } from 'pino';
import { accountOfKey } from '../../accounts/account-keys.ts';
import { dayNumber } from '../../redis/counters.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import { HOUR_MS, numberKeys } from './model.ts';

const noteActivity = defineScript({
  file: new URL('note-activity.lua', import.meta.url),
  keys: ['active', 'counts', 'refusals'],
  args: ['day', 'idsText', 'refused'],
  answers: ['noted'],
});

/** Milliseconds between two calls that write down what this process has seen. A process that is killed loses no more than this. */
const EVERY_MS = 5000;

/** The most accounts in one call, which takes Redis about half a millisecond. */
const AT_ONCE = 500;

/**
 * The most accounts that a process remembers. It then forgets them all, and writes those that act again down once more, which changes
 * nothing.
 */
const MOST_REMEMBERED = 100_000;

interface ActivityOptions {
  readonly scripts: ScriptRunner;
  readonly log: Logger;
  readonly now: () => number;
  /** The number of refusals of this process since its start, by error code. */
  readonly refusals: () => Iterable<readonly [code: string, count: number]>;
  /** False while the private Redis would end at its next write. */
  readonly mayWrite: () => boolean;
}

/**
 * Writes down in Redis which accounts act on a day, and how many requests are refused in an hour. Scripts do not count this, because an
 * account acts many times a day, and a refused request should cost little.
 */
export class Activity {
  readonly #options: ActivityOptions;
  readonly #timer: NodeJS.Timeout;
  /** The accounts that acted on the day `#day`, by the Redis keys of their standings. */
  readonly #known = new Set<string>();
  /** Those of `#known` that Redis does not have yet. */
  #fresh: string[] = [];
  #day: number;
  readonly #told = new Map<string, number>();
  #writing: Promise<void> | undefined;

  constructor(options: ActivityOptions) {
    this.#options = options;
    this.#day = dayNumber(options.now());
    this.#timer = setInterval(() => void this.write(), EVERY_MS).unref();
  }

  /**
   * Must be called when an account has written something. It is called for each coin operation, so it only searches a set.
   * @param standingKey the Redis key of the account's standing
   */
  acted(standingKey: string): void {
    if (this.#known.has(standingKey)) return;
    if (this.#known.size >= MOST_REMEMBERED) this.#known.clear();
    this.#known.add(standingKey);
    this.#fresh.push(accountOfKey(standingKey));
  }

  /** Writes down what Redis does not have yet. If Redis is down, the next call writes it. */
  write(): Promise<void> {
    return (this.#writing ??= this.#write().finally(() => (this.#writing = undefined)));
  }

  /** Stops the timer, and writes down the rest. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    await this.write();
  }

  async #write(): Promise<void> {
    const { log, now, mayWrite } = this.#options;
    if (!mayWrite()) return;
    const [day, hour] = [this.#day, Math.floor(now() / HOUR_MS)];
    // The accounts of the last seconds before midnight count for the day that ends.
    const today = dayNumber(now());
    try {
      do {
        const ids = this.#fresh.slice(0, AT_ONCE);
        await this.#send(day, hour, ids, this.#refusedSince());
        this.#fresh = this.#fresh.slice(ids.length);
      } while (this.#fresh.length > 0);
    } catch (error) {
      log.debug({ err: error }, 'the accounts that acted could not be written down');
    }
    if (today === day) return;
    this.#day = today;
    this.#known.clear();
  }

  async #send(day: number, hour: number, ids: readonly string[], refused: readonly (readonly [string, number])[]): Promise<void> {
    if (ids.length === 0 && refused.length === 0) return;
    await this.#options.scripts.run(
      noteActivity,
      { active: numberKeys.active(day), counts: numberKeys.activeCounts, refusals: numberKeys.refusals(hour) },
      { day, idsText: ids.join(' '), refused: refused.map(([code, count]) => `${code} ${count}`).join(',') },
    );
    for (const [code, count] of refused) this.#told.set(code, (this.#told.get(code) ?? 0) + count);
  }

  #refusedSince(): (readonly [string, number])[] {
    return [...this.#options.refusals()].flatMap(([code, count]) => {
      const more = count - (this.#told.get(code) ?? 0);
      return more > 0 ? [[code, more] as const] : [];
    });
  }
}
