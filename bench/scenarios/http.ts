import type { Redis } from 'ioredis';
import { auditLedgers } from '../audit.ts';
import type { Figures } from '../figures.ts';
import { Api, RATE_LIMITED } from '../load/api.ts';
import { newKeyPrefix, type LoadCaller, type LoadOrder, type LoadOutcome, type RequestPlan } from '../load/order.ts';
import type { Measured } from '../measure/measured.ts';
import { percentile } from '../measure/statistics.ts';
import type { Bench, Contestant, Side, SideKind } from '../scenario.ts';

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
  readonly #side: HttpSide;
  readonly #bench: Bench;
  readonly #server: Measured;
  readonly #callers: readonly LoadCaller[];
  readonly #keyPrefix = newKeyPrefix();
  readonly #outcomes: LoadOutcome[] = [];
  #entriesBefore = 0;
  #next = 0;

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
  }

  async round(seconds: number): Promise<Figures> {
    const [serverBefore, redisBefore] = [await this.#server.serverCpu(), await this.#server.redisCpu()];
    const outcome = await this.#load({ requests: this.#side.requests, seconds });
    const [serverAfter, redisAfter] = [await this.#server.serverCpu(), await this.#server.redisCpu()];
    return {
      serverCpu: (serverAfter - serverBefore) / outcome.done,
      redisCpu: (redisAfter - redisBefore) / outcome.done,
      perSecond: outcome.done / outcome.seconds,
    };
  }

  async latency(rate: number, seconds: number): Promise<Figures> {
    const { latencies } = await this.#load({ requests: this.#side.requests, seconds, rate });
    return { p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99), p999: percentile(latencies, 0.999), atRate: rate };
  }

  /** The service's ledgers as its users can read them; of the others it is enough that they did as much as they said. */
  async audit(): Promise<string[]> {
    const acknowledged = new Set(this.#outcomes.flatMap((outcome) => [...outcome.acknowledged]));
    const unanswered = new Set(this.#outcomes.flatMap((outcome) => [...outcome.unanswered]).filter((number) => !acknowledged.has(number)));
    if (acknowledged.size === 0) return [];
    if (this.#side.kind === 'service') {
      return auditLedgers(this.#server.url, { callers: this.#callers, keyPrefix: this.#keyPrefix, acknowledged, unanswered });
    }
    const written = (await ledgerEntries(this.#server.redis!)) - this.#entriesBefore;
    const isRight = written >= acknowledged.size && written <= acknowledged.size + unanswered.size;
    return isRight ? [] : [`${acknowledged.size} operations acknowledged, ${written} entries written`];
  }

  async #prepare(): Promise<void> {
    if (this.#server.redis !== undefined) this.#entriesBefore = await ledgerEntries(this.#server.redis);
    const { prepare = [] } = this.#side;
    if (prepare.length > 0) await this.#load({ requests: prepare, seconds: 60, count: prepare.length * this.#callers.length, from: 0 });
  }

  async #load(order: Pick<LoadOrder, 'requests' | 'seconds' | 'rate' | 'count'> & { from?: number }): Promise<LoadOutcome> {
    const outcome = await this.#bench.load({
      url: this.#server.url,
      connections: this.#bench.settings.connections,
      callers: this.#callers,
      keyPrefix: this.#keyPrefix,
      from: this.#next,
      ...order,
    });
    this.#next = outcome.next;
    this.#outcomes.push(outcome);
    const failures = Object.entries(outcome.failures).map(([what, times]) => `${what} (${times} times)`);
    if (outcome.failures['status 429'] !== undefined) throw new Error(RATE_LIMITED);
    if (failures.length > 0) throw new Error(`${this.#side.name} answered with ${failures.join(', ')}`);
    if (outcome.done === 0) throw new Error(`${this.#side.name} answered nothing`);
    return outcome;
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
