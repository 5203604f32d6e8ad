import { figures, type FigureName } from '../figures.ts';
import type { Figure, RunResult, ScenarioResult, TargetResult } from '../result.ts';
import { betterPeers } from './better-peers.ts';

/** What a run found, for a terminal or a log. */
export function runTable(run: RunResult): string {
  const parts = run.scenarios.map(scenarioTable);
  if (run.partial) parts.push('Stopped before the end: these results are partial.');
  parts.push(targetSummary(run.scenarios.flatMap(({ targets }) => targets)));
  return parts.filter((part) => part !== '').join('\n\n');
}

export function scenarioTable(scenario: ScenarioResult): string {
  const columns = figureColumns(scenario);
  const rows = [
    ['', ...columns.map((name) => columnTitle(name, scenario.operation))],
    ...scenario.sides.map((side) => [side.name, ...columns.map((name) => figureText(name, side.figures[name]))]),
  ];
  return [
    `${scenario.title} (${scenario.name})${scenario.partial ? ': partial' : ''}`,
    ...(scenario.sides.length > 0 && columns.length > 0 ? aligned(rows).map((line) => `  ${line}`) : []),
    ...[betterPeers(scenario, numberText)].filter((said) => said !== undefined).map((said) => `  ${said}`),
    ...scenario.targets.map((target) => `  ${targetLine(target)}`),
    ...scenario.findings.map((finding) => `  ! audit: ${finding}`),
    ...(scenario.error === undefined ? [] : [`  ! failed: ${scenario.error}`]),
  ].join('\n');
}

/** Those that any side has more than nothing of, in the order of the table of figures. */
export function figureColumns({ sides }: ScenarioResult): FigureName[] {
  const isSomething = (name: FigureName, { median }: Figure): boolean => median >= 0.5 * 10 ** -figures[name].digits;
  return (Object.keys(figures) as FigureName[]).filter((name) =>
    sides.some(({ figures: found }) => found[name] !== undefined && isSomething(name, found[name])),
  );
}

/** CPU is per operation, and says so. */
export function columnTitle(name: FigureName, operation: string): string {
  const { label, unit } = figures[name];
  const isPerOperation = name === 'serverCpu' || name === 'redisCpu';
  return `${label}, ${unit}${isPerOperation ? `/${operation}` : ''}`;
}

/** The median, and in brackets how far the rounds lay apart. */
export function figureText(name: FigureName, figure: Figure | undefined): string {
  if (figure === undefined) return '';
  const median = numberText(figure.median, figures[name].digits);
  if (figure.rounds.length < 2 || figure.lowest === figure.highest) return median;
  return `${median} (${numberText(figure.lowest, figures[name].digits)}–${numberText(figure.highest, figures[name].digits)})`;
}

export function numberText(value: number, digits: number): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function targetLine(target: TargetResult): string {
  const { what, value, reached, figure, isRatio } = target;
  const bound = isRatio ? `${target.most}` : `${target.most} ${figures[figure].unit}`;
  if (value === undefined) return `? ${what}: not measured (at most ${bound})`;
  return `${reached === true ? '✓' : '✗'} ${what}: ${targetValue(target)} (at most ${bound}) ${reached === true ? 'reached' : 'missed'}`;
}

export function targetValue({ value = Number.NaN, isRatio, figure }: TargetResult): string {
  return isRatio ? numberText(value, 2) : `${numberText(value, figures[figure].digits)} ${figures[figure].unit}`;
}

function targetSummary(targets: readonly TargetResult[]): string {
  const judged = targets.filter(({ reached }) => reached !== undefined);
  if (judged.length === 0) return '';
  const reached = judged.filter((target) => target.reached === true).length;
  return `${reached} of ${judged.length} targets reached.`;
}

/** Columns as wide as their widest cell; the first to the left, figures to the right. */
export function aligned(rows: readonly string[][]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
      .join('  ')
      .trimEnd(),
  );
}
