import { CPU_REGIMES, type FigureName, type Figures } from './figures.ts';
import { hodgesLehmann, isWithin, median, pairedRatio, type Estimate } from './measure/statistics.ts';
import type { Interval, RatioResult, RegimeResult, TargetResult, Verdict } from './result.ts';
import type { Scenario, Target } from './scenario.ts';

/** What the rounds of each side found, by its id. Round n of one side and round n of another were run back to back. */
export type RoundsBySide = ReadonlyMap<string, readonly Figures[]>;

/** An interval that holds the truth in 95 of 100 runs. */
const CONFIDENCE = 0.95;

/** How well a ratio has to be known before a scenario ends: its interval within 5 % of it. */
const ENOUGH = 0.05;

/** What is shown of every comparison; Redis's part is compared only where a target says so. */
const COMPARED: readonly FigureName[] = CPU_REGIMES.map(({ figure }) => figure);

/**
 * What a target came to. Of several regimes the worst counts: one that is missed before one that is not decided, and of equal
 * verdicts the highest value.
 */
export function judge(target: Target, rounds: RoundsBySide, { isCounted = false }: { isCounted?: boolean } = {}): TargetResult {
  const { what, figure, against, most } = target;
  const asked = { what, figure, isRatio: against !== undefined, most };
  const regimes = figuresOf(target).flatMap((name): RegimeResult[] => {
    const estimate = estimateOf(target, name, rounds);
    if (Number.isNaN(estimate.value)) return [];
    return [{ figure: name, ...interval(estimate), verdict: verdictOn(estimate, most, isCounted) }];
  });
  const worst = regimes.toSorted((one, other) => badness(other) - badness(one) || other.value - one.value)[0];
  return { ...asked, ...worst, regimes };
}

/** The service against every other side, in every regime that both were measured in. */
export function ratiosOf(scenario: Scenario, rounds: RoundsBySide): RatioResult[] {
  const [own, ...others] = scenario.sides;
  // Sizes of a growth curve are one service: only their targets compare them.
  if (own === undefined || own.at !== undefined) return [];
  return others.flatMap(({ id: against }) =>
    COMPARED.flatMap((figure) => {
      const estimate = ratio(figure, { side: own.id, against }, rounds);
      return Number.isNaN(estimate.value) ? [] : [{ figure, side: own.id, against, ...interval(estimate) }];
    }),
  );
}

/**
 * The sides of which more rounds would tell something: those of a ratio that is not known well enough, and of a target that
 * is not decided. None: the scenario is settled.
 */
export function unsettledSides(scenario: Scenario, rounds: RoundsBySide): ReadonlySet<string> {
  const isKnown = ({ value, low = -Infinity, high = Infinity }: Interval): boolean => isWithin({ value, low, high }, ENOUGH);
  const isOpen = (target: Target): boolean => {
    const { verdict, regimes } = judge(target, rounds);
    return verdict === 'not decided' || !regimes.every(isKnown);
  };
  return sidesOf([...ratiosOf(scenario, rounds).filter((found) => !isKnown(found)), ...scenario.targets.filter(isOpen)]);
}

/** Those that ratios or targets are about. */
export function sidesOf(compared: readonly { readonly side: string; readonly against?: string }[]): ReadonlySet<string> {
  return new Set(compared.flatMap(({ side, against }) => (against === undefined ? [side] : [side, against])));
}

function figuresOf({ figure, against }: Target): readonly FigureName[] {
  return figure === 'serverCpu' && against !== undefined ? COMPARED : [figure];
}

function estimateOf({ side, against }: Target, figure: FigureName, rounds: RoundsBySide): Estimate {
  if (against !== undefined) return ratio(figure, { side, against }, rounds);
  const values = valuesOf(figure, side, rounds).filter((value) => value !== undefined);
  return hodgesLehmann(values, CONFIDENCE);
}

function ratio(figure: FigureName, { side, against }: { side: string; against: string }, rounds: RoundsBySide): Estimate {
  return pairedRatio(valuesOf(figure, side, rounds), valuesOf(figure, against, rounds), CONFIDENCE);
}

function valuesOf(figure: FigureName, side: string, rounds: RoundsBySide): readonly (number | undefined)[] {
  return (rounds.get(side) ?? []).map((found) => found[figure]);
}

/** What was counted once is as it is. */
function verdictOn({ value, low, high }: Estimate, most: number, isCounted: boolean): Verdict {
  if (isCounted) return value <= most ? 'reached' : 'missed';
  return high <= most ? 'reached' : low > most ? 'missed' : 'not decided';
}

function badness({ verdict }: RegimeResult): number {
  return verdict === 'missed' ? 2 : verdict === 'not decided' ? 1 : 0;
}

/** JSON knows no infinity. */
function interval({ value, low, high }: Estimate): Interval {
  return Number.isFinite(high) ? { value, low, high } : { value };
}

/** The median of a figure over all rounds of a side. */
export function medianOf(found: readonly Figures[], name: FigureName): number {
  return median(found.map((figures) => figures[name]).filter((value) => value !== undefined));
}
