import type { Figures } from '../figures.ts';
import type { Measured } from '../measure/measured.ts';
import type { Processes } from '../processes/processes.ts';
import type { Contestant, Scenario } from '../scenario.ts';
import type { Compared } from './compared.ts';
import { benchOf, startCheckout } from './service.ts';

/**
 * Turns of each of the two in one scenario: one, other, one, other, … Whoever has two turns in a row finds its data in the
 * processor's caches, and costs some per cent less in the second.
 */
const REQUESTS = { turns: 16, seconds: 0.05, warmUpSeconds: 0.6 };

/** Where rooms change some times a second, and services have seen no watcher yet. */
const CHANGES = { turns: 8, seconds: 0.2, warmUpSeconds: 1 };

export interface Two {
  /** The folders of the two checkouts. */
  readonly before: string;
  readonly now: string;
  /** Put before the services' commands. */
  readonly command: readonly string[];
}

/** Starts both services, has them take turns in each scenario, and ends them. Every second pair begins with the other one. */
export async function runPair(
  { before, now, command }: Two,
  { isTurned, open, processes, isOver }: { isTurned: boolean; open: readonly Compared[]; processes: Processes; isOver: () => boolean },
): Promise<void> {
  const services: Measured[] = [];
  try {
    processes.doing('starting both');
    const starting = (isTurned ? [now, before] : [before, now]).map((checkout) => startCheckout(processes, checkout, command));
    // One that starts while the other fails is ended with the run.
    services.push(...(await Promise.all(starting)));
    for (const service of services) await processes.seasoned(service);
    const [first, second] = services as [Measured, Measured];
    for (const compared of open) {
      if (isOver()) break;
      processes.signal.throwIfAborted();
      processes.doing(compared.scenario.name);
      try {
        const [one, other] = await takeTurns(compared.scenario, [first, second], processes);
        compared.add(isTurned ? { before: other, now: one } : { before: one, now: other });
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
    // Ledgers are not read back, which takes longer than all this: answers other than 200 have failed already.
    const problems = isOfRequests ? [] : (await Promise.all(contestants.map((contestant) => contestant.audit?.()))).flat();
    if (problems.length > 0) throw new Error(problems.join('; '));
    return found;
  } finally {
    for (const contestant of contestants) await contestant.close?.();
  }
}
