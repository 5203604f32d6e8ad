import { figures } from '../figures.ts';
import { aligned, columnTitle } from '../report/table.ts';
import { numberText } from '../report/numbers.ts';
import type { Change } from './judge.ts';
import type { ComparedFigure, ComparedScenario, ComparisonResult } from './result.ts';

/** The results of a comparison as text for a terminal or a log. */
export function comparisonTable(result: ComparisonResult): string {
  const rows = rowsOf(result);
  return [heading(result), '', ...aligned([HEAD, ...rows]).map((line) => `  ${line}`), ...errors(result), '', summary(result)].join('\n');
}

export function comparisonMarkdown(result: ComparisonResult): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const table = [
    line(HEAD),
    `|---|---|${HEAD.slice(2)
      .map(() => '--:')
      .join('|')}|`,
    ...rowsOf(result).map(line),
  ];
  const { cpu, cores, system, node, redis } = result.machine;
  const where = `${result.startedAt.slice(0, 10)}, ${cpu}, ${cores} cores, ${system}, Node ${node}, Redis ${redis}; ${result.seconds} s.`;
  return [`# ${heading(result)}`, where, table.join('\n'), ...errors(result), summary(result)].join('\n\n').concat('\n');
}

export function comparisonJson(result: ComparisonResult): string {
  // An infinite interval becomes null, because JSON has no infinity.
  return `${JSON.stringify(result, undefined, 2)}\n`;
}

const HEAD = ['scenario', 'figure', 'commit', 'tree', 'change', '99 % interval', 'pairs', 'verdict'];

function heading({ commit, commitId }: ComparisonResult): string {
  return `This working tree against ${commit} (${commitId.slice(0, 12)})`;
}

function rowsOf({ scenarios }: ComparisonResult): string[][] {
  return scenarios.flatMap((scenario) => scenario.figures.map((figure) => row(scenario, figure)));
}

function row({ name, operation }: ComparedScenario, { figure, before, now, ratios, change }: ComparedFigure): string[] {
  const [one, other] = [before, now].map((value) => numberText(value, figures[figure].digits)) as [string, string];
  return [
    name,
    columnTitle(figure, operation),
    one,
    other,
    percent(change.value),
    intervalText(change),
    String(ratios.length),
    verdictText(change),
  ];
}

/** "slower by 3.1–6.4 %". */
export function verdictText({ verdict, low, high }: Change): string {
  const range = (from: number, to: number): string => `${numberText(from, 1)}–${numberText(to, 1)} %`;
  if (verdict === 'slower') return `slower by ${range(100 * (low - 1), 100 * (high - 1))}`;
  if (verdict === 'faster') return `faster by ${range(100 * (1 - high), 100 * (1 - low))}`;
  return verdict;
}

function intervalText({ low, high }: Change): string {
  return Number.isFinite(high) ? `${percent(low)} to ${percent(high)}` : 'too few pairs';
}

function percent(ratio: number): string {
  if (!Number.isFinite(ratio)) return '–';
  const change = 100 * (ratio - 1);
  return `${change < 0 ? '−' : '+'}${numberText(Math.abs(change), 1)} %`;
}

function errors({ scenarios }: ComparisonResult): string[] {
  return scenarios.flatMap(({ name, error }) => (error === undefined ? [] : [`  ! ${name} failed: ${error}`]));
}

function summary({ scenarios, partial }: ComparisonResult): string {
  const verdicts = scenarios.flatMap(({ figures: found }) => found.map(({ change }) => change.verdict));
  const counted = (['no difference', 'slower', 'faster', 'not decided'] as const)
    .map((verdict) => [verdict, verdicts.filter((one) => one === verdict).length] as const)
    .filter(([, times]) => times > 0)
    .map(([verdict, times]) => `${verdict}: ${times}`);
  const stopped = partial ? ' The comparison was stopped early: partial results.' : '';
  return `${counted.join(', ') || 'nothing measured'}. CPU per operation, tree over commit. Changes below 3 % count as no difference.${stopped}`;
}
