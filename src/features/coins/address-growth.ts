import type { Logger } from 'pino';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import type { DailyBudget } from '../../server/daily-budget.ts';
import { dayOf } from './model.ts';

const addressGrowth = defineScript({
  file: new URL('address-growth.lua', import.meta.url),
  keys: ['grown'],
  args: ['entries'],
  answers: ['done'],
});

/** The interval, in milliseconds, at which a process records in Redis how many ledger entries busy client addresses wrote. */
const EVERY_MS = 60_000;

/** The most addresses that one call records, the busiest first. The next call records the remaining addresses. */
const AT_ONCE = 200;

/**
 * A sorted set: client address → the ledger entries that it wrote on the UTC day. An address that used less than a hundredth of its daily
 * budget of entries is not in the set.
 */
export const addressGrowthKey = (day: string): string => `{grown}:${day}`;

export const ADDRESS_GROWTH_KEYS = /^\{grown\}:\d{4}-\d\d-\d\d$/;

interface AddressGrowthOptions {
  readonly budget: DailyBudget;
  readonly scripts: ScriptRunner;
  readonly log: Logger;
  readonly now: () => number;
}

/**
 * Records in Redis how many ledger entries busy client addresses wrote. `npm run doctor` shows the numbers. `/metrics` has no addresses,
 * because it may be public. Redis deletes the numbers after two days.
 */
export class AddressGrowth {
  readonly #options: AddressGrowthOptions;
  readonly #timer: NodeJS.Timeout;

  constructor(options: AddressGrowthOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.write(), EVERY_MS).unref();
  }

  async write(): Promise<void> {
    const { budget, scripts, log, now } = this.#options;
    const grown = budget.grown().slice(0, AT_ONCE);
    if (grown.length === 0) return;
    const entries = grown.map(({ group, count }) => `${group} ${count}`).join(' ');
    try {
      await scripts.run(addressGrowth, { grown: addressGrowthKey(dayOf(now())) }, { entries });
      for (const { group, count } of grown) budget.told(group, count);
    } catch (error) {
      log.debug({ err: error }, 'the addresses that make ledgers grow could not be written down');
    }
  }

  /** Stops the timer, and records the numbers that Redis does not have yet. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.write();
  }
}
