import type { FigureName, Figures } from './figures.ts';
import { median } from './measure/statistics.ts';
import type { Figure, ScenarioResult, SideResult, TargetResult } from './result.ts';
import type { Bench, Contestant, RunSettings, Scenario, Side } from './scenario.ts';

/** Told of every step that is done, so that a bar can move. */
export type OnStep = () => void;

/** A side that takes part, and what its rounds found. */
interface Entrant {
  readonly side: Side;
  readonly contestant: Contestant;
  readonly found: Figures[];
}

/** Warming up takes as long as a round, but no less than what the compiler needs to see of requests. */
const WARM_UP_SECONDS = 1;

/** Latencies are taken at this part of the rate that the slowest side managed. */
const LATENCY_LOAD = 0.5;

/**
 * Runs a scenario: all sides are opened, then take turns, so that whatever else the machine does meets all of them alike;
 * every second round goes the other way round, since the first one after a pause has it easier or harder.
 */
export async function runScenario(scenario: Scenario, bench: Bench, onStep: OnStep): Promise<ScenarioResult> {
  const entrants: Entrant[] = [];
  let findings: string[] = [];
  let error: string | undefined;
  const say = (what: string, side?: Side): void =>
    bench.doing([scenario.name, side?.name, what].filter((word) => word !== undefined).join(' · '));
  try {
    for (const side of sidesOf(scenario, bench.settings)) {
      bench.signal.throwIfAborted();
      say('opening', side);
      entrants.push({ side, contestant: await side.open(bench), found: [] });
      onStep();
    }
    await takeTurns(scenario, entrants, bench, say, onStep);
    say('audit');
    findings = await auditAll(entrants);
  } catch (thrown) {
    error = bench.signal.aborted ? undefined : (thrown as Error).message;
  } finally {
    if (!bench.signal.aborted)
      for (const { contestant } of entrants) await contestant.close?.().catch((thrown: Error) => (error ??= thrown.message));
  }
  const sides = entrants.map(summed);
  const { name, family, title, summary, operation } = scenario;
  return {
    name,
    ...(family === undefined ? {} : { family }),
    title,
    summary,
    operation,
    sides,
    targets: bench.settings.url === undefined ? scenario.targets.map((target) => judged(target, sides)) : [],
    findings,
    ...(error === undefined ? {} : { error }),
    partial: bench.signal.aborted,
  };
}

/** How many times `onStep` is called for a scenario that goes well. */
export function stepsOf(scenario: Scenario, settings: RunSettings): number {
  const rounds = roundsOf(scenario, settings);
  return sidesOf(scenario, settings).length * (1 + (scenario.warmUpSeconds === 0 ? 0 : 1) + rounds + latencyRounds(rounds));
}

/** At --url there is the service and nothing to compare it with. */
function sidesOf({ sides }: Scenario, { url }: RunSettings): readonly Side[] {
  return url === undefined ? sides : sides.filter(({ kind }) => kind === 'service');
}

function roundsOf(scenario: Scenario, settings: RunSettings): number {
  return Math.min(scenario.rounds ?? Infinity, settings.rounds);
}

function latencyRounds(rounds: number): number {
  return Math.max(1, Math.floor(rounds / 2));
}

async function takeTurns(
  scenario: Scenario,
  entrants: readonly Entrant[],
  bench: Bench,
  say: (what: string, side?: Side) => void,
  onStep: OnStep,
): Promise<void> {
  const { quick, url } = bench.settings;
  const seconds = url === undefined ? Math.min(bench.settings.seconds, scenario.mostSeconds ?? Infinity) : bench.settings.seconds;
  const { warmUpSeconds = WARM_UP_SECONDS } = scenario;
  const rounds = roundsOf(scenario, bench.settings);
  const turn = async (
    round: number,
    what: string,
    take: (entrant: Entrant) => Promise<Figures | undefined>,
    keep: boolean,
  ): Promise<void> => {
    for (const entrant of round % 2 === 0 ? entrants : entrants.toReversed()) {
      bench.signal.throwIfAborted();
      say(what, entrant.side);
      const figures = await take(entrant);
      if (keep && figures !== undefined) entrant.found.push(figures);
      onStep();
    }
  };
  if (warmUpSeconds > 0) {
    await turn(0, 'warming up', ({ contestant }) => contestant.round(quick ? seconds : Math.max(seconds, warmUpSeconds)), false);
  }
  for (let round = 0; round < rounds; round++) {
    await turn(round, `round ${round + 1} of ${rounds}`, ({ contestant }) => contestant.round(seconds), true);
  }
  const rates = entrants.filter(({ contestant }) => contestant.latency !== undefined).map(({ found }) => medianOf(found, 'perSecond'));
  const rate = Math.max(1, Math.floor(LATENCY_LOAD * Math.min(...rates)));
  for (let round = 0; round < latencyRounds(rounds); round++) {
    await turn(round, `latency at ${rate}/s`, async ({ contestant }) => contestant.latency?.(rate, seconds), true);
  }
}

async function auditAll(entrants: readonly Entrant[]): Promise<string[]> {
  const findings: string[] = [];
  for (const { side, contestant } of entrants) {
    const found = (await contestant.audit?.()) ?? [];
    findings.push(...found.map((finding) => `${side.name}: ${finding}`));
  }
  return findings;
}

function medianOf(found: readonly Figures[], name: FigureName): number {
  return median(found.map((figures) => figures[name]).filter((value) => value !== undefined));
}

function summed({ side: { id, name, kind, at }, found }: Entrant): SideResult {
  const figures: Partial<Record<FigureName, Figure>> = {};
  const names = new Set(found.flatMap((round) => Object.keys(round) as FigureName[]));
  for (const figure of names) {
    const rounds = found.map((round) => round[figure]).filter((value) => value !== undefined && !Number.isNaN(value)) as number[];
    if (rounds.length === 0) continue;
    figures[figure] = { median: median(rounds), lowest: Math.min(...rounds), highest: Math.max(...rounds), rounds };
  }
  return { id, name, kind, ...(at === undefined ? {} : { at }), figures };
}

export function judged(target: Scenario['targets'][number], sides: readonly SideResult[]): TargetResult {
  const { what, figure, side, against, most } = target;
  const of = (id: string): number | undefined => sides.find((candidate) => candidate.id === id)?.figures[figure]?.median;
  const own = of(side);
  const other = against === undefined ? 1 : of(against);
  const value = own === undefined || other === undefined ? undefined : own / other;
  const isRatio = against !== undefined;
  if (value === undefined) return { what, figure, isRatio, most };
  return { what, figure, isRatio, most, value, reached: value <= most };
}
