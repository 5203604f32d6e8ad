import type { Figures } from '../figures.ts';
import type { Measured } from '../measure/measured.ts';
import type { Processes } from '../processes/processes.ts';
import type { Contestant, Scenario } from '../scenario.ts';
import type { Compared } from './compared.ts';
import { benchOf, startCheckout } from './service.ts';

/**
 * Turns of each process in a scenario. They alternate strictly: in a second turn in a row a process would find its data in
 * the processor's caches and cost some per cent less.
 */
const REQUESTS = { turns: 16, seconds: 0.05, warmUpSeconds: 0.6 };

/** Room changes come only some times a second, and the services have served no watcher yet, so these turns are longer. */
const CHANGES = { turns: 8, seconds: 0.2, warmUpSeconds: 1 };

export interface Checkouts {
  /** The folder of the commit. */
  readonly before: string;
  /** The folder of the working tree. */
  readonly now: string;
  /** Prefix of the services' commands. */
  readonly command: readonly string[];
}

/** Starts both services, runs each scenario on them in turns and ends them. Every second pair starts with the working tree. */
export async function runPair(
  { before, now, command }: Checkouts,
  {
    isReversed,
    open,
    processes,
    isTimeUp,
  }: { isReversed: boolean; open: readonly Compared[]; processes: Processes; isTimeUp: () => boolean },
): Promise<void> {
  const services: Measured[] = [];
  try {
    processes.doing('starting both');
    const starting = (isReversed ? [now, before] : [before, now]).map((checkout) => startCheckout(processes, checkout, command));
    // When one fails to start, the other one is ended with the run.
    services.push(...(await Promise.all(starting)));
    for (const service of services) await processes.warmedUp(service);
    const [first, second] = services as [Measured, Measured];
    for (const compared of open) {
      if (isTimeUp()) break;
      processes.signal.throwIfAborted();
      processes.doing(compared.scenario.name);
      try {
        const [one, other] = await takeTurns(compared.scenario, [first, second], processes);
        compared.add(isReversed ? { before: other, now: one } : { before: one, now: other });
      } catch (error) {
        if (processes.signal.aborted) throw error;
        compared.fail((error as Error).message);
      }
    }
  } finally {
    if (!processes.signal.aborted) await Promise.all(services.map((service) => service.stop()));
  }
}

async function takeTurns(scenario: Scenario, services: readonly Measured[], processes: Processes): Promise<[Figures[], Figures[]]> {
  const side = scenario.sides[0]!;
  const contestants: Contestant[] = [];
  const found: [Figures[], Figures[]] = [[], []];
  try {
    for (const service of services) contestants.push(await side.open(benchOf(processes, service)));
    const isOfRequests = contestants[0]!.regimes !== undefined;
    const { turns, seconds, warmUpSeconds } = isOfRequests ? REQUESTS : CHANGES;
    for (const contestant of contestants) await contestant.round(warmUpSeconds);
    for (let turn = 0; turn < turns; turn++) {
      for (const index of [0, 1] as const) {
        processes.signal.throwIfAborted();
        found[index].push(await contestants[index]!.round(seconds));
      }
    }
    // Ledgers are not audited, because that takes longer than the turns. Any status but 200 has failed the scenario already.
    const problems = isOfRequests ? [] : (await Promise.all(contestants.map((contestant) => contestant.audit?.()))).flat();
    if (problems.length > 0) throw new Error(problems.join('; '));
    return found;
  } finally {
    for (const contestant of contestants) await contestant.close?.();
  }
}
