import type { Machine } from '../result.ts';
import type { Change } from './judge.ts';
import type { ComparedFigureName } from './compared.ts';

/** What a comparison found out, as it stands in compare.json. */
export interface ComparisonResult {
  readonly startedAt: string;
  readonly seconds: number;
  readonly machine: Machine;
  /** As it was asked for, and its full name. */
  readonly commit: string;
  readonly commitId: string;
  /** Stopped before its end. */
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
  readonly figure: ComparedFigureName;
  /** Medians of what it came to, in µs. */
  readonly before: number;
  readonly now: number;
  /** Of the working tree over the commit, one of each pair of processes. */
  readonly ratios: readonly number[];
  readonly change: Change;
}
