import type { FigureName, Figures } from '../figures.ts';
import { median, pairedRatio } from '../measure/statistics.ts';
import type { Scenario } from '../scenario.ts';
import { isKnown, judgeChange } from './judge.ts';
import { COMPARED_FIGURES, type ComparedFigure, type ComparedScenario } from './result.ts';

/** The figures of one pair of processes. Turn n of one process ran directly before or after turn n of the other. */
export interface PairFigures {
  readonly before: readonly Figures[];
  readonly now: readonly Figures[];
}

/** In µs. A figure below this is left out, because a change of some per cent in it does not matter. */
const MIN_MICROSECONDS = 1;

/** A scenario and the figures of all pairs so far. */
export class Compared {
  readonly scenario: Scenario;
  readonly #pairs: PairFigures[] = [];
  #error: string | undefined;

  constructor(scenario: Scenario) {
    this.scenario = scenario;
  }

  add(found: PairFigures): void {
    this.#pairs.push(found);
  }

  /** Ends the scenario with an error. The figures of earlier pairs are kept. */
  fail(error: string): void {
    this.#error = error;
  }

  /** The scenario failed, or all its figures are known well enough. */
  isDone(): boolean {
    return this.#error !== undefined || (this.#pairs.length > 0 && this.#figures().every(({ ratios }) => isKnown(ratios)));
  }

  result(): ComparedScenario {
    const { name, title, operation } = this.scenario;
    return { name, title, operation, ...(this.#error === undefined ? {} : { error: this.#error }), figures: this.#figures() };
  }

  #figures(): ComparedFigure[] {
    return COMPARED_FIGURES.flatMap((figure): ComparedFigure[] => {
      const before = median(this.#pairs.flatMap((pair) => valuesOf(pair.before, figure)));
      const now = median(this.#pairs.flatMap((pair) => valuesOf(pair.now, figure)));
      if (!(before >= MIN_MICROSECONDS || now >= MIN_MICROSECONDS)) return [];
      const ratios = this.#pairs.map((pair) => {
        const of = (turns: readonly Figures[]): (number | undefined)[] => turns.map((turn) => turn[figure]);
        return pairedRatio(of(pair.now), of(pair.before), ANY_CONFIDENCE).value;
      });
      return [{ figure, before, now, ratios, change: judgeChange(ratios) }];
    });
  }
}

/** Within a pair only the estimate is used, so the confidence does not matter. */
const ANY_CONFIDENCE = 0.5;

function valuesOf(turns: readonly Figures[], figure: FigureName): number[] {
  return turns.flatMap((turn) => turn[figure] ?? []).filter(Number.isFinite);
}
