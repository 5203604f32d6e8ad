import { parseArguments, UsageError, type CommandLine } from './arguments.ts';
import { Budget } from './budget.ts';
import { runComparison } from './compare/compare.ts';
import { comparisonJson, comparisonMarkdown, comparisonTable } from './compare/report.ts';
import { checkRunningService } from './running-service.ts';
import { machine } from './measure/machine.ts';
import { Processes } from './processes/processes.ts';
import { News } from './report/news.ts';
import { Progress } from './report/progress.ts';
import { save, saveComparison } from './report/save.ts';
import { runTable } from './report/table.ts';
import type { RunResult, ScenarioResult } from './result.ts';
import { runScenario } from './run.ts';
import { clusterScenarios } from './scenarios/cluster.ts';
import { scenarios } from './scenarios/scenarios.ts';

/**
 * Parses the command line, runs the scenarios one after the other and writes the report.
 * @returns the exit code: 0, 1 when an audit or a scenario failed or a service at --url answered with anything but 200, 130
 * after Ctrl-C. A UsageError ends the process with 2.
 */
async function main(): Promise<number> {
  const commandLine = parseArguments(process.argv.slice(2), scenarios, clusterScenarios);
  if (typeof commandLine === 'string') {
    console.log(commandLine);
    return 0;
  }
  if (commandLine.compare !== undefined) return compare(commandLine, commandLine.compare);
  if (commandLine.settings.url !== undefined) await checkRunningService(commandLine.settings.url);
  const result = await run(commandLine);
  console.log(runTable(result));
  console.log(`\n${save(result, commandLine)}`);
  if (result.partial) return 130;
  return result.scenarios.some(isWrong) || result.drift !== undefined ? 1 : 0;
}

function isWrong({ error, findings, sides }: ScenarioResult): boolean {
  const isNotOk = (what: string): boolean => what !== 'status 200';
  return error !== undefined || findings.length > 0 || sides.some(({ answers = {} }) => Object.keys(answers).some(isNotOk));
}

/** The exit code does not depend on the verdicts: 0, 1 when a scenario failed, 130 after Ctrl-C. */
async function compare(commandLine: CommandLine, commit: string): Promise<number> {
  const result = await withProcesses(commandLine, 1, (processes, progress) =>
    runComparison(commit, commandLine.scenarios, processes, {
      pair: (number) => progress.begin(`pair ${number} of processes`),
      part: (part) => progress.at(part),
    }),
  );
  console.log(comparisonTable(result));
  const files = { 'compare.json': comparisonJson(result), 'compare.md': comparisonMarkdown(result) };
  console.log(`\n${saveComparison(files, commandLine)}`);
  if (result.partial) return 130;
  return result.scenarios.some(({ error }) => error !== undefined) ? 1 : 0;
}

async function run(commandLine: CommandLine): Promise<RunResult> {
  const { settings, scenarios: picked } = commandLine;
  const startedAt = new Date();
  const results: ScenarioResult[] = [];
  let drift: string[] = [];
  const partial = await withProcesses(commandLine, picked.length, async (processes, progress) => {
    if (!processes.hasWrk && settings.url === undefined)
      progress.line('bench: wrk is not installed (Debian: apt install wrk), so targets are judged without it');
    const budget = new Budget(settings.minutes * 60 - ENDING_SECONDS, picked);
    for (let next = budget.next(); next !== undefined && !processes.signal.aborted; next = budget.next()) {
      progress.begin(next.scenario.name);
      results.push(await runScenario(next, processes, (part) => progress.at(part)));
      progress.step();
    }
    progress.doing('audit of all data');
    drift = await processes.auditData();
    return processes.signal.aborted;
  });
  return {
    startedAt: startedAt.toISOString(),
    seconds: Math.round((Date.now() - startedAt.getTime()) / 1000),
    machine: machine(),
    settings,
    partial,
    scenarios: picked.flatMap(({ name }) => results.filter((result) => result.name === name)),
    ...(drift.length === 0 ? {} : { drift }),
  };
}

/** Kept back from the time of the run: the audit of all data takes some 20 s, and servers take some seconds to drain. */
const ENDING_SECONDS = 30;

/** Ends all processes when `act` returns, when it throws and after Ctrl-C. */
async function withProcesses<Result>(
  { settings }: CommandLine,
  steps: number,
  act: (processes: Processes, progress: Progress) => Promise<Result>,
): Promise<Result> {
  const stopping = new AbortController();
  const progress = new Progress(steps);
  const news = new News();
  const processes = new Processes(settings, stopping.signal, {
    doing: (what) => progress.doing(what),
    news: (latest) => progress.line(news.line(latest)),
  });
  const stop = (): void => {
    // A second Ctrl-C exits at once. The children exit when they lose their parent.
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
  // A failed scenario may have left a connection open, which would keep the process alive.
  process.exit(await main());
} catch (error) {
  console.error(error instanceof UsageError ? `bench: ${error.message}` : error);
  process.exit(error instanceof UsageError ? 2 : 1);
}
