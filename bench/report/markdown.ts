import type { RunResult, ScenarioResult, TargetResult } from '../result.ts';
import { betterPeers } from './better-peers.ts';
import { answersText } from './news.ts';
import { ratioRows } from './ratios.ts';
import { boundText, columnTitle, figureColumns, figureText, targetValue } from './table.ts';
import { numberText } from './numbers.ts';

/** The results of a run as Markdown. */
export function runMarkdown(run: RunResult): string {
  return [
    run.settings.cluster === true ? '# Bench results on a Redis Cluster' : '# Bench results',
    [machineLine(run), ...(run.partial ? ['**The run was stopped early: partial results.**'] : [])].join(' '),
    targetsTable(run.scenarios),
    ...run.scenarios.map((scenario) => scenarioMarkdown(scenario, run.settings.quick)),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
    .concat('\n');
}

export function machineLine({ machine, startedAt, settings }: RunResult): string {
  const { cpu, cores, memoryGb, system, node, redis } = machine;
  const size = settings.url === undefined ? `rounds of ${settings.seconds} s` : `against ${settings.url}`;
  return `${startedAt.slice(0, 10)}, ${cpu}, ${cores} cores, ${memoryGb} GB, ${system}, Node ${node}, Redis ${redis}; ${settings.connections} connections, ${size}${settings.quick ? ', quick' : ''}.`;
}

function targetsTable(scenarios: readonly ScenarioResult[]): string {
  const rows = scenarios.flatMap(({ title, targets }) => targets.map((target) => ({ title, target })));
  if (rows.length === 0) return '';
  return table([
    ['target', 'measured (95 % interval)', 'at most', 'verdict'],
    ...rows.map(({ title, target }) => [
      `${title}: ${target.what}`,
      target.value === undefined ? '' : targetValue(target),
      boundText(target),
      verdictText(target),
    ]),
  ]);
}

function verdictText({ value, verdict }: TargetResult): string {
  if (value === undefined) return 'not measured';
  return verdict === 'reached' ? verdict : verdict === undefined ? '–' : `**${verdict}**`;
}

function scenarioMarkdown(scenario: ScenarioResult, isQuick: boolean): string {
  const better = isQuick ? undefined : betterPeers(scenario, numberText);
  const columns = figureColumns(scenario);
  return [
    `## ${scenario.title}`,
    scenario.summary,
    ...(columns.length === 0
      ? []
      : [
          table([
            ['', ...columns.map((name) => columnTitle(name, scenario.operation))],
            ...scenario.sides.map((side) => [side.name, ...columns.map((name) => figureText(name, side.figures[name]))]),
          ]),
        ]),
    ...(better === undefined ? [] : [`**${better}**`]),
    ...(scenario.ratios.length === 0 ? [] : [table(ratioRows(scenario))]),
    ...scenario.sides.flatMap(({ answers }) => (answers === undefined ? [] : [answersText(answers)])),
    ...scenario.findings.map((finding) => `**Audit failed**: ${finding}`),
    ...(scenario.error === undefined ? [] : [`**Failed**: ${scenario.error}`]),
  ].join('\n\n');
}

function table([head = [], ...rows]: readonly string[][]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${head.map((_, column) => (column === 0 ? '---' : '--:')).join('|')}|`, ...rows.map(line)].join('\n');
}
