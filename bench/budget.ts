import type { Scenario } from './scenario.ts';

/**
 * The time of a run. Scenarios that take what they take come first; what they leave is divided among the others, more of
 * it to those that have a target to decide, and what one does not need is the next ones'.
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

  /** The next scenario, and the seconds that it may take. */
  next(): { scenario: Scenario; seconds: number } | undefined {
    const scenario = this.#waiting[0];
    if (scenario === undefined) return undefined;
    const left = Math.max(0, this.#endsAt - this.#now());
    const weights = this.#waiting.reduce((sum, { targets }) => sum + weightOf(targets.length), 0);
    this.#waiting.shift();
    return { scenario, seconds: (left * weightOf(scenario.targets.length)) / weights };
  }
}

export function inRunningOrder(scenarios: readonly Scenario[]): Scenario[] {
  return [...scenarios.filter(({ rounds }) => rounds !== undefined), ...scenarios.filter(({ rounds }) => rounds === undefined)];
}

function weightOf(targets: number): number {
  return targets > 0 ? 2 : 1;
}
