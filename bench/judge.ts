import { CPU_REGIMES, type FigureName, type Figures } from './figures.ts';
import { hodgesLehmann, isWithin, median, pairedRatio, type Estimate } from './measure/statistics.ts';
import type { Interval, RatioResult, RegimeResult, TargetResult, Verdict } from './result.ts';
import type { Scenario, Target } from './scenario.ts';

/** The figures of each side's rounds, by side id. Round n of one side ran directly before or after round n of the others. */
export type RoundsBySide = ReadonlyMap<string, readonly Figures[]>;

/** The interval contains the true value in 95 of 100 runs. */
const CONFIDENCE = 0.95;

/** A ratio is known well enough when its interval lies within 5 % of it. */
const PRECISION = 0.05;

/** Every side is compared by these. Redis's CPU is compared only where a target or the scenario names it. */
const COMPARED: readonly FigureName[] = CPU_REGIMES.map(({ figure }) => figure);

/**
 * Judges a target under every kind of load that was measured. The worst one decides: missed is worse than not decided, which
 * is worse than reached, and among equal verdicts the highest value is the worst.
 */
export function judge(target: Target, rounds: RoundsBySide, { isCounted = false }: { isCounted?: boolean } = {}): TargetResult {
  const { what, figure, against, most } = target;
  const base = { what, figure, isRatio: against !== undefined, most };
  const regimes = figuresOf(target).flatMap((name): RegimeResult[] => {
    const estimate = estimateOf(target, name, rounds);
    if (Number.isNaN(estimate.value)) return [];
    return [{ figure: name, ...interval(estimate), verdict: verdictOn(estimate, most, isCounted) }];
  });
  const worst = regimes.toSorted((one, other) => severity(other) - severity(one) || other.value - one.value)[0];
  return { ...base, ...worst, regimes };
}

/** The ratios of the service to every other side, under every kind of load that both were measured under. */
export function ratiosOf(scenario: Scenario, rounds: RoundsBySide): RatioResult[] {
  const [own, ...others] = scenario.sides;
  // The sides of a growth curve are sizes of one service. Only targets compare them.
  if (own === undefined || own.at !== undefined) return [];
  const compared: readonly FigureName[] = scenario.comparesRedis === true ? [...COMPARED, 'redisCpu'] : COMPARED;
  return others.flatMap(({ id: against }) =>
    compared.flatMap((figure): RatioResult[] => {
      const estimate = ratio(figure, { side: own.id, against }, rounds);
      return Number.isNaN(estimate.value) ? [] : [{ figure, side: own.id, against, ...interval(estimate) }];
    }),
  );
}

/**
 * The sides that need more rounds: those of a ratio that is not known within 5 %, and those of a target that is not decided.
 * An empty set ends the scenario.
 */
export function unsettledSides(scenario: Scenario, rounds: RoundsBySide): ReadonlySet<string> {
  const isKnown = ({ value, low = -Infinity, high = Infinity }: Interval): boolean => isWithin({ value, low, high }, PRECISION);
  const isOpen = (target: Target): boolean => {
    const { verdict, regimes } = judge(target, rounds);
    return verdict === 'not decided' || !regimes.every(isKnown);
  };
  return sidesOf([...ratiosOf(scenario, rounds).filter((found) => !isKnown(found)), ...scenario.targets.filter(isOpen)]);
}

/** The ids of all sides that the given ratios or targets compare. */
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

/** A value that was counted rather than timed has no interval, so only the value is compared with the bound. */
function verdictOn({ value, low, high }: Estimate, most: number, isCounted: boolean): Verdict {
  if (isCounted) return value <= most ? 'reached' : 'missed';
  return high <= most ? 'reached' : low > most ? 'missed' : 'not decided';
}

function severity({ verdict }: RegimeResult): number {
  return verdict === 'missed' ? 2 : verdict === 'not decided' ? 1 : 0;
}

/** Leaves out an infinite interval, because JSON has no infinity. */
function interval({ value, low, high }: Estimate): Interval {
  return Number.isFinite(high) ? { value, low, high } : { value };
}

/** The median of a figure over all rounds of a side. */
export function medianOf(found: readonly Figures[], name: FigureName): number {
  return median(found.map((figures) => figures[name]).filter((value) => value !== undefined));
}
