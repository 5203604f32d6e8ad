import type { FigureName, Figures } from './figures.ts';
import type { Share } from './budget.ts';
import { judge, medianOf, ratiosOf, sidesOf, unsettledSides, type RoundsBySide } from './judge.ts';
import { median, percentile } from './measure/statistics.ts';
import type { Figure, ScenarioResult, SideResult } from './result.ts';
import type { Bench, Contestant, RunSettings, Scenario, Side } from './scenario.ts';

/** Called with the finished part of a scenario, 0 to 1, for the progress bar. */
export type OnPart = (part: number) => void;

/** An opened side and the figures of its rounds. */
interface Entrant {
  readonly side: Side;
  readonly contestant: Contestant;
  readonly found: Figures[];
}

/** Long enough for V8's compiler to optimise the code of a request. */
const WARM_UP_SECONDS = 1;

/** Latencies and CPU at half load are measured at this part of the rate that the slowest side reached. */
const HALF_LOAD = 0.5;

/** Wilcoxon's signed-rank test has no 95 % interval for fewer rounds. */
const MIN_ROUNDS = 6;

/** The Hodges–Lehmann estimate compares all pairs of rounds, so more would be slow, and would hardly narrow the interval. */
const MAX_ROUNDS = 60;

/** Kept back from a scenario's time for the audit and for closing the sides. */
const AUDIT_SECONDS = 4;

/**
 * Opens all sides of a scenario, runs their rounds in turns, audits and closes them. The sides take turns so that other work
 * on the machine slows all of them alike. Every second round runs in reverse order, because the first side after a pause may
 * be faster or slower than the others.
 */
export async function runScenario({ scenario, seconds, mostSeconds }: Share, bench: Bench, onPart: OnPart): Promise<ScenarioResult> {
  const entrants: Entrant[] = [];
  let findings: string[] = [];
  let error: string | undefined;
  const say: Say = (what, side) => bench.doing([scenario.name, side?.name, what].filter((word) => word !== undefined).join(' · '));
  const now = performance.now();
  const deadlines: Deadlines = {
    soft: now + (seconds - AUDIT_SECONDS) * 1000,
    hard: now + (mostSeconds - AUDIT_SECONDS) * 1000,
  };
  try {
    for (const side of sidesToRun(scenario, bench.settings)) {
      bench.signal.throwIfAborted();
      say('opening', side);
      entrants.push({ side, contestant: await side.open(bench), found: [] });
    }
    await new Turns(scenario, entrants, bench, say).run(deadlines, onPart);
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

/** A quick run tests the bench. Its rounds are too short for verdicts. */
function withoutVerdict({ verdict: _, regimes, ...target }: ScenarioResult['targets'][number]): ScenarioResult['targets'][number] {
  return { ...target, regimes: regimes.map(({ verdict: _verdict, ...regime }) => regime) };
}

/** With --url only the service itself is measured. */
function sidesToRun({ sides }: Scenario, { url, quick }: RunSettings): readonly Side[] {
  const wanted = quick ? sides.filter(({ isFetched = false }) => !isFetched) : sides;
  return url === undefined ? wanted : wanted.filter(({ kind }) => kind === 'service');
}

function roundsBySide(entrants: readonly Entrant[]): RoundsBySide {
  return new Map(entrants.map(({ side, found }) => [side.id, found]));
}

/** When a scenario's rounds end, in ms on the clock of performance.now(). */
interface Deadlines {
  /** No further round, except those that an interval or a fixed number of rounds needs. */
  readonly soft: number;
  /** No further round at all, unless --rounds fixes their number. */
  readonly hard: number;
}

type Say = (what: string, side?: Side) => void;

/** Runs the rounds of a scenario. In a round all sides run one after the other, first saturated, then under the other loads. */
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

  async run(deadlines: Deadlines, onPart: OnPart): Promise<void> {
    const startedAt = performance.now();
    const { quick } = this.#bench.settings;
    const { warmUpSeconds = WARM_UP_SECONDS } = this.#scenario;
    if (warmUpSeconds > 0) {
      const warmUp = quick ? Math.min(this.#seconds, warmUpSeconds) : warmUpSeconds;
      await this.#inTurns(this.#entrants, 0, 'warming up', async ({ contestant }) => void (await contestant.round(warmUp)));
    }
    let rate = Number.NaN;
    let active = this.#entrants;
    for (let round = 0; active.length > 0; active = this.#sidesOfRound(++round, deadlines)) {
      await this.#inTurns(active, round, `round ${round + 1}`, async ({ contestant, found }) => {
        found[round] = await contestant.round(this.#seconds);
      });
      if (round === 0) rate = this.#halfLoad();
      await this.#otherRegimes(active, round, rate);
      const rounds = this.#fixedRounds() ?? Infinity;
      onPart(Math.min(1, Math.max((round + 1) / rounds, (performance.now() - startedAt) / (deadlines.soft - startedAt))));
    }
  }

  async #otherRegimes(active: readonly Entrant[], round: number, rate: number): Promise<void> {
    const most = Math.max(...active.map(({ contestant }) => contestant.regimes?.length ?? 0));
    for (let index = 0; index < most; index++) {
      const what = active.map(({ contestant }) => contestant.regimes?.[index]?.name).find((name) => name !== undefined);
      await this.#inTurns(active, round, `round ${round + 1}, ${what}`, async ({ contestant, found }) => {
        const figures = await contestant.regimes?.[index]?.round(this.#seconds, rate);
        found[round] = { ...found[round], ...figures };
      });
    }
  }

  async #inTurns(active: readonly Entrant[], round: number, what: string, take: (entrant: Entrant) => Promise<void>): Promise<void> {
    for (const entrant of round % 2 === 0 ? active : active.toReversed()) {
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

  #fixedRounds(): number | undefined {
    const { rounds } = this.#bench.settings;
    return this.#scenario.rounds === undefined || rounds === undefined
      ? (rounds ?? this.#scenario.rounds)
      : Math.min(rounds, this.#scenario.rounds);
  }

  /**
   * The sides that run another round; an empty list ends the scenario. Up to the sixth round, which an interval needs, all
   * sides run; after the soft deadline only those of a target. From then on a side stops once its ratios and targets are known.
   */
  #sidesOfRound(done: number, deadlines: Deadlines): readonly Entrant[] {
    const now = performance.now();
    const fixed = this.#fixedRounds();
    if (this.#bench.settings.rounds === undefined && now >= deadlines.hard) return [];
    if (fixed !== undefined) return done < fixed ? this.#entrants : [];
    if (done < MIN_ROUNDS) return now < deadlines.soft ? this.#entrants : this.#only(sidesOf(this.#scenario.targets));
    if (done >= MAX_ROUNDS || now >= deadlines.soft) return [];
    return this.#only(unsettledSides(this.#scenario, roundsBySide(this.#entrants)));
  }

  #only(ids: ReadonlySet<string>): readonly Entrant[] {
    return this.#entrants.filter(({ side }) => ids.has(side.id));
  }
}

async function auditAll(entrants: readonly Entrant[]): Promise<string[]> {
  // Audits may run in parallel, because the measuring is over.
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
