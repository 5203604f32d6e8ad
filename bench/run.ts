import type { FigureName, Figures } from './figures.ts';
import type { Share } from './budget.ts';
import { judge, medianOf, ratiosOf, sidesOf, unsettledSides, type RoundsBySide } from './judge.ts';
import { median, percentile } from './measure/statistics.ts';
import type { Figure, ScenarioResult, SideResult } from './result.ts';
import type { Bench, Contestant, RunSettings, Scenario, Side } from './scenario.ts';

/** Told what part of a scenario is done, so that a bar can move. */
export type OnPart = (part: number) => void;

/** A side that takes part, and what its rounds found. */
interface Entrant {
  readonly side: Side;
  readonly contestant: Contestant;
  readonly found: Figures[];
}

/** What the compiler needs to see of requests before it has done its work. */
const WARM_UP_SECONDS = 1;

/** Latencies, and CPU at half load, are taken at this part of the rate that the slowest side managed. */
const HALF_LOAD = 0.5;

/** Fewer have no interval of 95 %. */
const FEWEST_ROUNDS = 6;

/** More would take long to be compared pair by pair, and tell nothing more. */
const MOST_ROUNDS = 60;

/** Kept back of a scenario's time, for its audit and its end. */
const AFTERWARDS_SECONDS = 4;

/**
 * Runs a scenario: all sides are opened, then take turns, so that whatever else the machine does meets all of them alike;
 * every second round goes the other way round, since the first one after a pause has it easier or harder.
 */
export async function runScenario({ scenario, seconds, mostSeconds }: Share, bench: Bench, onPart: OnPart): Promise<ScenarioResult> {
  const entrants: Entrant[] = [];
  let findings: string[] = [];
  let error: string | undefined;
  const say: Say = (what, side) => bench.doing([scenario.name, side?.name, what].filter((word) => word !== undefined).join(' · '));
  const now = performance.now();
  const ends: Ends = {
    at: now + (seconds - AFTERWARDS_SECONDS) * 1000,
    atTheLatest: now + (mostSeconds - AFTERWARDS_SECONDS) * 1000,
  };
  try {
    for (const side of sidesThere(scenario, bench.settings)) {
      bench.signal.throwIfAborted();
      say('opening', side);
      entrants.push({ side, contestant: await side.open(bench), found: [] });
    }
    await new Turns(scenario, entrants, bench, say).run(ends, onPart);
    say('audit');
    findings = await auditAll(entrants);
  } catch (thrown) {
    error = bench.signal.aborted ? undefined : (thrown as Error).message;
  } finally {
    if (!bench.signal.aborted)
      for (const { contestant } of entrants) await contestant.close?.().catch((thrown: Error) => (error ??= thrown.message));
  }
  return resultOf(scenario, entrants, bench, { findings, error });
}

function resultOf(
  scenario: Scenario,
  entrants: readonly Entrant[],
  { settings, signal }: Bench,
  { findings, error }: { findings: readonly string[]; error: string | undefined },
): ScenarioResult {
  const { name, family, title, summary, operation, targets } = scenario;
  const rounds = roundsBySide(entrants);
  const judged = settings.url === undefined ? targets.map((target) => judge(target, rounds, { isCounted: scenario.rounds === 1 })) : [];
  return {
    name,
    ...(family === undefined ? {} : { family }),
    title,
    summary,
    operation,
    sides: entrants.map(summed),
    ratios: ratiosOf(scenario, rounds),
    targets: settings.quick ? judged.map(withoutVerdict) : judged,
    findings,
    ...(error === undefined ? {} : { error }),
    partial: signal.aborted,
  };
}

/** A quick run shows that all of it works, and decides nothing. */
function withoutVerdict({ verdict: _, regimes, ...target }: ScenarioResult['targets'][number]): ScenarioResult['targets'][number] {
  return { ...target, regimes: regimes.map(({ verdict: _verdict, ...regime }) => regime) };
}

/** At --url there is the service and nothing to compare it with. */
function sidesThere({ sides }: Scenario, { url }: RunSettings): readonly Side[] {
  return url === undefined ? sides : sides.filter(({ kind }) => kind === 'service');
}

function roundsBySide(entrants: readonly Entrant[]): RoundsBySide {
  return new Map(entrants.map(({ side, found }) => [side.id, found]));
}

/**
 * When a scenario's rounds end, on the clock of performance.now(): whatever is decided, and, with fewer than six rounds or
 * those that it has to run, whatever is missing.
 */
interface Ends {
  readonly at: number;
  readonly atTheLatest: number;
}

type Say = (what: string, side?: Side) => void;

/** The rounds of a scenario: in each, all sides do the same in turns, under one load after the other. */
class Turns {
  readonly #scenario: Scenario;
  readonly #entrants: readonly Entrant[];
  readonly #bench: Bench;
  readonly #say: Say;
  readonly #seconds: number;

