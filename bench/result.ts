import type { FigureName } from './figures.ts';
import type { SideKind } from './scenario.ts';

/** The results of a run, as written to latest.json or cluster.json. */
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
    readonly cluster?: boolean;
    readonly url?: string;
  };
  /** The run was stopped early, so rounds or scenarios are missing. */
  readonly partial: boolean;
  readonly scenarios: readonly ScenarioResult[];
  /** Findings of the audit of all data at the end of the run, a sentence each. Left out where there are none. */
  readonly drift?: readonly string[];
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
  /** The service's figures over those of every other side. */
  readonly ratios: readonly RatioResult[];
  readonly targets: readonly TargetResult[];
  /** Errors that the audit found, a sentence each. */
  readonly findings: readonly string[];
  /** Why the scenario failed. */
  readonly error?: string;
  readonly partial: boolean;
}

export interface SideResult {
  readonly id: string;
  readonly name: string;
  readonly kind: SideKind;
  readonly at?: number;
  readonly figures: Partial<Record<FigureName, Figure>>;
  /** Counts of each status and error. Only with --url: without it, any status but 200 fails the scenario. */
  readonly answers?: Readonly<Record<string, number>>;
}

export interface Figure {
  readonly median: number;
  /** Lower and upper quartile of the rounds. */
  readonly lower: number;
  readonly upper: number;
  readonly rounds: readonly number[];
}

/** A value with its 95 % confidence interval, which is left out when there were too few rounds for one. */
export interface Interval {
  readonly value: number;
  readonly low?: number;
  readonly high?: number;
}

/** The ratio of `figure` between `side` and `against`, computed within each round. */
export interface RatioResult extends Interval {
  readonly figure: FigureName;
  readonly side: string;
  readonly against: string;
}

/** `reached`: the whole interval is at or below the bound. `missed`: the whole interval is above it. */
export type Verdict = 'reached' | 'missed' | 'not decided';

export interface TargetResult extends Partial<Interval> {
  readonly what: string;
  /** The judged figure; of several kinds of load the worst one's. */
  readonly figure: FigureName;
  readonly isRatio: boolean;
  readonly most: number;
  /** One result for each kind of load. `value` and `verdict` above are the worst one's. Empty when a side is missing. */
  readonly regimes: readonly RegimeResult[];
  /** Left out when a side is missing, and in a quick run, which decides nothing. */
  readonly verdict?: Verdict;
}

export interface RegimeResult extends Interval {
  readonly figure: FigureName;
  readonly verdict?: Verdict;
}
