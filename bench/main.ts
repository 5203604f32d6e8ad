import { parseArguments, UsageError, type Order } from './arguments.ts';
import { checkElsewhere } from './elsewhere.ts';
import { machine } from './measure/machine.ts';
import { Processes } from './processes/processes.ts';
import { Progress } from './report/progress.ts';
import { save } from './report/save.ts';
import { runTable } from './report/table.ts';
import type { RunResult, ScenarioResult } from './result.ts';
import { runScenario, stepsOf } from './run.ts';
import { scenarios } from './scenarios/scenarios.ts';

/** Orders → processes → scenarios, one after the other → report. Ends with 1 where something is wrong, 2 where the order is, 130 after Ctrl-C. */
async function main(): Promise<number> {
  const order = parseArguments(process.argv.slice(2), scenarios);
  if (typeof order === 'string') {
    console.log(order);
    return 0;
  }
  if (order.settings.url !== undefined) await checkElsewhere(order.settings.url);
  const result = await run(order);
  console.log(runTable(result));
  console.log(`\nWritten to ${save(result, order)}`);
  if (result.partial) return 130;
  return result.scenarios.some(({ error, findings }) => error !== undefined || findings.length > 0) ? 1 : 0;
}

async function run({ settings, scenarios: picked }: Order): Promise<RunResult> {
  const startedAt = new Date();
  const stopping = new AbortController();
  const progress = new Progress(picked.reduce((sum, scenario) => sum + stepsOf(scenario, settings), 0));
  const processes = new Processes(settings, stopping.signal, (what) => progress.doing(what));
  const stop = (): void => {
    // Whoever asks a second time does not want to wait; the children notice that their parent is gone.
    if (stopping.signal.aborted) process.exit(130);
    stopping.abort();
    progress.doing('stopping');
    void processes.close();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);

  const results: ScenarioResult[] = [];
  try {
    for (const scenario of picked) {
      if (stopping.signal.aborted) break;
      progress.begin(scenario.name);
      results.push(await runScenario(scenario, processes, () => progress.step()));
    }
  } finally {
    progress.doing('ending processes');
    await processes.close();
    progress.close();
  }
  return {
    startedAt: startedAt.toISOString(),
    seconds: Math.round((Date.now() - startedAt.getTime()) / 1000),
    machine: machine(),
    settings,
    partial: stopping.signal.aborted,
    scenarios: results,
  };
}

try {
  // A connection that a scenario which failed left open must not keep it alive.
  process.exit(await main());
} catch (error) {
  console.error(error instanceof UsageError ? `bench: ${error.message}` : error);
  process.exit(error instanceof UsageError ? 2 : 1);
}
