import type { Redis } from 'ioredis';
import { auditLedgers, type CountedLoad } from '../audit.ts';
import type { Figures } from '../figures.ts';
import { Api } from '../load/api.ts';
import { newKeyPrefix, type LoadCaller, type LoadOrder, type LoadOutcome, type RequestPlan } from '../load/order.ts';
import type { WrkOutcome } from '../load/wrk.ts';
import type { Measured } from '../measure/measured.ts';
import { Meter } from '../measure/meter.ts';
import { percentile } from '../measure/statistics.ts';
import type { Bench, Contestant, Regime, Side, SideKind } from '../scenario.ts';

/** A side that is asked over HTTP. */
export interface HttpSide {
  readonly id: string;
  readonly name: string;
  readonly kind: SideKind;
  readonly server: (bench: Bench) => Promise<Measured>;
  readonly requests: readonly RequestPlan[];
  /** Who asks: nobody in particular, installs, or installs that signed in. */
  readonly callers: 'nobody' | 'installs' | 'sessions';
  /** Sent before the first round: it leaves behind what the scenario reads. */
  readonly prepare?: readonly RequestPlan[];
}

/** Accounts that the load is spread over: enough that no two requests under way often meet in one. */
export const CALLERS = 256;

export function httpSide(side: HttpSide): Side {
  const { id, name, kind } = side;
  return { id, name, kind, open: (bench) => HttpContestant.open(side, bench) };
}

class HttpContestant implements Contestant {
  readonly regimes: readonly Regime[];
  readonly #side: HttpSide;
  readonly #bench: Bench;
  readonly #server: Measured;
  readonly #callers: readonly LoadCaller[];
  readonly #keyPrefix = newKeyPrefix();
  readonly #outcomes: LoadOutcome[] = [];
  /** What wrk sent has keys of its own: of it only numbers are known. */
  readonly #wrkKeyPrefix = newKeyPrefix();
  readonly #wrkOutcomes: WrkOutcome[] = [];
  readonly #answers: Record<string, number> = {};
  #entriesBefore = 0;
  #next = 0;
  #wrkNext = 0;

  static async open(side: HttpSide, bench: Bench): Promise<HttpContestant> {
    const server = await side.server(bench);
    const contestant = new HttpContestant(side, bench, server, await callersOf(side, server));
    await contestant.#prepare();
    return contestant;
  }

