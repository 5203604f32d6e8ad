import { parseArguments, UsageError, type Order } from './arguments.ts';
import { Budget } from './budget.ts';
import { runComparison } from './compare/compare.ts';
import { comparisonJson, comparisonMarkdown, comparisonTable } from './compare/report.ts';
import { checkElsewhere } from './elsewhere.ts';
import { machine } from './measure/machine.ts';
import { Processes } from './processes/processes.ts';
import { News } from './report/news.ts';
import { Progress } from './report/progress.ts';
import { save, saveComparison } from './report/save.ts';
import { runTable } from './report/table.ts';
import type { RunResult, ScenarioResult } from './result.ts';
import { runScenario } from './run.ts';
import { scenarios } from './scenarios/scenarios.ts';

/** Orders → processes → scenarios, one after the other → report. Ends with 1 where something is wrong, 2 where the order is, 130 after Ctrl-C. */
async function main(): Promise<number> {
  const order = parseArguments(process.argv.slice(2), scenarios);
  if (typeof order === 'string') {
    console.log(order);
    return 0;
  }
  if (order.compare !== undefined) return compare(order, order.compare);
  if (order.settings.url !== undefined) await checkElsewhere(order.settings.url);
  const result = await run(order);
  console.log(runTable(result));
  console.log(`\n${save(result, order)}`);
  if (result.partial) return 130;
  return result.scenarios.some(isWrong) ? 1 : 0;
}

function isWrong({ error, findings, sides }: ScenarioResult): boolean {
  const isNotOk = (what: string): boolean => what !== 'status 200';
  return error !== undefined || findings.length > 0 || sides.some(({ answers = {} }) => Object.keys(answers).some(isNotOk));
}

/** Whatever it finds is a result: it ends with 0. */
async function compare(order: Order, commit: string): Promise<number> {
  const result = await withProcesses(order, 1, (processes, progress) =>
    runComparison(commit, order.scenarios, processes, {
      pair: (number) => progress.begin(`pair ${number} of processes`),
      part: (part) => progress.at(part),
    }),
  );
  console.log(comparisonTable(result));
  const files = { 'compare.json': comparisonJson(result), 'compare.md': comparisonMarkdown(result) };
  console.log(`\n${saveComparison(files, order)}`);
  if (result.partial) return 130;
  return result.scenarios.some(({ error }) => error !== undefined) ? 1 : 0;
}

async function run(order: Order): Promise<RunResult> {
  const { settings, scenarios: picked } = order;
  const startedAt = new Date();
  const results: ScenarioResult[] = [];
  const partial = await withProcesses(order, picked.length, async (processes, progress) => {
    if (!processes.hasWrk && settings.url === undefined)
      progress.line('bench: wrk is not installed (Debian: apt install wrk): targets are judged without it');
    const budget = new Budget(settings.minutes * 60 - ENDING_SECONDS, picked);
    for (let next = budget.next(); next !== undefined && !processes.signal.aborted; next = budget.next()) {
      progress.begin(next.scenario.name);
      results.push(await runScenario(next, processes, (part) => progress.at(part)));
      progress.step();
    }
    return processes.signal.aborted;
  });
  return {
    startedAt: startedAt.toISOString(),
    seconds: Math.round((Date.now() - startedAt.getTime()) / 1000),
    machine: machine(),
    settings,
    partial,
    scenarios: picked.flatMap(({ name }) => results.filter((result) => result.name === name)),
  };
}

/** Servers drain for some seconds. */
const ENDING_SECONDS = 10;

/** Does something with processes that are ended whatever happens, at Ctrl-C too. */
async function withProcesses<Result>(
  { settings }: Order,
  steps: number,
  act: (processes: Processes, progress: Progress) => Promise<Result>,
): Promise<Result> {
  const stopping = new AbortController();
  const progress = new Progress(steps);
  const news = new News();
  const processes = new Processes(settings, stopping.signal, {
    doing: (what) => progress.doing(what),
    news: (told) => progress.line(news.line(told)),
  });
  const stop = (): void => {
    // Whoever asks a second time does not want to wait; the children notice that their parent is gone.
    if (stopping.signal.aborted) process.exit(130);
    stopping.abort();
    progress.doing('stopping');
    void processes.close();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  try {
    return await act(processes, progress);
  } finally {
    progress.doing('ending processes');
    await processes.close();
    progress.close();
  }
}

try {
  // A connection that a scenario which failed left open must not keep it alive.
  process.exit(await main());
} catch (error) {
  console.error(error instanceof UsageError ? `bench: ${error.message}` : error);
  process.exit(error instanceof UsageError ? 2 : 1);
}
