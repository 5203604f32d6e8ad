import type { FigureName } from '../figures.ts';
import type { Machine } from '../result.ts';
import type { Change } from './judge.ts';

/** The figures that decide a comparison. */
export const COMPARED_FIGURES = ['serverCpu', 'redisCpu'] as const satisfies readonly FigureName[];

/** The results of a comparison, as written to compare.json. */
export interface ComparisonResult {
  readonly startedAt: string;
  readonly seconds: number;
  readonly machine: Machine;
  /** The commit as named on the command line. */
  readonly commit: string;
  /** The full hash. */
  readonly commitId: string;
  /** The comparison was stopped early. */
  readonly partial: boolean;
  readonly scenarios: readonly ComparedScenario[];
}

export interface ComparedScenario {
  readonly name: string;
  readonly title: string;
  readonly operation: string;
  readonly error?: string;
  readonly figures: readonly ComparedFigure[];
}

export interface ComparedFigure {
  readonly figure: (typeof COMPARED_FIGURES)[number];
  /** Median of the commit, in µs. */
  readonly before: number;
  /** Median of the working tree, in µs. */
  readonly now: number;
  /** Working tree over commit, one ratio for each pair of processes. */
  readonly ratios: readonly number[];
  readonly change: Change;
}
