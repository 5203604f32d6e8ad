import { CPU_REGIMES, figures, type FigureName } from '../figures.ts';
import type { Interval, ScenarioResult } from '../result.ts';
import { numberText } from './numbers.ts';

/** The service's CPU over each other side's: a row a side, a column a kind of load, cells such as "1.27 (1.22–1.31)". */
export function ratioRows({ sides, ratios }: ScenarioResult): string[][] {
  if (ratios.length === 0) return [];
  const regimes = [...CPU_REGIMES, REDIS].filter(({ figure }) => ratios.some((ratio) => ratio.figure === figure));
  const nameOf = (id: string): string => sides.find((side) => side.id === id)?.name ?? id;
  const rows = [...new Set(ratios.map(({ against }) => against))].map((against) => [
    `to ${nameOf(against)}`,
    ...regimes.map(({ figure }) => intervalText(ratios.find((ratio) => ratio.against === against && ratio.figure === figure))),
  ]);
  return [[`${nameOf(ratios[0]!.side)}'s CPU`, ...regimes.map(({ name }) => (regimes.length === 1 ? 'ratio' : name))], ...rows];
}

const REDIS = { figure: 'redisCpu', name: 'Redis' } as const;

/** A value with its 95 % interval in brackets. */
export function intervalText(found: Partial<Interval> | undefined, digits = 2, unit = ''): string {
  if (found?.value === undefined) return '';
  const value = `${numberText(found.value, digits)}${unit}`;
  if (found.low === undefined || found.high === undefined) return value;
  return `${value} (${numberText(found.low, digits)}–${numberText(found.high, digits)})`;
}

/** The kind of load of a CPU figure; for other figures their label. */
export function regimeName(figure: FigureName): string {
  return CPU_REGIMES.find((regime) => regime.figure === figure)?.name ?? figures[figure].label;
}
