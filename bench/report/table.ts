import { figures, PER_OPERATION, type FigureName } from '../figures.ts';
import type { Figure, RunResult, ScenarioResult, TargetResult, Verdict } from '../result.ts';
import { betterPeers } from './better-peers.ts';
import { answersText } from './news.ts';
import { numberText } from './numbers.ts';
import { intervalText, ratioRows, regimeName } from './ratios.ts';

/** The results of a run as text for a terminal or a log. */
export function runTable(run: RunResult): string {
  const parts = run.scenarios.map((scenario) => scenarioTable(scenario, run.settings.quick));
  for (const finding of run.drift ?? []) parts.push(`! audit of all data: ${finding}`);
  if (run.partial) parts.push('The run was stopped early: these results are partial.');
  parts.push(targetSummary(run.scenarios.flatMap(({ targets }) => targets)));
  return parts.filter((part) => part !== '').join('\n\n');
}

export function scenarioTable(scenario: ScenarioResult, isQuick: boolean): string {
  // One short round is too little to call a peer better.
  const better = isQuick ? undefined : betterPeers(scenario, numberText);
  const columns = figureColumns(scenario);
  const rows = [
    ['', ...columns.map((name) => columnTitle(name, scenario.operation))],
    ...scenario.sides.map((side) => [side.name, ...columns.map((name) => figureText(name, side.figures[name]))]),
  ];
  return [
    `${scenario.title} (${scenario.name})${scenario.partial ? ': partial' : ''}`,
    ...(scenario.sides.length > 0 && columns.length > 0 ? aligned(rows).map((line) => `  ${line}`) : []),
    ...(better === undefined ? [] : [`  ${better}`]),
    ...aligned(ratioRows(scenario)).map((line) => `  ${line}`),
    ...scenario.sides.flatMap(({ answers }) => (answers === undefined ? [] : [`  ${answersText(answers)}`])),
    ...scenario.targets.map((target) => `  ${targetLine(target)}`),
    ...scenario.findings.map((finding) => `  ! audit: ${finding}`),
    ...(scenario.error === undefined ? [] : [`  ! failed: ${scenario.error}`]),
  ].join('\n');
}

/** The figures that are above zero, as displayed, for at least one side, in the order of `figures`. */
export function figureColumns({ sides }: ScenarioResult): FigureName[] {
  const isSomething = (name: FigureName, { median }: Figure): boolean => median >= 0.5 * 10 ** -figures[name].digits;
  return (Object.keys(figures) as FigureName[]).filter((name) =>
    sides.some(({ figures: found }) => found[name] !== undefined && isSomething(name, found[name])),
  );
}

export function columnTitle(name: FigureName, operation: string): string {
  const { label, unit } = figures[name];
  return `${label}, ${unit}${PER_OPERATION.has(name) ? `/${operation}` : ''}`;
}

/** The median with the quartiles in brackets. */
export function figureText(name: FigureName, figure: Figure | undefined): string {
  if (figure === undefined) return '';
  const median = numberText(figure.median, figures[name].digits);
  if (figure.rounds.length < 2 || figure.lower === figure.upper) return median;
  return `${median} (${numberText(figure.lower, figures[name].digits)}–${numberText(figure.upper, figures[name].digits)})`;
}

export function targetLine(target: TargetResult): string {
  const { what, verdict, value, regimes } = target;
  if (value === undefined) return `? ${what}: not measured (at most ${boundText(target)})`;
  const others =
    regimes.length < 2 ? '' : `; ${regimes.map((regime) => `${regimeName(regime.figure)} ${intervalText(regime)}`).join(', ')}`;
  return `${SIGNS[verdict ?? 'none']} ${what}: ${targetValue(target)} (at most ${boundText(target)}) ${verdict ?? '–'}${others}`;
}

const SIGNS: Record<Verdict | 'none', string> = { reached: '✓', missed: '✗', 'not decided': '~', none: '–' };

/** The value of the worst kind of load, and its name when several were measured. */
export function targetValue(target: TargetResult): string {
  const { isRatio, figure, regimes } = target;
  if (!isRatio) return intervalText(target, figures[figure].digits, ` ${figures[figure].unit}`);
  return regimes.length > 1 ? `${intervalText(target)} ${regimeName(figure)}` : intervalText(target);
}

export function boundText({ most, isRatio, figure }: TargetResult): string {
  return isRatio ? String(most) : `${most} ${figures[figure].unit}`;
}

function targetSummary(targets: readonly TargetResult[]): string {
  const count = (wanted: Verdict): number => targets.filter(({ verdict }) => verdict === wanted).length;
  const judged = targets.filter(({ verdict }) => verdict !== undefined).length;
  if (judged === 0) return '';
  return `${count('reached')} of ${judged} targets reached, ${count('missed')} missed, ${count('not decided')} not decided.`;
}

/** Pads cells to the width of their column: the first column aligned left, the others right. */
export function aligned(rows: readonly string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
      .join('  ')
      .trimEnd(),
  );
}
