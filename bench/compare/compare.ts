import { fileURLToPath } from 'node:url';
import { machine } from '../measure/machine.ts';
import type { Processes } from '../processes/processes.ts';
import type { Scenario } from '../scenario.ts';
import { exportCommit } from './checkout.ts';
import { Compared } from './compared.ts';
import { reserveCore } from './cores.ts';
import { runPair } from './pair.ts';
import type { ComparisonResult } from './result.ts';

/**
 * Compares two checkouts of the service, this working tree and a commit, under the same loads. Two processes of the same code
 * differ by some per cent for as long as they live (memory layout, decisions of the compiler). So both services are restarted
 * for each pair; the two processes of a pair take turns in all scenarios and give one value to the statistics. A scenario
 * whose figures are known well enough is left out of later pairs.
 */
export async function runComparison(
  commit: string,
  scenarios: readonly Scenario[],
  processes: Processes,
  progress: { pair(number: number): void; part(part: number): void },
): Promise<ComparisonResult> {
  const startedOn = new Date();
  const startedAt = performance.now();
  const elapsed = (): number => (performance.now() - startedAt) / 1000;
  const { signal, settings } = processes;
  const seconds = settings.minutes * 60;
  const compared = scenarios.map((scenario) => new Compared(scenario));

  processes.doing(`exporting ${commit}`);
  const checkout = await exportCommit(commit, signal);
  const checkouts = { before: checkout.folder, now: fileURLToPath(new URL('../..', import.meta.url)), command: reserveCore() };
  try {
    for (let pair = 0; elapsed() < seconds; pair++) {
      const open = compared.filter((one) => !one.isDone());
      if (open.length === 0) break;
      progress.pair(pair + 1);
      // Each pair starts with another scenario, because the time may run out within a pair. The first pair always completes.
      const first = pair % open.length;
      const turned = [...open.slice(first), ...open.slice(0, first)];
      await runPair(checkouts, { isReversed: pair % 2 === 1, open: turned, processes, isTimeUp: () => pair > 0 && elapsed() >= seconds });
      progress.part(elapsed() / seconds);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    checkout.remove();
  }
  return {
    startedAt: startedOn.toISOString(),
    seconds: Math.round(elapsed()),
    machine: machine(),
    commit,
    commitId: checkout.commit,
    partial: signal.aborted,
    scenarios: compared.map((one) => one.result()),
  };
}
