import type { FigureName, Figures } from '../figures.ts';
import { median, pairedRatio } from '../measure/statistics.ts';
import type { Scenario } from '../scenario.ts';
import { isKnown, judgeChange } from './judge.ts';
import type { ComparedFigure, ComparedScenario } from './result.ts';

/** What the turns of one pair of processes found: turn n of one was next to turn n of the other. */
export interface PairFound {
  readonly before: readonly Figures[];
  readonly now: readonly Figures[];
}

export type ComparedFigureName = (typeof FIGURES)[number];

const FIGURES = ['serverCpu', 'redisCpu'] as const satisfies readonly FigureName[];

/** In µs: where Redis does less than this for an operation, a per cent of it is nothing. */
const LEAST = 1;

/** A scenario, and what all pairs found in it so far. */
export class Compared {
  readonly scenario: Scenario;
  readonly #pairs: PairFound[] = [];
  #error: string | undefined;

  constructor(scenario: Scenario) {
    this.scenario = scenario;
  }

  add(found: PairFound): void {
    this.#pairs.push(found);
  }

  /** It is not tried again: what was found before still stands. */
  fail(error: string): void {
    this.#error = error;
  }

  /** Nothing is to be learnt from another pair. */
  isDone(): boolean {
    return this.#error !== undefined || (this.#pairs.length > 0 && this.#figures().every(({ ratios }) => isKnown(ratios)));
  }

  result(): ComparedScenario {
    const { name, title, operation } = this.scenario;
    return { name, title, operation, ...(this.#error === undefined ? {} : { error: this.#error }), figures: this.#figures() };
  }

  #figures(): ComparedFigure[] {
    return FIGURES.flatMap((figure): ComparedFigure[] => {
      const before = median(this.#pairs.flatMap((pair) => valuesOf(pair.before, figure)));
      const now = median(this.#pairs.flatMap((pair) => valuesOf(pair.now, figure)));
      if (!(before >= LEAST || now >= LEAST)) return [];
      const ratios = this.#pairs.map((pair) => {
        const of = (turns: readonly Figures[]): (number | undefined)[] => turns.map((turn) => turn[figure]);
        return pairedRatio(of(pair.now), of(pair.before), ANY_CONFIDENCE).value;
      });
      return [{ figure, before, now, ratios, change: judgeChange(ratios) }];
    });
  }
}

/** Within a pair only the estimate is looked at. */
const ANY_CONFIDENCE = 0.5;

function valuesOf(turns: readonly Figures[], figure: FigureName): number[] {
  return turns.flatMap((turn) => turn[figure] ?? []).filter(Number.isFinite);
}