  constructor(scenario: Scenario, entrants: readonly Entrant[], bench: Bench, say: Say) {
    this.#scenario = scenario;
    this.#entrants = entrants;
    this.#bench = bench;
    this.#say = say;
    const { url, seconds } = bench.settings;
    this.#seconds = url === undefined ? Math.min(seconds, scenario.mostSeconds ?? Infinity) : seconds;
  }

  async run(ends: Ends, onPart: OnPart): Promise<void> {
    const startedAt = performance.now();
    const { quick } = this.#bench.settings;
    const { warmUpSeconds = WARM_UP_SECONDS } = this.#scenario;
    if (warmUpSeconds > 0) {
      const warmUp = quick ? Math.min(this.#seconds, warmUpSeconds) : warmUpSeconds;
      await this.#each(this.#entrants, 0, 'warming up', async ({ contestant }) => void (await contestant.round(warmUp)));
    }
    let rate = Number.NaN;
    let taking = this.#entrants;
    for (let round = 0; taking.length > 0; taking = this.#whoGoesOn(++round, ends)) {
      await this.#each(taking, round, `round ${round + 1}`, async ({ contestant, found }) => {
        found[round] = await contestant.round(this.#seconds);
      });
      if (round === 0) rate = this.#halfLoad();
      await this.#otherRegimes(taking, round, rate);
      const rounds = this.#exactly() ?? Infinity;
      onPart(Math.min(1, Math.max((round + 1) / rounds, (performance.now() - startedAt) / (ends.at - startedAt))));
    }
  }

  async #otherRegimes(taking: readonly Entrant[], round: number, rate: number): Promise<void> {
    const most = Math.max(...taking.map(({ contestant }) => contestant.regimes?.length ?? 0));
    for (let index = 0; index < most; index++) {
      const what = taking.map(({ contestant }) => contestant.regimes?.[index]?.name).find((name) => name !== undefined);
      await this.#each(taking, round, `round ${round + 1}, ${what}`, async ({ contestant, found }) => {
        const figures = await contestant.regimes?.[index]?.round(this.#seconds, rate);
        found[round] = { ...found[round], ...figures };
      });
    }
  }

  async #each(taking: readonly Entrant[], round: number, what: string, take: (entrant: Entrant) => Promise<void>): Promise<void> {
    for (const entrant of round % 2 === 0 ? taking : taking.toReversed()) {
      this.#bench.signal.throwIfAborted();
      this.#say(what, entrant.side);
      await take(entrant);
    }
  }

  #halfLoad(): number {
    const rates = this.#entrants
      .filter(({ contestant }) => contestant.regimes !== undefined)
      .map(({ found }) => medianOf(found, 'perSecond'));
    return Math.max(1, Math.floor(HALF_LOAD * Math.min(...rates.filter((rate) => rate > 0))));
  }

  #exactly(): number | undefined {
    const { rounds } = this.#bench.settings;
    return this.#scenario.rounds === undefined || rounds === undefined
      ? (rounds ?? this.#scenario.rounds)
      : Math.min(rounds, this.#scenario.rounds);
  }

  /**
   * Those of which another round tells something; none where it is enough. All of them run the rounds that an interval needs,
   * or where the time is up those that a target is about; after these a side stops once all about it is known.
   */
  #whoGoesOn(done: number, ends: Ends): readonly Entrant[] {
    const now = performance.now();
    const exactly = this.#exactly();
    if (this.#bench.settings.rounds === undefined && now >= ends.atTheLatest) return [];
    if (exactly !== undefined) return done < exactly ? this.#entrants : [];
    if (done < FEWEST_ROUNDS) return now < ends.at ? this.#entrants : this.#only(sidesOf(this.#scenario.targets));
    if (done >= MOST_ROUNDS || now >= ends.at) return [];
    return this.#only(unsettledSides(this.#scenario, roundsBySide(this.#entrants)));
  }

  #only(ids: ReadonlySet<string>): readonly Entrant[] {
    return this.#entrants.filter(({ side }) => ids.has(side.id));
  }
}

async function auditAll(entrants: readonly Entrant[]): Promise<string[]> {
  // At once: nothing is measured any more.
  const findings = await Promise.all(
    entrants.map(async ({ side, contestant }) => ((await contestant.audit?.()) ?? []).map((finding) => `${side.name}: ${finding}`)),
  );
  return findings.flat();
}

function summed({ side: { id, name, kind, at }, contestant, found }: Entrant): SideResult {
  const figures: Partial<Record<FigureName, Figure>> = {};
  const names = new Set(found.flatMap((round) => Object.keys(round) as FigureName[]));
  for (const figure of names) {
    const rounds = found.map((round) => round[figure]).filter((value) => value !== undefined && Number.isFinite(value)) as number[];
    if (rounds.length === 0) continue;
    const sorted = rounds.toSorted((one, other) => one - other);
    figures[figure] = { median: median(rounds), lower: percentile(sorted, 0.25), upper: percentile(sorted, 0.75), rounds };
  }
  const answers = contestant.answers?.();
  return { id, name, kind, ...(at === undefined ? {} : { at }), figures, ...(answers === undefined ? {} : { answers }) };
}
