import type { FigureName } from './figures.ts';
import type { SideKind } from './scenario.ts';

/** What a run found out, as it stands in results/latest.json. */
export interface RunResult {
  readonly startedAt: string;
  readonly seconds: number;
  readonly machine: Machine;
  readonly settings: {
    readonly quick: boolean;
    readonly connections: number;
    readonly seconds: number;
    readonly rounds?: number;
    readonly minutes: number;
    readonly url?: string;
  };
  /** Stopped before its end: some rounds or scenarios are missing. */
  readonly partial: boolean;
  readonly scenarios: readonly ScenarioResult[];
}

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly node: string;
  readonly redis: string;
}

export interface ScenarioResult {
  readonly name: string;
  readonly family?: string;
  readonly title: string;
  readonly summary: string;
  readonly operation: string;
  readonly sides: readonly SideResult[];
  /** What the service costs for each of the others. */
  readonly ratios: readonly RatioResult[];
  readonly targets: readonly TargetResult[];
  /** What the audit found wrong. */
  readonly findings: readonly string[];
  /** Why it could not be run to its end. */
  readonly error?: string;
  readonly partial: boolean;
}

export interface SideResult {
  readonly id: string;
  readonly name: string;
  readonly kind: SideKind;
  readonly at?: number;
  readonly figures: Partial<Record<FigureName, Figure>>;
  /** How often each status came, and each error. At --url only: elsewhere anything but 200 fails the scenario. */
  readonly answers?: Readonly<Record<string, number>>;
}

export interface Figure {
  readonly median: number;
  /** Quartiles: the middle half of the rounds lies between them. */
  readonly lower: number;
  readonly upper: number;
  readonly rounds: readonly number[];
}

/** A value with its confidence interval of 95 %, which is missing where too few rounds were run to have one. */
export interface Interval {
  readonly value: number;
  readonly low?: number;
  readonly high?: number;
}

/** `figure` of `side` over that of `against`, taken within each round. */
export interface RatioResult extends Interval {
  readonly figure: FigureName;
  readonly side: string;
  readonly against: string;
}

/** Reached: all of the interval is. Missed: none of it is. */
export type Verdict = 'reached' | 'missed' | 'not decided';

export interface TargetResult extends Partial<Interval> {
  readonly what: string;
  /** The one judged; of several regimes the worst. */
  readonly figure: FigureName;
  readonly isRatio: boolean;
  readonly most: number;
  /** All figures that it has to hold for. `value` and `verdict` are the worst one's. None: a side is missing. */
  readonly regimes: readonly RegimeResult[];
  /** Left out where a side is missing, and in a quick run, which decides nothing. */
  readonly verdict?: Verdict;
}

export interface RegimeResult extends Interval {
  readonly figure: FigureName;
  readonly verdict?: Verdict;
}
