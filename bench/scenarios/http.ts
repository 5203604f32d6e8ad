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

/** A side that is loaded over HTTP. */
export interface HttpSide {
  readonly id: string;
  readonly name: string;
  readonly kind: SideKind;
  readonly server: (bench: Bench) => Promise<Measured>;
  readonly requests: readonly RequestPlan[];
  /** Identity of the requests: none, an installId, the session cookie of an install that signed in, or that and the cookie of a device. */
  readonly callers: 'anonymous' | 'installs' | 'sessions' | 'devices';
  /** Connections of the load, in place of the run's. Such a side is loaded only without pause, not at half load. */
  readonly connections?: number;
  /** Requests before the first round, which create the data that the scenario reads. */
  readonly prepare?: readonly RequestPlan[];
}

/** Accounts of the load: so many that concurrent requests rarely use the same one. */
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
  /** wrk reports only counts, so its operations have separate keys and a separate audit. */
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
    this.regimes = [...(side.connections === undefined ? [halfLoad] : []), ...(bench.hasWrk ? [wrk] : [])];
  }

  async round(seconds: number): Promise<Figures> {
    const meter = new Meter(this.#server);
    const outcome = await this.#load({ requests: this.#side.requests, seconds }, meter);
    const { done, seconds: took } = outcome;
    return { ...meter.each(done), ...meter.batching(done, took), perSecond: done / took };
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
    const connections = this.#connections;
    // Repeated operations must use the keys of the first rounds, else they would not be replays.
    const keyPrefix = requests.some(({ repeats }) => repeats !== undefined) ? this.#keyPrefix : this.#wrkKeyPrefix;
    await meter.begin();
    const order = { url, connections, requests, callers: this.#callers, keyPrefix, from: this.#wrkNext, seconds };
    const outcome = await this.#bench.wrk(order);
    await meter.end();
    this.#wrkNext = outcome.next;
    this.#wrkOutcomes.push(outcome);
    this.#recordAnswers(outcome);
    const { serverCpu, preemptions } = meter.each(outcome.done);
    return { serverCpuWrk: serverCpu, preemptionsWrk: preemptions };
  }

  answers(): Readonly<Record<string, number>> | undefined {
    return this.#bench.settings.url === undefined ? undefined : this.#answers;
  }

  /** For the service it reads the ledgers through the public API. For other sides it compares only the number of entries. */
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
    return isRight ? [] : [`there are ${written} new ledger entries instead of ${least} to ${most}`];
  }

  /** Bounds on wrk's operations that took effect. Any request without a response may have been an operation. */
  #countedOfWrk(): CountedLoad {
    const sum = (of: (outcome: WrkOutcome) => number): number => this.#wrkOutcomes.reduce((total, outcome) => total + of(outcome), 0);
    return {
      keyPrefix: this.#wrkKeyPrefix,
      numbers: this.#wrkNext,
      least: sum(({ operations, sent, done }) => Math.max(0, operations - (sent - done))),
      most: sum(({ operations }) => operations),
    };
  }

  get #connections(): number {
    return this.#side.connections ?? this.#bench.settings.connections;
  }

  async #prepare(): Promise<void> {
    if (this.#server.redis !== undefined) this.#entriesBefore = await ledgerEntries(this.#server.redis);
    const { prepare = [] } = this.#side;
    if (prepare.length > 0) await this.#load({ requests: prepare, seconds: 60, count: prepare.length * this.#callers.length, from: 0 });
  }

  async #load(order: Pick<LoadOrder, 'requests' | 'seconds' | 'rate' | 'count'> & { from?: number }, around?: Meter): Promise<LoadOutcome> {
    const whole = {
      url: this.#server.url,
      connections: this.#connections,
      callers: this.#callers,
      keyPrefix: this.#keyPrefix,
      from: this.#next,
      isWatched: this.#bench.settings.url !== undefined,
      ...order,
    };
    const outcome = await this.#bench.load(whole, around);
    this.#next = outcome.next;
    this.#outcomes.push(outcome);
    this.#recordAnswers(outcome);
    return outcome;
  }

  /** Counts statuses and errors. With --url they are only reported; otherwise anything but status 200 fails the scenario. */
  #recordAnswers({ done, failures }: Pick<LoadOutcome, 'done' | 'failures'>): void {
    for (const [what, times] of Object.entries({ ...(done > 0 ? { 'status 200': done } : {}), ...failures }))
      this.#answers[what] = (this.#answers[what] ?? 0) + times;
    const texts = Object.entries(failures).map(([what, times]) => `${what} (${times} times)`);
    if (this.#bench.settings.url === undefined && texts.length > 0) throw new Error(`${this.#side.name} answered with ${texts.join(', ')}`);
    if (this.#bench.settings.url === undefined && done === 0) throw new Error(`${this.#side.name} sent no responses`);
  }
}

async function callersOf({ callers, kind, connections = 0 }: HttpSide, server: Measured): Promise<LoadCaller[]> {
  if (callers === 'anonymous') return [{ installId: 'bench-nobody' }];
  const run = crypto.randomUUID();
  const installIds = Array.from({ length: Math.max(CALLERS, 4 * connections) }, (_, index) => `bench-${run}-${index}`);
  if (callers === 'installs') return installIds.map((installId) => ({ installId }));
  // Floors have no sessions. Their requests carry a cookie of the same length, because its bytes cost CPU too.
  if (kind === 'floor') return installIds.map((installId) => ({ installId, cookie: `svc_session=${'x'.repeat(250)}` }));
  const api = new Api(server.url);
  try {
    const signedIn = await api.signIn(installIds);
    return callers === 'devices' ? await api.touch(signedIn) : signedIn;
  } finally {
    api.close();
  }
}

async function ledgerEntries(redis: Redis): Promise<number> {
  const ledgers = await redis.keys('*:ledger');
  const lengths = await redis.pipeline(ledgers.map((ledger) => ['llen', ledger])).exec();
  return (lengths ?? []).reduce((sum, [, length]) => sum + Number(length), 0);
}
