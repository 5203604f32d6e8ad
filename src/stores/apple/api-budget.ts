import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';

/**
 * Milliseconds from one call to the next in each environment. Apple allows each app 50 calls a second to an endpoint, and a tenth of this
 * number in the sandbox (https://developer.apple.com/documentation/appstoreserverapi/identifying-rate-limits). With AHEAD_MS the service
 * makes at most 45 calls a second, and 4 in the sandbox.
 */
const INTERVAL_MS = { Production: 28, Sandbox: 350 } as const;

/** How far calls may run ahead of this pace, in milliseconds, so that single calls need not wait. */
const AHEAD_MS = 250;

/** The longest pause that Apple may ask for, in milliseconds. A longer one would be a fault. */
const LONGEST_HOLD_MS = 3_600_000;

/**
 * Takes a turn for a call, by the generic cell rate algorithm. `budget` holds the time up to which the calls so far use up the pace.
 * Answers taken(milliseconds to wait), full(milliseconds until there is a turn).
 */
const takeScript = defineScript({
  name: 'apple/take-turn',
  lua: `local at = math.max(tonumber(redis.call('GET', budget) or 0), now)
    local wait = math.max(0, math.ceil(at - now - ahead_ms))
    if wait > tonumber(most_ms) then return {'full', string.format('%d', wait)} end
    local till = at + interval_ms
    redis.call('SET', budget, string.format('%d', till), 'PX', string.format('%d', till - now + 1000))
    return {'taken', string.format('%d', wait)}`,
  keys: ['budget'],
  args: ['intervalMs', 'aheadMs', 'mostMs'],
  answers: ['taken', 'full'],
});

/** Lets no call take a turn for some time. Answers held. */
const holdScript = defineScript({
  name: 'apple/hold-turns',
  lua: `local till = now + hold_ms + ahead_ms
    if till > tonumber(redis.call('GET', budget) or 0) then
      redis.call('SET', budget, string.format('%d', till), 'PX', string.format('%d', till - now + 1000))
    end
    return {'held'}`,
  keys: ['budget'],
  args: ['holdMs', 'aheadMs'],
  answers: ['held'],
});

/** Apple limits the calls of each endpoint of its API for each app and environment. */
export interface Limited {
  readonly bundleId: string;
  readonly environment: 'Production' | 'Sandbox';
  readonly endpoint: string;
}

const budgetKey = ({ bundleId, environment, endpoint }: Limited): string => `{apple-budget:${bundleId}:${environment}:${endpoint}}`;

/**
 * Limits the calls of all processes together to Apple's API. The calls are counted in Redis, because Apple's limit holds for all calls of
 * an app.
 */
export class ApiBudget {
  readonly #scripts: ScriptRunner;

  constructor(scripts: ScriptRunner) {
    this.#scripts = scripts;
  }

  /**
   * Takes the turn of a call.
   * @param mostMs how long the call can wait, in milliseconds
   * @returns `waitMs`: the milliseconds to wait. `isFull`: that is too long, and no turn was taken
   */
  async take(limited: Limited, mostMs: number): Promise<{ readonly isFull: boolean; readonly waitMs: number }> {
    const args = { intervalMs: INTERVAL_MS[limited.environment], aheadMs: AHEAD_MS, mostMs: Math.max(0, Math.floor(mostMs)) };
    const [word, waitMs] = await this.#scripts.run(takeScript, { budget: budgetKey(limited) }, args);
    return { isFull: word === 'full', waitMs: Number(waitMs) };
  }

  /** Makes all processes wait, because Apple has refused a call. */
  async hold(limited: Limited, holdMs: number): Promise<void> {
    const args = { holdMs: Math.min(Math.max(0, Math.ceil(holdMs)), LONGEST_HOLD_MS), aheadMs: AHEAD_MS };
    await this.#scripts.run(holdScript, { budget: budgetKey(limited) }, args);
  }
}
