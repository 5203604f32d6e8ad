import { fileURLToPath } from 'node:url';
import { machine } from '../measure/machine.ts';
import type { Processes } from '../processes/processes.ts';
import type { Scenario } from '../scenario.ts';
import { layOut } from './checkout.ts';
import { Compared } from './compared.ts';
import { shareOutCores } from './cores.ts';
import { runPair } from './pair.ts';
import type { ComparisonResult } from './result.ts';

/**
 * Two checkouts of the service, this working tree and a commit, under the same loads from this bench. Processes of one and
 * the same code differ by some per cent (where their memory lies, what their compiler decided), and go on doing so for as
 * long as they live. So both are started again and again; each pair of processes takes turns in all scenarios, and is one
 * value of the statistics. A scenario whose figures are known well enough is left out of later pairs.
 */
export async function runComparison(
  commit: string,
  scenarios: readonly Scenario[],
  processes: Processes,
  told: { pair(number: number): void; part(part: number): void },
): Promise<ComparisonResult> {
  const startedOn = new Date();
  const startedAt = performance.now();
  const elapsed = (): number => (performance.now() - startedAt) / 1000;
  const { signal, settings } = processes;
  const seconds = settings.minutes * 60;
  const compared = scenarios.map((scenario) => new Compared(scenario));

  processes.doing(`laying out ${commit}`);
  const checkout = await layOut(commit, signal);
  const two = { before: checkout.folder, now: fileURLToPath(new URL('../..', import.meta.url)), command: shareOutCores() };
  try {
    for (let pair = 0; elapsed() < seconds; pair++) {
      const open = compared.filter((one) => !one.isDone());
      if (open.length === 0) break;
      told.pair(pair + 1);
      // Each pair begins elsewhere in the list: the time may be up in the middle of it. The first is run to its end.
      const first = pair % open.length;
      const turned = [...open.slice(first), ...open.slice(0, first)];
      await runPair(two, { isTurned: pair % 2 === 1, open: turned, processes, isOver: () => pair > 0 && elapsed() >= seconds });
      told.part(elapsed() / seconds);
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
