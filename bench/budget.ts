import type { Scenario } from './scenario.ts';

/** The time that one scenario gets. */
export interface Share {
  readonly scenario: Scenario;
  readonly seconds: number;
  /** Hard limit: more would take the minimum time from the scenarios after it. */
  readonly mostSeconds: number;
}

/**
 * Divides the time of a run. Scenarios with a fixed number of rounds run first, so that the others can share the time that
 * is left. Each scenario first gets the minimum that its sides need for an interval. The rest is divided by weight: a
 * scenario with a target gets twice as much as one without. Time that a scenario does not use goes to the next ones.
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
    const least = sum(this.#waiting.map(minSeconds));
    const extra = Math.max(0, left - least) / sum(this.#waiting.map(weight));
    // When the time is too short for all minimums, every scenario gets the same fraction of its minimum.
    const seconds = minSeconds(scenario) * Math.min(1, left / least) + extra * weight(scenario);
    this.#waiting.shift();
    return { scenario, seconds, mostSeconds: Math.max(seconds, left - sum(this.#waiting.map(minSeconds))) };
  }
}

export function inRunningOrder(scenarios: readonly Scenario[]): Scenario[] {
  return [...scenarios.filter(({ rounds }) => rounds !== undefined), ...scenarios.filter(({ rounds }) => rounds === undefined)];
}

/** Opening a side, warming it up and six rounds under each kind of load take about this long on two cores. */
const MIN_SECONDS_PER_SIDE = 7;

function minSeconds({ sides }: Scenario): number {
  return MIN_SECONDS_PER_SIDE * sides.length;
}

function weight({ targets }: Scenario): number {
  return targets.length > 0 ? 2 : 1;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
