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
    readonly rounds: number;
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
}

export interface Figure {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
  readonly rounds: readonly number[];
}

export interface TargetResult {
  readonly what: string;
  readonly figure: FigureName;
  readonly isRatio: boolean;
  readonly most: number;
  /** Left out where a side is missing. */
  readonly value?: number;
  readonly reached?: boolean;
}