  constructor(side: HttpSide, bench: Bench, server: Measured, callers: readonly LoadCaller[]) {
    this.#side = side;
    this.#bench = bench;
    this.#server = server;
    this.#callers = callers;
    const halfLoad = { name: 'half load', round: (seconds: number, rate: number) => this.#halfLoad(seconds, rate) };
    const wrk = { name: 'wrk', round: (seconds: number) => this.#wrk(seconds) };
    this.regimes = bench.hasWrk ? [halfLoad, wrk] : [halfLoad];
  }

  async round(seconds: number): Promise<Figures> {
    const meter = new Meter(this.#server);
    const outcome = await this.#load({ requests: this.#side.requests, seconds }, meter);
    return { ...meter.each(outcome.done), perSecond: outcome.done / outcome.seconds };
  }

  async #halfLoad(seconds: number, rate: number): Promise<Figures> {
    const meter = new Meter(this.#server);
    const { latencies, done } = await this.#load({ requests: this.#side.requests, seconds, rate }, meter);
    return {
      serverCpuHalfLoad: meter.each(done).serverCpu,
      p50: percentile(latencies, 0.5),
      p99: percentile(latencies, 0.99),
      p999: percentile(latencies, 0.999),
      atRate: rate,
    };
  }

  async #wrk(seconds: number): Promise<Figures> {
    const meter = new Meter(this.#server);
    const { url } = this.#server;
    const { requests } = this.#side;
    const { connections } = this.#bench.settings;
    // What is repeated was done by the first rounds, under their keys.
    const keyPrefix = requests.some(({ repeats }) => repeats !== undefined) ? this.#keyPrefix : this.#wrkKeyPrefix;
    await meter.begin();
    const order = { url, connections, requests, callers: this.#callers, keyPrefix, from: this.#wrkNext, seconds };
    const outcome = await this.#bench.wrk(order);
    await meter.end();
    this.#wrkNext = outcome.next;
    this.#wrkOutcomes.push(outcome);
    this.#refuseFailures(outcome);
    const { serverCpu, preemptions } = meter.each(outcome.done);
    return { serverCpuWrk: serverCpu, preemptionsWrk: preemptions };
  }

  answers(): Readonly<Record<string, number>> | undefined {
    return this.#bench.settings.url === undefined ? undefined : this.#answers;
  }

  /** The service's ledgers as its users can read them; of the others it is enough that they did as much as they said. */
  async audit(): Promise<string[]> {
    const acknowledged = new Set(this.#outcomes.flatMap((outcome) => [...outcome.acknowledged]));
    const unanswered = new Set(this.#outcomes.flatMap((outcome) => [...outcome.unanswered]).filter((number) => !acknowledged.has(number)));
    if (acknowledged.size === 0) return [];
    const counted = this.#countedOfWrk();
    if (this.#side.kind === 'service') {
      return auditLedgers(this.#server.url, { callers: this.#callers, keyPrefix: this.#keyPrefix, acknowledged, unanswered, counted });
    }
    const written = (await ledgerEntries(this.#server.redis!)) - this.#entriesBefore;
    const least = acknowledged.size + counted.least;
    const most = acknowledged.size + unanswered.size + counted.most;
    const isRight = written >= least && written <= most;
    return isRight ? [] : [`${least} operations acknowledged, ${most} sent, ${written} entries written`];
  }

  /** How many operations of wrk's took effect: each request that was not answered may have been one. */
  #countedOfWrk(): CountedLoad {
    const sum = (of: (outcome: WrkOutcome) => number): number => this.#wrkOutcomes.reduce((total, outcome) => total + of(outcome), 0);
    return {
      keyPrefix: this.#wrkKeyPrefix,
      numbers: this.#wrkNext,
      least: sum(({ operations, sent, done }) => Math.max(0, operations - (sent - done))),
      most: sum(({ operations }) => operations),
    };
  }

  async #prepare(): Promise<void> {
    if (this.#server.redis !== undefined) this.#entriesBefore = await ledgerEntries(this.#server.redis);
    const { prepare = [] } = this.#side;
    if (prepare.length > 0) await this.#load({ requests: prepare, seconds: 60, count: prepare.length * this.#callers.length, from: 0 });
  }

  async #load(order: Pick<LoadOrder, 'requests' | 'seconds' | 'rate' | 'count'> & { from?: number }, around?: Meter): Promise<LoadOutcome> {
    const whole = {
      url: this.#server.url,
      connections: this.#bench.settings.connections,
      callers: this.#callers,
      keyPrefix: this.#keyPrefix,
      from: this.#next,
      isWatched: this.#bench.settings.url !== undefined,
      ...order,
    };
    const outcome = await this.#bench.load(whole, around);
    this.#next = outcome.next;
    this.#outcomes.push(outcome);
    this.#refuseFailures(outcome);
    return outcome;
  }

  /** A service that somebody else started may fail, and it is told how often; here every answer has to be 200. */
  #refuseFailures({ done, failures }: Pick<LoadOutcome, 'done' | 'failures'>): void {
    for (const [what, times] of Object.entries({ ...(done > 0 ? { 'status 200': done } : {}), ...failures }))
      this.#answers[what] = (this.#answers[what] ?? 0) + times;
    const texts = Object.entries(failures).map(([what, times]) => `${what} (${times} times)`);
    if (this.#bench.settings.url === undefined && texts.length > 0) throw new Error(`${this.#side.name} answered with ${texts.join(', ')}`);
    if (this.#bench.settings.url === undefined && done === 0) throw new Error(`${this.#side.name} answered nothing`);
  }
}

async function callersOf({ callers, kind }: HttpSide, server: Measured): Promise<LoadCaller[]> {
  if (callers === 'nobody') return [{ installId: 'bench-nobody' }];
  const run = crypto.randomUUID();
  const installIds = Array.from({ length: CALLERS }, (_, index) => `bench-${run}-${index}`);
  if (callers === 'installs') return installIds.map((installId) => ({ installId }));
  // A floor knows no sessions, but its requests are as long as everyone's.
  if (kind === 'floor') return installIds.map((installId) => ({ installId, cookie: `svc_session=${'x'.repeat(250)}` }));
  const api = new Api(server.url);
  try {
    return await api.signIn(installIds);
  } finally {
    api.close();
  }
}

async function ledgerEntries(redis: Redis): Promise<number> {
  const ledgers = await redis.keys('*:ledger');
  const lengths = await redis.pipeline(ledgers.map((ledger) => ['llen', ledger])).exec();
  return (lengths ?? []).reduce((sum, [, length]) => sum + Number(length), 0);
}
