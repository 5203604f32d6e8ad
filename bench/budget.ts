import type { Scenario } from './scenario.ts';

/** What one scenario may take of the time of a run. */
export interface Share {
  readonly scenario: Scenario;
  readonly seconds: number;
  /** Up to this it may overrun: the rest is held back for those that come after it. */
  readonly mostSeconds: number;
}

/**
 * The time of a run. Scenarios that take what they take come first. Of what they leave each scenario is first given what
 * all its sides need for the fewest rounds that have an interval; what is left over goes to those that have a target to
 * decide, twice as much as to the others. What one does not need is the next ones'.
 */
export class Budget {
  readonly #now: () => number;
  readonly #endsAt: number;
  readonly #waiting: Scenario[];

  constructor(seconds: number, scenarios: readonly Scenario[], now: () => number = () => performance.now() / 1000) {
    this.#now = now;
    this.#endsAt = now() + seconds;
    this.#waiting = inRunningOrder(scenarios);
  }

  next(): Share | undefined {
    const scenario = this.#waiting[0];
    if (scenario === undefined) return undefined;
    const left = Math.max(0, this.#endsAt - this.#now());
    const least = sum(this.#waiting.map(leastSeconds));
    const extra = Math.max(0, left - least) / sum(this.#waiting.map(weight));
    // Where there is too little for all, all have less.
    const seconds = leastSeconds(scenario) * Math.min(1, left / least) + extra * weight(scenario);
    this.#waiting.shift();
    return { scenario, seconds, mostSeconds: Math.max(seconds, left - sum(this.#waiting.map(leastSeconds))) };
  }
}

export function inRunningOrder(scenarios: readonly Scenario[]): Scenario[] {
  return [...scenarios.filter(({ rounds }) => rounds !== undefined), ...scenarios.filter(({ rounds }) => rounds === undefined)];
}

/** To open a side, to warm it up and to run six rounds of it, under each kind of load, takes about this long on two cores. */
const LEAST_SECONDS_A_SIDE = 7;

function leastSeconds({ sides }: Scenario): number {
  return LEAST_SECONDS_A_SIDE * sides.length;
}

function weight({ targets }: Scenario): number {
  return targets.length > 0 ? 2 : 1;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
